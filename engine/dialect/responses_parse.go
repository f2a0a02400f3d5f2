package dialect

func parseResponses(*Request) *fault {
	return &fault{what: "the Responses protocol is not read yet", status: 501}
}
