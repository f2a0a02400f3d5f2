package dialect

import "strconv"

// anthropicError renders the error envelope and its HTTP status; also the data
// of an error event, which has no request id (""). A context overflow is the
// caller's to cure, whatever status the runtime gave.
func anthropicError(p *Problem, requestID string) (status int, body []byte) {
	status = p.Status
	if p.Code == CodeContextLength {
		status = 400
	}
	body = append(body, `{"type":"error","error":{"type":"`...)
	body = append(body, anthropicErrorType(status)...)
	body = append(body, `","message":`...)
	body = AppendString(body, anthropicErrorText(p))
	body = append(appendDetails(body, p), '}')
	if requestID != "" {
		body = append(body, `,"request_id":`...)
		body = AppendString(body, requestID)
	}
	return status, append(body, '}')
}

// anthropicErrorText is what the client is told. A prompt over the context is
// told in the one wording by which Claude Code knows that it must compact.
func anthropicErrorText(p *Problem) string {
	switch {
	case p.Code != CodeContextLength:
		return p.Text()
	case p.Tokens <= 0 || p.MaxTokens <= 0:
		return "prompt is too long: " + p.Text()
	}
	text := "prompt is too long: " + strconv.Itoa(p.Tokens) + " tokens > " + strconv.Itoa(p.MaxTokens) + " maximum" + p.counted()
	if p.Remedy != "" {
		text += ". " + p.Remedy
	}
	return text
}

// anthropicErrorType names an error by its status, as the protocol's own
// clients know it. A busy fleet (503) is an overloaded one.
func anthropicErrorType(status int) string {
	switch status {
	case 401:
		return "authentication_error"
	case 402:
		return "billing_error"
	case 403:
		return "permission_error"
	case 404:
		return "not_found_error"
	case 408, 504:
		return "timeout_error"
	case 409:
		return "conflict_error"
	case 413:
		return "request_too_large"
	case 429:
		return "rate_limit_error"
	case 503, 529:
		return "overloaded_error"
	}
	if status >= 400 && status < 500 {
		return "invalid_request_error"
	}
	return "api_error"
}
