package route

// Render returns an exclusion in words.
func Render(x Exclusion) RenderedExclusion { return RenderedExclusion{Code: x.Code} }
