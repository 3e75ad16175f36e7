package way

import (
	"regexp"
	"strings"
	"sync"

	"go.starlark.net/syntax"
)

// parts are what may stand in the place of a value in a duration.
var parts = []string{"4", "4h", ""}

var slot = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`%[a-z%]|\{[^{}]*\}`) })

// Forms are the texts that an expression may make, as far as a duration can tell them apart: nil
// where nothing of the text stands there.
func Forms(e syntax.Expr) []string {
	switch e := Unparen(e).(type) {
	case *syntax.Literal:
		if s, ok := e.Value.(string); ok {
			return []string{s}
		}
	case *syntax.BinaryExpr:
		if template, ok := Unparen(e.X).(*syntax.Literal); ok && e.Op == syntax.PERCENT {
			return filled(template, "%")
		}
		if e.Op == syntax.PLUS {
			return sum(e)
		}
	case *syntax.CallExpr:
		if method, ok := Unparen(e.Fn).(*syntax.DotExpr); ok && method.Name.Name == "format" {
			if template, ok := Unparen(method.X).(*syntax.Literal); ok {
				return filled(template, "{")
			}
		}
	}
	return nil
}

// Returned are the texts that a function may give, nil where some return makes one that is not
// known.
func Returned(body []syntax.Stmt) (all []string) {
	known := true
	for _, s := range body {
		syntax.Walk(s, func(n syntax.Node) bool {
			switch n := n.(type) {
			case *syntax.DefStmt, *syntax.LambdaExpr:
				return false
			case *syntax.ReturnStmt:
				var some []string
				if n.Result != nil {
					some = Forms(n.Result)
				}
				known = known && some != nil
				all = append(all, some...)
			}
			return true
		})
	}
	if !known {
		return nil
	}
	return all
}

// sum are the forms of x + y, where one of them is known.
func sum(e *syntax.BinaryExpr) (all []string) {
	x, y := Forms(e.X), Forms(e.Y)
	if x == nil && y == nil {
		return nil
	}
	for _, left := range orAny(x) {
		for _, right := range orAny(y) {
			all = append(all, left+right)
		}
	}
	return all
}

func orAny(forms []string) []string {
	if forms == nil {
		return parts
	}
	return forms
}

// filled are the texts that a template with up to two places makes.
func filled(l *syntax.Literal, begin string) []string {
	template, ok := l.Value.(string)
	if !ok {
		return nil
	}
	places := 0
	for _, m := range slot().FindAllString(template, -1) {
		switch {
		case m == "%%" || !strings.HasPrefix(m, begin):
		case m != "%d" && m != "%s" && m != "%r" && begin == "%":
			return nil
		default:
			places++
		}
	}
	if places == 0 || places > 2 {
		return nil
	}
	all := []string{template}
	for range places {
		var next []string
		for _, text := range all {
			next = append(next, fillFirst(text, begin)...)
		}
		all = next
	}
	return all
}

// fillFirst puts into the first place of a template what may stand there.
func fillFirst(template, begin string) (all []string) {
	for _, at := range slot().FindAllStringIndex(template, -1) {
		place := template[at[0]:at[1]]
		if place == "%%" || !strings.HasPrefix(place, begin) {
			continue
		}
		some := parts
		if place == "%d" {
			some = parts[:1]
		}
		for _, part := range some {
			all = append(all, template[:at[0]]+part+template[at[1]:])
		}
		return all
	}
	return nil
}
