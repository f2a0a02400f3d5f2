package desktop

func opener(address string) (name string, args []string) { return "open", []string{address} }
