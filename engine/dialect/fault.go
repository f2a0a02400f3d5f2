package dialect

import "strconv"

// fault is a mistake found in a request's body. It names the field by its path
// from the body's root ("messages[2].content"), which grows while the fault is
// handed up, so that a good request pays nothing for it.
type fault struct {
	path   string
	what   string // what is wrong: "expected a string, got a number"
	remedy string // what to do, "" = the sentence says it all
	code   string // "" = invalid_request
	status int    // 0 = 400
}

// wrong says that a value is not of the type it must have.
func wrong(want string, got Raw) *fault {
	return &fault{what: "expected " + want + ", got " + kindName(got)}
}

// in puts a field's name before the path.
func (f *fault) in(name string) *fault {
	switch {
	case f == nil:
		return nil
	case f.path == "":
		f.path = name
	case f.path[0] == '[':
		f.path = name + f.path
	default:
		f.path = name + "." + f.path
	}
	return f
}

// at puts an element's index before the path.
func (f *fault) at(i int) *fault { return f.in("[" + strconv.Itoa(i) + "]") }

// problem renders the fault for the client.
func (f *fault) problem() *Problem {
	if f == nil {
		return nil
	}
	p := &Problem{Status: f.status, Code: f.code, Message: f.what, Remedy: f.remedy, Param: f.path, Retry: new(bool)}
	if p.Status == 0 {
		p.Status = 400
	}
	if p.Code == "" {
		p.Code = "invalid_request"
	}
	if f.path != "" {
		p.Message = f.path + ": " + f.what
	}
	return p
}

func kindName(v Raw) string {
	switch v.Kind() {
	case '{':
		return "an object"
	case '[':
		return "an array"
	case '"':
		return "a string"
	case 't', 'f':
		return "a boolean"
	case 'n':
		return "null"
	case 0xff:
		return "nothing"
	}
	return "a number"
}
