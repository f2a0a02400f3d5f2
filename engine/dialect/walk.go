package dialect

import "iter"

// Texts walks every text a model is going to read: messages with their
// reasoning, prompt, suffix, system prompt and embedding inputs. Tool schemas
// and call arguments are JSON, not texts: Tools and ToolCalls hold them.
// Nothing is copied or decoded.
func (r *Request) Texts() iter.Seq[Text] {
	return func(yield func(Text) bool) {
		for i := range r.Messages {
			m := &r.Messages[i]
			if m.Thinking != nil && !yield(m.Thinking) {
				return
			}
			for j := range m.Parts {
				if t := m.Parts[j].Text; t != nil && !yield(t) {
					return
				}
			}
		}
		if p := r.Prompt; p != nil {
			for _, t := range [...]Text{p.System, p.Template, p.Text, p.Suffix} {
				if t != nil && !yield(t) {
					return
				}
			}
		}
		if r.Embed != nil {
			for _, t := range r.Embed.Inputs {
				if !yield(t) {
					return
				}
			}
		}
	}
}

// MediaParts walks every part that is not text, in order.
func (r *Request) MediaParts() iter.Seq[*Part] {
	return func(yield func(*Part) bool) {
		for i := range r.Messages {
			for j := range r.Messages[i].Parts {
				if p := &r.Messages[i].Parts[j]; p.Kind != PartText && !yield(p) {
					return
				}
			}
		}
		if r.Prompt == nil {
			return
		}
		for j := range r.Prompt.Images {
			if !yield(&r.Prompt.Images[j]) {
				return
			}
		}
	}
}

// HasImages reports whether the model must see.
func (r *Request) HasImages() bool { return r.has(PartImage) }

// HasAudio reports whether the model must hear.
func (r *Request) HasAudio() bool { return r.has(PartAudio) }

// RemoteImages reports whether an image is given by an address to be fetched.
func (r *Request) RemoteImages() bool {
	for p := range r.MediaParts() {
		if p.Kind == PartImage && p.URL != "" {
			return true
		}
	}
	return false
}

func (r *Request) has(kind PartKind) bool {
	for p := range r.MediaParts() {
		if p.Kind == kind {
			return true
		}
	}
	return false
}
