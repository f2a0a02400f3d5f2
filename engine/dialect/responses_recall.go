package dialect

// NeedsRecall reports whether the request refers to earlier answers. Its
// Messages are there only after Recall.
func (r *Request) NeedsRecall() bool { return r.PreviousResponse != "" || len(r.ItemRefs) > 0 }

// Recall completes a request that refers to earlier answers: earlier are the
// items of the previous response, its input first and then its output (nil
// without one), item looks up a single item by its id (nil = unknown). After
// it Items is the whole conversation, which together with the answer's items
// is what the next request may refer to. Instructions are never carried over.
//
// Neither is kept here; the items must not be changed while the request lives.
func (r *Request) Recall(earlier []Raw, item func(id string) Raw) *Problem {
	items := make([]Raw, 0, len(earlier)+len(r.Items))
	items = append(items, earlier...)
	for i, v := range r.Items {
		if id := referenceID(v); id != "" {
			found := item(id)
			if found == nil {
				f := &fault{what: "Item with id '" + id + "' not found.", code: "item_not_found", remedy: "Answers are kept for an hour. Send the item itself."}
				return f.at(i).in("input").problem()
			}
			v = found
		}
		items = append(items, v)
	}
	r.Items, r.ItemRefs = items, nil
	return r.converse().problem()
}

// PreviousNotFound is the answer to a previous_response_id nobody knows here.
// It is never ignored: the model would answer without its conversation.
func PreviousNotFound(id string) *Problem {
	f := &fault{
		what:   "Previous response with id '" + id + "' not found.",
		code:   "previous_response_not_found",
		remedy: "Answers are kept for an hour and not over a restart. Send the whole input.",
	}
	return f.in("previous_response_id").problem()
}

// ResponseItemID returns the id under which an item may be referred to, "" if
// it has none.
func ResponseItemID(item Raw) string { return textMember(item, "id") }
