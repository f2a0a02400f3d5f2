package main

import (
	"html/template"
	"net/http"
)

// startPage is the only page of the window's own. It goes to the address at
// once: from there on every page, call and cookie is of bellwether's own
// origin, as in a browser. It is a place without history, so that Back does not
// lead to a used link.
var startPage = template.Must(template.New("start").Parse(`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="color-scheme" content="light dark"><title>Bellwether</title>
<style>body{margin:0;background:Canvas;color:CanvasText}</style></head>
<body><script>location.replace({{.}})</script></body></html>
`))

// start answers the web view's first question; there is no second.
func start(address string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet || r.URL.Path != "/" && r.URL.Path != "/index.html" {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Header().Set("Cache-Control", "no-store")
		_ = startPage.Execute(w, address)
	})
}
