package lsp

import (
	"cmp"
	"path/filepath"
	"slices"
	"strings"

	"go.starlark.net/syntax"

	"starling/lang"
	"starling/lang/check"
	"starling/lang/contract"
	"starling/lang/doc"
	"starling/lang/infer"
)

// completer gathers what could stand at a place.
type completer struct {
	s     *Server
	d     *document
	at    span // what a completion takes the place of
	items []completionItem
	seen  map[string]bool
}

func (c *completer) add(item completionItem) {
	if c.seen[item.Label] {
		return
	}
	c.seen[item.Label] = true
	if item.TextEdit == nil {
		item.TextEdit = &textEdit{NewText: item.Label}
	}
	item.TextEdit.Range = c.at
	c.items = append(c.items, item)
}

// complete says what could stand at a position. Editors leave out what does not begin with what is
// written there.
func (s *Server) complete(d *document, p *params) (any, error) {
	source, offset := d.text.source, d.text.offset(p.Position)
	c := &completer{s: s, d: d, seen: map[string]bool{}, items: []completionItem{}}
	around := scan(source, offset)
	start := wordStart(source, offset)
	c.at = d.text.span(start, offset)
	switch {
	case d.isProject():
		c.projectComplete(offset)
	case around.comment:
	case around.text:
		c.at = d.text.span(around.content, offset)
		c.text(around, offset)
	case strings.HasSuffix(source[:start], ".") && start > 1:
		c.members(start-1, wordEnd(source, offset))
	default:
		c.keywords(around, offset)
		c.names(offset)
	}
	return completionList{Items: c.items}, nil
}

// members are the attributes of what ends at an offset.
func (c *completer) members(end, resume int) {
	for _, m := range c.s.typeBefore(c.d, end, resume).Members() {
		item := completionItem{Label: m.Name, Kind: kindField, Detail: m.Type}
		if e := c.s.manual(c.d).entryOf(m); e != nil {
			item.Detail = cmp.Or(headline(e), m.Type)
			item.Documentation = markdown(e.Summary)
			if e.Signature != "" {
				item.Kind = kindMethod
			}
		}
		c.add(item)
	}
}

// keywords are the parameters that the call around an offset can still be given by name.
func (c *completer) keywords(around scanned, offset int) {
	open, ok := around.call(c.d.text.source)
	if !ok {
		return
	}
	start := wordStart(c.d.text.source, offset)
	before := strings.TrimRight(c.d.text.source[:start], " \t\r\n")
	if !strings.HasSuffix(before, "(") && !strings.HasSuffix(before, ",") {
		return
	}
	e := c.s.calleeOf(c.d, open, offset)
	if e == nil {
		return
	}
	written := c.d.text.source[open:offset]
	for _, p := range e.Params {
		if p.Position || strings.HasPrefix(p.Name, "*") || strings.Contains(written, p.Name+" =") || strings.Contains(written, p.Name+"=") {
			continue
		}
		c.add(completionItem{Label: p.Name + " =", Kind: kindField, Detail: p.Type, Documentation: markdown(p.Doc), SortText: "0" + p.Name, TextEdit: &textEdit{NewText: p.Name + " = "}})
	}
}

// call is the open bracket of the call that is innermost around a place.
func (around scanned) call(source string) (int, bool) {
	if len(around.brackets) == 0 {
		return 0, false
	}
	open := around.brackets[len(around.brackets)-1]
	return open, source[open] == '(' && dottedBefore(source, open) != ""
}

// names are the variables that can be seen at an offset, what is predeclared, and the words of the
// language.
func (c *completer) names(offset int) {
	if o := c.s.outlineOf(c.d); o != nil {
		if place, ok := c.d.text.follow(o.text, offset); ok {
			for _, name := range sortedNames(o.inScope(place)) {
				c.variable(o, o.inScope(place)[name])
			}
		}
	}
	for _, e := range c.s.manual(c.d).entries {
		if strings.Contains(e.Name, ".") || e.Kind == doc.Type {
			continue
		}
		kinds := map[string]int{doc.Module: kindModule, doc.Constant: kindConstant}
		c.add(completionItem{Label: e.Name, Kind: cmp.Or(kinds[e.Kind], kindFunction), Detail: headline(&e), Documentation: markdown(e.Summary), SortText: "2" + e.Name})
	}
	for _, word := range strings.Fields("and break continue def elif else for if in lambda load not or pass return") {
		c.add(completionItem{Label: word, Kind: kindKeyword, SortText: "3" + word})
	}
}

func sortedNames(m map[string]*syntax.Ident) []string {
	var names []string
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func (c *completer) variable(o *outline, v *syntax.Ident) {
	item := completionItem{Label: v.Name, Kind: kindVariable, SortText: "1" + v.Name}
	if sym, ok := c.s.symbolOf(o, v); ok && sym.in.defs[sym.name] != nil {
		e := doc.OfFunction(sym.in.defs[sym.name])
		item.Kind, item.Detail, item.Documentation = kindFunction, e.Signature, markdown(described(&e))
	}
	c.add(item)
}

// text completes a text: a file or a name in a load, a key, an option, an agent.
func (c *completer) text(around scanned, offset int) {
	source := c.d.text.source
	before := strings.TrimRight(source[:around.start], " \t")
	_, end := literal(source, around.start)
	switch open, ok := around.call(source); {
	case ok && dottedBefore(source, open) == "load":
		c.load(open, around.start, offset)
	case ok && dottedBefore(source, open) == "contract":
		c.contract(source[around.content:end], offset)
	case strings.HasSuffix(before, "==") || strings.HasSuffix(before, "!="):
		c.words(c.s.typeBefore(c.d, len(strings.TrimRight(before[:len(before)-2], " \t")), end).Texts(), kindEnumMember)
	case strings.HasSuffix(before, "[") && len(before) > 1 && wordStart(before, len(before)-1) < len(before)-1,
		strings.HasSuffix(before, "][") || strings.HasSuffix(before, ")["):
		c.keys(c.s.typeBefore(c.d, len(before)-1, end+closing(source, end)))
	case ok && strings.HasSuffix(dottedBefore(source, open), ".get"):
		c.keys(c.s.typeBefore(c.d, open-len(".get"), end+closing(source, end)))
	case ok:
		c.argument(open, around.start)
	default:
		if list, ok := around.listed(source); ok {
			c.argument(list, around.start)
		}
	}
}

// listed is the open bracket of the call to which a list is passed, innermost around a place.
func (around scanned) listed(source string) (int, bool) {
	last := len(around.brackets) - 1
	if last < 1 || source[around.brackets[last]] != '[' {
		return 0, false
	}
	outer := around
	outer.brackets = around.brackets[:last]
	return outer.call(source)
}

// closing is 1 where a closing bracket stands at an offset.
func closing(source string, at int) int {
	if at < len(source) && strings.ContainsRune(")]", rune(source[at])) {
		return 1
	}
	return 0
}

func (c *completer) keys(t infer.Type) {
	for _, k := range t.Keys() {
		c.add(completionItem{Label: k.Name, Kind: kindField, Detail: k.Type})
	}
}

func (c *completer) words(words []string, kind int) {
	for _, w := range words {
		c.add(completionItem{Label: w, Kind: kind})
	}
}

// load completes the file of a load, or a name in it.
func (c *completer) load(open, start, offset int) {
	source := c.d.text.source
	if n, _ := argument(source, open, start); n == 0 {
		c.words(c.s.host.Modules, kindModule)
		root := c.s.rootOf(c.d.path)
		for _, path := range scriptsBelow(root) {
			name := nameOf(filepath.Dir(c.d.path), path)
			if path != c.d.path && !strings.HasSuffix(name, "_test.star") {
				c.words([]string{name}, kindFile)
			}
		}
		return
	}
	at := open + 1 + strings.IndexAny(source[open+1:], `"'`)
	content, end := literal(source, at)
	if end-1 < content {
		return
	}
	if o := c.s.outlineAt(c.s.loadedFrom(c.d.path, source[content:end-1])); o != nil {
		for _, name := range sortedNames(o.globals) {
			if _, isLoaded := o.loads[o.globals[name]]; !isLoaded && !strings.HasPrefix(name, "_") {
				c.variable(o, o.globals[name])
			}
		}
	}
}

// contract completes a type within a contract: one of the language's, or of its own.
func (c *completer) contract(written string, offset int) {
	c.at = c.d.text.span(wordStart(c.d.text.source, offset), offset)
	names, admit := contract.Words()
	for _, name := range names {
		c.add(completionItem{Label: name, Kind: kindTypeParameter, Detail: admit[name]})
	}
	words := strings.Fields(written)
	for i, word := range words[:max(0, len(words)-1)] {
		if word == "type" {
			c.words([]string{words[i+1]}, kindTypeParameter)
		}
	}
}

// argument completes a text that is an argument: one of the words that its parameter takes, or the
// name of an agent.
func (c *completer) argument(open, start int) {
	source := c.d.text.source
	e := c.s.calleeOf(c.d, open, start)
	if e == nil {
		return
	}
	n, name := argument(source, open, start)
	for i, p := range e.Params {
		if p.Name == name || name == "" && i == n && !p.Keyword {
			c.words(p.OneOf, kindEnumMember)
			c.agents(e.Name, p.Name)
			c.toolServers(e.Name, p.Name)
		}
	}
}

// agents are the names of the project's, where a parameter takes one.
func (c *completer) agents(callee, param string) {
	switch callee + "." + param {
	case "agent.who", "agent.backend", "role.name", "role.backend", "handoff.to", "handoff.backend":
		var project check.Project = c.s.project(c.s.rootOf(c.d.path))
		for _, a := range project.Agents {
			c.add(completionItem{Label: a.Name, Kind: kindValue, Detail: "agent"})
		}
	}
}

// toolServers are the names of the project's, where a parameter takes some.
func (c *completer) toolServers(callee, param string) {
	switch callee + "." + param {
	case "mcp.call.server", "mcp.tools.server", "mcp.server.name", "agent.tools", "role.tools", "handoff.tools":
		c.words(c.s.project(c.s.rootOf(c.d.path)).Tools, kindValue)
	}
}

// typeBefore is the type of what ends at an offset, in a text that may lack something from there
// to resume. In a file that takes long to examine it is rather the type that the same names had.
func (s *Server) typeBefore(d *document, end, resume int) infer.Type {
	if d.cost > cheap {
		if t := s.likeBefore(d, end); len(t.Members()) > 0 {
			return t
		}
	}
	for _, source := range repairs(d.text.source, end, min(max(resume, end), len(d.text.source))) {
		if _, err := lang.Parse(d.path, []byte(source)); err != nil {
			continue
		}
		found, _, _ := s.examine(d, source)
		if found == nil || !whole(found) {
			break
		}
		y := &study{text: newText(source), file: found.Files[len(found.Files)-1], types: found.Types}
		if e := y.endingAt(end); e != nil {
			t, _ := y.types.TypeOf(e)
			return t
		}
	}
	return s.likeBefore(d, end)
}

// endingAt is the longest expression that ends at an offset and is an operand as a whole.
func (y *study) endingAt(end int) syntax.Expr {
	var best syntax.Expr
	syntax.Walk(y.file.Tree, func(n syntax.Node) bool {
		e, ok := n.(syntax.Expr)
		if !ok || best != nil {
			return n != nil && best == nil
		}
		switch e.(type) {
		case *syntax.BinaryExpr, *syntax.UnaryExpr, *syntax.CondExpr, *syntax.LambdaExpr, *syntax.TupleExpr, *syntax.DictEntry:
			return true
		}
		if _, to := y.text.node(e); to == end {
			best = e
		}
		return best == nil
	})
	return best
}

// likeBefore is the type that the same names had in the last text that compiled.
func (s *Server) likeBefore(d *document, end int) infer.Type {
	y := s.studyOf(d)
	names := dottedBefore(d.text.source, end)
	if y.file == nil || names == "" {
		return infer.Type{}
	}
	var t infer.Type
	syntax.Walk(y.file.Tree, func(n syntax.Node) bool {
		e, ok := n.(syntax.Expr)
		if !ok {
			return n != nil
		}
		if from, to := y.text.node(e); to-from == len(names) && y.text.source[from:to] == names && from <= end {
			if known, ok := y.types.TypeOf(e); ok {
				t = known
			}
		}
		return true
	})
	return t
}
