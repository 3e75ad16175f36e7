package repl

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"starling/lang"
	"starling/lang/diagnostic"
	"starling/runtime"
)

// asked reads a line that asks what a name means: NAME? or, with its source, NAME??. A name may
// stand behind the question mark, too.
func asked(line string) (name string, more, asks bool) {
	m := regexp.MustCompile(`^(\?{0,2})([\pL_][\pL\pN_.]*)(\?{0,2})$`).FindStringSubmatch(strings.TrimSpace(line))
	if m == nil || (m[1] == "") == (m[3] == "") {
		return "", false, false
	}
	return m[2], m[1]+m[3] == "??", true
}

// explain says what a name means: a variable of the session, or else a name of the language.
func (l *Loop) explain(ctx context.Context, name string, more bool) error {
	first, _, _ := strings.Cut(name, ".")
	if l.at == nil && !l.known[first] && !isKept(first) {
		return l.Desk.verb(ctx, "doc", name)
	}
	s, err := l.look(ctx, name, lookSteps)
	if list := (diagnostic.List)(nil); errors.As(err, &list) || err != nil && runtime.AsRefusal(err).Kind == runtime.ErrCheckFailed {
		return l.Desk.verb(ctx, "doc", name)
	}
	switch {
	case err != nil:
		return err
	case s.Error != nil:
		l.wrong(s.Error, nil)
		return nil
	case s.Value == nil:
		fmt.Fprintf(l.Out, "%s is None\n", name)
		return nil
	}
	l.describe(name, s.Value, more)
	return nil
}

// describe shows what a variable is.
func (l *Loop) describe(name string, v *runtime.Variable, more bool) {
	if v.Where == "" {
		fmt.Fprintf(l.Out, "%s is %s %s\n", name, article(v.Type), v.Type)
		fmt.Fprintln(l.Out, l.folded(v.Text, name))
		if len(v.Fields) > 0 {
			fmt.Fprintf(l.Out, "it has .%s\n", strings.Join(v.Fields, " ."))
		}
		return
	}
	fmt.Fprintf(l.Out, "%s(%s)    %s\n", name, v.Params, v.Where)
	if v.Doc != "" {
		fmt.Fprintf(l.Out, "\n  %s\n", strings.ReplaceAll(strings.TrimSpace(v.Doc), "\n", "\n  "))
	}
	if more {
		fmt.Fprintf(l.Out, "\n%s\n", l.sourceAt(v.Where))
	}
}

// article is what stands before a noun.
func article(noun string) string {
	if strings.ContainsAny(noun[:min(1, len(noun))], "aeiouAEIOU") {
		return "an"
	}
	return "a"
}

// sourceAt is the function that stands at a place.
func (l *Loop) sourceAt(where string) string {
	files := l.files
	if l.at != nil {
		files = append(files[:len(files):len(files)], l.at.files...)
	}
	for _, m := range files {
		rest, here := strings.CutPrefix(where, m.Name+":")
		if !here {
			continue
		}
		if text := functionAt(string(m.Source), rest); text != "" {
			return text
		}
	}
	return "# its source is not known here"
}

// functionAt is the def or lambda at a line and column of a text.
func functionAt(text, place string) (found string) {
	f, err := lang.FileOptions().Parse("", text, 0)
	if err != nil {
		return ""
	}
	syntax.Walk(f, func(n syntax.Node) bool {
		if n == nil {
			return true
		}
		start, _ := n.Span()
		switch n.(type) {
		case *syntax.DefStmt, *syntax.LambdaExpr:
			if fmt.Sprintf("%d:%d", start.Line, start.Col) == place {
				found = between(text, n)
			}
		}
		return true
	})
	return found
}

// universal are the names of Starlark itself.
func universal() []string { return starlark.Universe.Keys() }
