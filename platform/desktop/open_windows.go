package desktop

func opener(address string) (name string, args []string) {
	return "rundll32", []string{"url.dll,FileProtocolHandler", address}
}
