//go:build !windows && desktop && production

package main

// webViewMissing is always "": on Linux the loader would have failed, and macOS
// has its web view with it.
func webViewMissing() string { return "" }
