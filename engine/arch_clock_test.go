package engine_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"testing"
)

// clockCalls lists the positions in a file where the wall clock is read.
func clockCalls(t *testing.T, path string) []string {
	t.Helper()
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, path, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var at []string
	ast.Inspect(f, func(n ast.Node) bool {
		sel, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		if x, ok := sel.X.(*ast.Ident); ok && x.Name == "time" {
			switch sel.Sel.Name {
			case "Now", "Since", "Until", "After", "AfterFunc", "NewTimer", "NewTicker", "Tick", "Sleep":
				at = append(at, fset.Position(sel.Pos()).String())
			}
		}
		return true
	})
	return at
}
