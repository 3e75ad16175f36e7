package infer_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"starling/lang/diagnostic"
	"starling/lang/doc"
	"starling/lang/effect"
	"starling/lang/infer"
	"starling/lang/langtest"
)

// kinds are values of each kind that an argument can have, as a script writes them.
func kinds() map[string][]string {
	return map[string][]string{
		"NoneType": {"None"},
		"bool":     {"True", "False"},
		"int":      {"0", "1", "65", "-1"},
		"float":    {"1.5"},
		"string":   {`""`, `"a"`, `"ab"`, `"1"`},
		"bytes":    {`b"a"`, `b""`},
		"list":     {"[]", `[None, True, 1, 1.5, "a", b"a", [], {}, set(), (1,), range(2), len]`, `[("a", 1)]`, `["a"]`},
		"dict":     {"{}", `{None: 1, True: 1, 1: 1, 1.5: 1, "a": 1, b"a": 1, (1,): 1, len: 1}`, `{"ab": 2}`},
		"set":      {"set()", `set([None, True, 1, 1.5, b"a", (1,), len])`, `set(["a"])`, `set(["ab"])`},
		"tuple":    {"()", "(1,)", `("a",)`, `(("a", 1),)`},
		"range":    {"range(0)", "range(2)"},
		"iterable": {`"a".elems()`, `"".elems()`},
		"function": {"len"},
	}
}

// wide are the parameters that are not held to work, because that hangs on what is passed beside
// them, or on what is in them.
func wide() []string {
	return []string{"getattr.x", "getattr.name", "max.first", "max.args", "min.first", "min.args", "fail.args", "fail.sep", "list.index.x", "list.remove.x"}
}

// TestTableIsWhatTheMachineTakes tries every function and method of the language with each kind of
// value at each parameter, and all kinds at the others. What the table refuses fails always, and
// what it takes works sometimes.
func TestTableIsWhatTheMachineTakes(t *testing.T) {
	tried := 0
	for name, receivers := range callables() {
		b := doc.Declared(name)
		if b == nil {
			t.Errorf("%s is not in the table", name)
			continue
		}
		for i, p := range b.Params {
			if p.Keywords {
				continue
			}
			for kind, values := range kinds() {
				tried++
				where := fmt.Sprintf("%s(%s = %s)", name, p.Name, kind)
				refused, works := refusal(t, b, receivers, i, values[len(values)-1]), worksWith(b, receivers, i, values)
				if refused != "" && works != "" {
					t.Errorf("%s works, and is refused: %s", where, refused)
				}
				if refused == "" && works == "" && !slices.Contains(wide(), name+"."+p.Name) {
					t.Errorf("%s is not refused, and never works", where)
				}
			}
		}
	}
	if tried < 1000 {
		t.Errorf("%d parameters with a kind were tried, which cannot be all", tried)
	}
}

// callables are the functions and methods of the language, with receivers to call them of.
func callables() map[string][]string {
	all := map[string][]string{}
	for name, v := range starlark.Universe {
		if _, ok := v.(*starlark.Builtin); ok {
			all[name] = []string{""}
		}
	}
	for kind, values := range kinds() {
		v, err := starlark.EvalOptions(&syntax.FileOptions{Set: true}, &starlark.Thread{}, "", values[len(values)-1], nil)
		if has, ok := v.(starlark.HasAttrs); ok && err == nil {
			for _, method := range has.AttrNames() {
				all[kind+"."+method] = values
			}
		}
	}
	return all
}

// refusal is what infer says of an argument where it knows nothing of the others.
func refusal(t *testing.T, b *effect.Builtin, receivers []string, i int, value string) string {
	var others []string
	args := passed(b, i, value, false, func(int) string {
		others = append(others, fmt.Sprint("a", len(others)))
		return others[len(others)-1]
	})
	source := fmt.Sprintf("def f(%s):\n    return %s\n", strings.Join(others, ", "), call(b, receivers[len(receivers)-1], args))
	files, err := parsed(langtest.Program{Options: syntax.FileOptions{Set: true}, Script: source}, starlark.StringDict{})
	if err != nil {
		t.Fatalf("%v in %s", err, source)
	}
	for _, f := range infer.Files(files, &effect.Environment{Names: starlark.StringDict{}}).Findings {
		if f.Diagnostic.Severity == diagnostic.Error {
			return f.Diagnostic.Error()
		}
	}
	return ""
}

// worksWith is a call with one of the values at a parameter that does not fail, "" if each does.
func worksWith(b *effect.Builtin, receivers []string, i int, values []string) string {
	pool := []string{`"a"`, `"ab"`, `"1"`, "0", "1", "65", "[]", `["a"]`, "{}", "len"}
	for _, value := range values {
		for _, r := range receivers {
			if source := search(b, r, i, value, pool); source != "" {
				return source
			}
		}
	}
	return ""
}

func search(b *effect.Builtin, receiver string, i int, value string, pool []string) string {
	if source := searchWith(b, receiver, i, value, pool, false); source != "" {
		return source
	}
	counted := func(all bool) int { return len(passed(b, i, value, all, func(int) string { return "" })) }
	if counted(true) == counted(false) {
		return ""
	}
	return searchWith(b, receiver, i, value, pool, true)
}

func searchWith(b *effect.Builtin, receiver string, i int, value string, pool []string, all bool) string {
	for _, x := range pool {
		for _, y := range pool {
			n, next := 0, []string{x, y}
			args := passed(b, i, value, all, func(int) string { n++; return next[min(n, 2)-1] })
			source := call(b, receiver, args)
			if _, err := starlark.EvalOptions(&syntax.FileOptions{Set: true}, &starlark.Thread{Print: func(*starlark.Thread, string) {}}, "", source, nil); err == nil {
				return source
			}
			if n < 2 {
				break
			}
		}
		if len(passed(b, i, value, all, func(int) string { return x })) == 1 {
			break
		}
	}
	return ""
}

// passed are the arguments of a call with a value at parameter i: those in front of it, and what
// has no default, or all.
func passed(b *effect.Builtin, i int, value string, all bool, other func(int) string) []string {
	var args []string
	for n, p := range b.Params {
		switch {
		case n == i && p.KeywordOnly:
			args = append(args, p.Name+" = "+value)
		case n == i:
			args = append(args, value)
		case p.Keywords || p.Variadic || p.KeywordOnly:
		case n < i || p.Default == "" || all:
			args = append(args, other(n))
		}
	}
	return args
}

func call(b *effect.Builtin, receiver string, args []string) string {
	name := b.FullName
	if _, method, ok := strings.Cut(name, "."); ok {
		name = receiver + "." + method
	}
	return name + "(" + strings.Join(args, ", ") + ")"
}
