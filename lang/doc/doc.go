// Package doc is the one source of what is written about the names that an author can use. The
// command line prints it, spec.md lists it, check takes the signatures of the language's own
// functions from it, and editors can show it.
//
// Three things feed it. A builtin of the library declares its documentation as data
// ([effect.Builtin]). The language's own functions, and the methods and fields of its types, stand
// in language.txt. What a library has to say beside its builtins, of modules, constants and by way
// of example, is a text of the same form in its environment:
//
//	string.find(sub, start = 0, /) -> int      a function or method, with what cannot be passed by name before the /
//	    Where a text first occurs.             one sentence, and then as many as it takes
//	    sub: What to look for.                 a parameter, or a field of a type
//	    > "banana".find("n")  # -> 2           an example, which the tests run
//
//	type Result                                a type with fields, "module http" a module; a name alone is a constant, or adds to what there is
//
// A parameter may say its type as effect.Param does, "len(x: sized, /)", a field behind its name:
// "code int: Its exit code". What a call gives is written in the notation of starling/lang/infer,
// which reads it: list[string], (K, V), Item | None. T, K and V are the elements, keys and values
// of the receiver, E the elements of the first argument.
//
// Entries are separated by empty lines; a line that begins with # is none.
package doc

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"go.starlark.net/starlark"
	"go.starlark.net/starlarkstruct"

	"starling/lang/diagnostic"
	"starling/lang/effect"
)

// The kinds of entries, in the order in which they are listed.
const (
	Function = "function"
	Effect   = "effect"
	Module   = "module"
	Type     = "type"
	Method   = "method"
	Constant = "constant"
)

// Kinds lists the kinds of entries in their order.
func Kinds() []string { return []string{Effect, Function, Module, Type, Method, Constant} }

// Entry is what is written about one name.
type Entry struct {
	Name      string  `json:"name"` // as it is used: "gate", "http.get", "string.split", "Result"
	Kind      string  `json:"kind"`
	Signature string  `json:"signature,omitempty"` // of what can be called
	Summary   string  `json:"summary"`             // the first sentence
	Text      string  `json:"text,omitempty"`      // all further ones
	Class     string  `json:"class,omitempty"`     // of an effect: answer, output, request, await
	Result    string  `json:"result,omitempty"`    // type of what a call gives
	Params    []Param `json:"params,omitempty"`    // parameters, or the fields of a type
	Example   string  `json:"example,omitempty"`   // lines of a script
}

// Param is a parameter of a function or a field of a type.
type Param struct {
	Name     string   `json:"name"`
	Type     string   `json:"type,omitempty"`
	Default  string   `json:"default,omitempty"` // "" is required
	OneOf    []string `json:"one_of,omitempty"`
	Doc      string   `json:"doc"`
	Keyword  bool     `json:"keyword_only,omitempty"`
	Position bool     `json:"positional_only,omitempty"`
}

// Of lists what is written about everything that scripts can use in an environment, by kind and
// name.
func Of(env *effect.Environment) []Entry {
	book := map[string]Entry{}
	for name, p := range language() {
		if p.kind == Method || p.kind == Type || p.kind == Constant || known(env, name) {
			book[name] = p.entry()
		}
	}
	for name, v := range env.Names {
		builtins(book, name, v)
	}
	handle := effect.NewRecord(effect.HandleType, make([]starlark.Value, len(effect.HandleType.Fields))...)
	if b, err := handle.Attr("decision"); err == nil {
		builtins(book, "Handle.decision", b)
	}
	for name, p := range parse(env.Docs) {
		book[name] = p.entry().over(book[name])
	}
	return slices.SortedFunc(maps.Values(book), func(a, b Entry) int {
		return cmp.Or(cmp.Compare(slices.Index(Kinds(), a.Kind), slices.Index(Kinds(), b.Kind)), cmp.Compare(a.Name, b.Name))
	})
}

func known(env *effect.Environment, name string) bool {
	_, ok := env.Lookup(name)
	return ok
}

// builtins enters what declares itself: a builtin, or those of a module. Anything else is what
// language.txt or the environment's text says.
func builtins(book map[string]Entry, name string, v starlark.Value) {
	switch v := v.(type) {
	case *effect.Builtin:
		e := entryOf(v)
		e.Name = name
		book[name] = e
	case *starlarkstruct.Module:
		book[name] = Entry{Name: name, Kind: Module}
		for member, m := range v.Members {
			builtins(book, name+"."+member, m)
		}
	default:
		if _, ok := book[name]; !ok {
			book[name] = Entry{Name: name, Kind: Constant}
		}
	}
}

// entryOf is what a builtin says of itself.
func entryOf(b *effect.Builtin) Entry {
	e := Entry{Name: b.FullName, Kind: Function, Signature: b.Signature(), Result: b.Result}
	e.Summary, e.Text = summary(b.Doc)
	if b.Class != effect.Pure {
		e.Kind, e.Class = Effect, b.Class.String()
	}
	for _, p := range b.Params {
		name := p.Name
		if p.Variadic {
			name = "*" + name
		} else if p.Keywords {
			name = "**" + name
		}
		e.Params = append(e.Params, Param{name, strings.ReplaceAll(p.Type, "|", " or "), p.Default, p.OneOf, p.Doc, p.KeywordOnly, p.Positional})
	}
	return e
}

// over adds what e says to an entry that is there.
func (e Entry) over(there Entry) Entry {
	if there.Name == "" {
		return e
	}
	there.Summary = cmp.Or(there.Summary, e.Summary)
	there.Text = cmp.Or(there.Text, e.Text)
	there.Example = cmp.Or(there.Example, e.Example)
	return there
}

// summary cuts a text behind its first sentence.
func summary(text string) (first, rest string) {
	for i := range text {
		if strings.HasPrefix(text[i:], ". ") {
			return text[:i+1], text[i+2:]
		}
	}
	return text, ""
}

// Find gives the entries that a name means: the one of that name with the members of a module or
// type behind it, or else all whose last part it is. An error says what was perhaps meant.
func Find(entries []Entry, name string) ([]Entry, error) {
	var exact, last []Entry
	var names, parts []string
	for _, e := range entries {
		owner, short, _ := strings.Cut(e.Name, ".")
		switch {
		case e.Name == name, owner == name:
			exact = append(exact, e)
		case short == name:
			last = append(last, e)
		}
		names, parts = append(names, e.Name), append(parts, short)
	}
	slices.SortStableFunc(exact, func(a, b Entry) int { return cmp.Compare(strings.Count(a.Name, "."), strings.Count(b.Name, ".")) })
	switch {
	case len(exact) > 0:
		return exact, nil
	case len(last) > 0:
		return last, nil
	}
	return nil, diagnostic.Diagnostic{Kind: "unknown_name", Message: "nothing is called " + `"` + name + `"`, Hint: diagnostic.DidYouMean(name, append(names, parts...))}
}
