package route

import "strings"

// contractFields are the keys of a contract line:
//
//	contract wiki members nomic-embed-text,mini/ollama/nomic dimensions 768 anchor 0a109f422b47 source bound from studio/ollama/nomic-embed-text
var contractFields = []field[Contract]{
	list("members", func(c *Contract) *[]string { return &c.Members }),
	text("identity", func(c *Contract) *string { return &c.Identity }),
	count("dimensions", func(c *Contract) *int { return &c.Dimensions }),
	flag("normalized", func(c *Contract) *bool { return &c.Normalized }),
	text("anchor", func(c *Contract) *string { return &c.Anchor.Identity }),
	text("quantization", func(c *Contract) *string { return &c.Anchor.Quantization }),
	{name: "source",
		read:  func(c *Contract, s string) error { c.Anchor.Source = AnchorSource(s); return nil },
		write: func(c *Contract) string { return string(c.Anchor.Source) }},
	text("from", func(c *Contract) *string { return &c.Anchor.From }),
}

// readContract reads one; a later line of the same name replaces it.
func (r *reader) readContract(name string, rest []string) error {
	c := Contract{Anchor: &Anchor{}}
	if err := readFields(&c, rest, contractFields); err != nil {
		return err
	}
	if c.Anchor.Identity == "" {
		c.Anchor = nil
	}
	if r.policy.Contracts == nil {
		r.policy.Contracts = map[string]Contract{}
	}
	r.policy.Contracts[strings.ToLower(name)] = c
	return nil
}

func writeContract(c Contract) string {
	if c.Anchor == nil {
		c.Anchor = &Anchor{}
	}
	return writeFields(&c, contractFields)
}
