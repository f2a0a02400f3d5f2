//go:build windows && desktop && production

package main

import "github.com/wailsapp/go-webview2/webviewloader"

// webViewMissing says that this Windows lacks the runtime that draws pages, ""
// = it is there. Asked first, for the toolkit itself would stop at a dialog.
func webViewMissing() string {
	version, err := webviewloader.GetAvailableCoreWebView2BrowserVersionString("")
	if err == nil && version != "" {
		return ""
	}
	return "the WebView2 runtime is not installed"
}
