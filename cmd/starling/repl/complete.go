package repl

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"go.starlark.net/starlark"
	"go.starlark.net/starlarkstruct"

	"starling/lang/effect"
	"starling/runtime"
)

// A completion is found from the text before the cursor alone, without a parser: what is typed is
// never whole. What may stand there decides in this order: a command, a file of the shell, within a
// text in quotes what the call around it takes, behind a dot a field, else arguments of the call
// around it and names.

// Complete gives what may stand in place of the word before a cursor, which begins at from.
func (l *Loop) Complete(ctx context.Context, before string) (from int, words []string) {
	line := before[strings.LastIndexAny(before, "\n"+foldedBreak)+1:]
	line = strings.TrimPrefix(line, foldedBreak[1:]) // the rest of a character
	if strings.TrimSpace(line) == "" && before != "" {
		return len(before), []string{"    "}
	}
	switch {
	case strings.HasPrefix(before, ":"):
		return l.completeCommand(ctx, before)
	case strings.HasPrefix(before, "!"):
		return files(before, strings.LastIndexByte(before, ' ')+1, "")
	}
	if call, start, open := quoted(before); open {
		return start, matching(before[start:], l.texts(ctx, call, before[start:], before[:start]))
	}
	word := regexp.MustCompile(`[\pL\pN_.]*$`).FindString(before)
	if dot := strings.LastIndexByte(word, '.'); dot >= 0 {
		from := len(before) - len(word) + dot + 1
		return from, matching(before[from:], l.fields(ctx, operand(before[:from-1])))
	}
	from = len(before) - len(word)
	words = matching(word, l.arguments(ctx, callAround(before[:from])))
	if word == "" && len(words) > 0 {
		return from, words // and not the hundred names that may stand there, too
	}
	return from, append(words, matching(word, l.names(ctx))...)
}

// matching are those that begin with a prefix, each once and sorted. What begins with an underscore
// is shown to who types one.
func matching(prefix string, words []string) (list []string) {
	for _, w := range words {
		if strings.HasPrefix(w, prefix) && (prefix != "" || !strings.HasPrefix(w, "_")) {
			list = append(list, w)
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// completeCommand completes a command or what it takes.
func (l *Loop) completeCommand(ctx context.Context, before string) (int, []string) {
	word, arg, args := strings.Cut(before, " ")
	from := strings.LastIndexByte(before, ' ') + 1
	switch {
	case !args:
		var names []string
		for _, c := range commands() {
			names = append(names, c.name)
		}
		return 0, matching(before, names)
	case word == ":fake" || word == ":test":
		return files(before, from, runtime.ScriptSuffix)
	case word == ":save":
		return files(before, from, "")
	case word == ":attach":
		if run, step, ok := strings.Cut(arg, "@"); ok && run != "" {
			from += len(run) + 1
			return from, matching(step, l.steps(ctx, run))
		}
		return from, matching(arg, l.runs(ctx))
	case word == ":type" || word == ":time":
		at, words := l.Complete(ctx, arg)
		return at + len(before) - len(arg), words
	case word == ":answer":
		return from, matching(arg, l.openGates(ctx))
	case word == ":vars":
		return from, matching(before[from:], l.names(ctx))
	}
	return from, nil
}

// files are paths that begin as a text from an offset on does.
func files(before string, from int, suffix string) (int, []string) {
	return from, matching(before[from:], paths(before[from:], suffix))
}

func paths(prefix, suffix string) (list []string) {
	dir, _ := filepath.Split(prefix)
	entries, _ := os.ReadDir(filepath.Join(".", dir))
	for _, e := range entries {
		switch {
		case e.IsDir() && !strings.HasPrefix(e.Name(), "."):
			list = append(list, dir+e.Name()+"/")
		case !e.IsDir() && strings.HasSuffix(e.Name(), suffix):
			list = append(list, dir+e.Name())
		}
	}
	return list
}

// quoted tells whether a text ends within quotes: where what is in them begins, and the call around
// it or, behind a bracket, what is indexed, as "d[".
func quoted(before string) (call string, start int, open bool) {
	var quote byte
	for i := 0; i < len(before); i++ {
		switch c := before[i]; {
		case quote != 0 && c == '\\':
			i++
		case quote != 0 && c == quote:
			quote = 0
		case quote == 0 && (c == '"' || c == '\''):
			quote, start = c, i+1
		}
	}
	if quote == 0 {
		return "", 0, false
	}
	outer := strings.TrimRight(before[:start-1], " ")
	if strings.HasSuffix(outer, "[") {
		return operand(outer[:len(outer)-1]) + "[", start, true
	}
	return callAround(outer), start, true
}

// callAround is the function of the innermost call that is open at the end of a text, "" for none.
func callAround(before string) string {
	depth := 0
	for i := len(before) - 1; i >= 0; i-- {
		switch before[i] {
		case ')', ']', '}':
			depth++
		case '(', '[', '{':
			if depth--; depth < 0 {
				if before[i] != '(' {
					return ""
				}
				return operand(before[:i])
			}
		}
	}
	return ""
}

// operand is what stands before a dot or a bracket, as far as looking at it performs nothing: a
// name with fields and constant indexes, "" for anything else.
func operand(before string) string {
	return regexp.MustCompile(`([\pL_][\pL\pN_]*(\.[\pL_][\pL\pN_]*|\[(-?\d+|"[^"\\]*"|'[^'\\]*')\])*|"[^"]*")$`).FindString(before)
}

// texts are those that may stand in quotes in a call.
func (l *Loop) texts(ctx context.Context, call, prefix, before string) []string {
	switch {
	case strings.HasSuffix(call, "["):
		if v := l.value1(ctx, strings.TrimSuffix(call, "[")); v != nil {
			return v.Keys
		}
		return nil
	case call == "agent" || call == "handoff":
		return l.Desk.agents()
	case call == "load" && strings.HasSuffix(strings.TrimRight(before, `"'`), "("), call == "run":
		return paths(prefix, runtime.ScriptSuffix)
	case strings.ContainsRune(prefix, '/'), strings.HasPrefix(call, "fs."):
		return paths(prefix, "")
	}
	return nil
}

// value1 looks at an expression, nil where it has no value.
func (l *Loop) value1(ctx context.Context, expr string) *runtime.Variable {
	if expr == "" {
		return nil
	}
	s, err := l.look(ctx, expr, lookSteps)
	if err != nil || s.Error != nil {
		return nil
	}
	return s.Value
}

// fields are the names behind the dot of an expression.
func (l *Loop) fields(ctx context.Context, expr string) (names []string) {
	if l.Names != nil {
		if v, ok := l.Names.Lookup(expr); ok {
			if m, ok := v.(*starlarkstruct.Module); ok {
				return m.AttrNames()
			}
		}
	}
	if strings.HasPrefix(expr, `"`) {
		return starlark.String("").AttrNames()
	}
	if v := l.value1(ctx, expr); v != nil {
		return v.Fields
	}
	return nil
}

// arguments are the named arguments of a function.
func (l *Loop) arguments(ctx context.Context, fn string) (names []string) {
	if fn == "" {
		return nil
	}
	if l.Names != nil {
		if v, ok := l.Names.Lookup(fn); ok {
			if b, ok := v.(*effect.Builtin); ok {
				for _, p := range b.Params {
					if !p.Positional && !p.Variadic && !p.Keywords {
						names = append(names, p.Name+" = ")
					}
				}
			}
			return names
		}
	}
	if v := l.value1(ctx, fn); v != nil && v.Params != "" {
		for p := range strings.SplitSeq(v.Params, ", ") {
			if name, _, _ := strings.Cut(p, " "); name != "" && name[0] != '*' {
				names = append(names, name+" = ")
			}
		}
	}
	return names
}

// names are all that may stand where an expression begins.
func (l *Loop) names(ctx context.Context) []string {
	list := append(keywords(), universal()...)
	if l.Names != nil {
		list = append(list, l.Names.Names.Keys()...)
	}
	if l.at == nil {
		for name := range l.known {
			list = append(list, name)
		}
		return list
	}
	if s, err := l.look(ctx, "", lookSteps); err == nil {
		for _, v := range s.Variables {
			list = append(list, v.Name)
		}
	}
	return list
}

func keywords() []string {
	return strings.Fields("and break continue def elif else for if in lambda load not or pass return")
}

// runs are the ids of the newest runs.
func (l *Loop) runs(ctx context.Context) (ids []string) {
	const most = 100
	list, err := l.Engine.List(ctx, runtime.Query{All: true, Limit: most})
	if err != nil {
		return nil
	}
	for _, r := range list.Runs {
		ids = append(ids, r.ID)
	}
	return append(ids, "@last")
}

// openGates are those of the session.
func (l *Loop) openGates(ctx context.Context) (names []string) {
	r, err := l.Engine.Get(ctx, l.Run)
	if err != nil {
		return nil
	}
	for _, g := range r.Gates {
		names = append(names, g.Gate)
	}
	return names
}

// steps are the steps of a run.
func (l *Loop) steps(ctx context.Context, run string) (names []string) {
	_ = l.Engine.Watch(ctx, runtime.WatchRequest{Run: run, Types: []string{"step.requested"}}, func(ev runtime.Event) error {
		names = append(names, ev.Step)
		return nil
	})
	return names
}
