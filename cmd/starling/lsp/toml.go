package lsp

import (
	"regexp"
	"slices"
	"strings"

	"starling/lang/contract"
	"starling/stdlib/project"
)

// The file of a project: what may stand in it is the table of its package (project.Keys), and the
// names that it gives to agents and tools are those that it uses.

// tomlPlace is what is around an offset of such a file, which may be unfinished.
type tomlPlace struct {
	comment bool
	header  bool   // between the brackets of a table's header
	table   string // of the header above
	key     string // of the line; "" in front of its end
	value   bool   // behind the =
	text    bool   // in a text of the value
	content int    // where that begins
	end     int    // and where it ends, with its quotes
}

// tomlAt goes over a file up to an offset.
func tomlAt(source string, offset int) tomlPlace {
	var p tomlPlace
	line, depth := 0, 0
	for at := 0; at < offset; at++ {
		blank := strings.TrimSpace(source[line:at]) == ""
		switch c := source[at]; {
		case c == '#':
			at += strings.IndexByte(source[at:]+"\n", '\n') - 1
			p.comment = at+1 >= offset
		case p.value && (c == '"' || c == '\''):
			content, end := literal(source, at)
			if end > offset || end == offset && !closed(source, content, end, at) {
				p.text, p.content, p.end = true, min(content, offset), end
				return p
			}
			at = end - 1
		case c == '\n' && depth == 0:
			line, p.value, p.key = at+1, false, ""
		case c == '=' && !p.value:
			p.key, p.value = unquotedPath(source[line:at]), true
		case c == '[' && !p.value && blank:
			end := at + strings.IndexAny(source[at:]+"\n", "]\n")
			p.header, p.table = end >= offset, unquotedPath(source[min(at+1, offset):min(end, offset)])
			at = min(end, offset) - 1
			line = at + 1
		case p.value && (c == '[' || c == '{'):
			depth++
		case p.value && (c == ']' || c == '}'):
			depth = max(0, depth-1)
		}
	}
	return p
}

// unquotedPath is a key with dots as it is looked up.
func unquotedPath(s string) string {
	return strings.NewReplacer(`"`, "", "'", "", " ", "", "\t", "", "]", "").Replace(s)
}

// path is the whole key that a place is about.
func (p tomlPlace) path() string {
	if p.table == "" {
		return p.key
	}
	return p.table + "." + p.key
}

// keyOf is what the table says of a key.
func keyOf(path string) (project.Key, bool) {
	keys := project.Keys()
	i := slices.IndexFunc(keys, func(k project.Key) bool {
		rest, ok := under(k.Path, path)
		return ok && rest == ""
	})
	if i < 0 {
		return project.Key{}, false
	}
	return keys[i], true
}

// under is what follows in the path of a key behind a prefix, in which any name stands for NAME.
func under(key, prefix string) (rest string, ok bool) {
	want := strings.Split(key, ".")
	if prefix == "" {
		return key, true
	}
	given := strings.Split(prefix, ".")
	if len(given) > len(want) {
		return "", false
	}
	for i, part := range given {
		if part != want[i] && (strings.ToUpper(want[i]) != want[i] || part == "") {
			return "", false
		}
	}
	return strings.Join(want[len(given):], "."), true
}

// projectComplete completes the file of a project: tables, keys, and words and names in values.
func (c *completer) projectComplete(offset int) {
	source := c.d.text.source
	p := tomlAt(source, offset)
	switch {
	case p.comment:
	case p.header:
		c.at = c.d.text.span(tomlStart(source, offset), offset)
		c.tables()
	case !p.value:
		c.at = c.d.text.span(tomlStart(source, offset), offset)
		c.tomlKeys(p.table)
	default:
		c.tomlValue(p, offset)
	}
}

// tomlStart is where the word, which may have dots and dashes, begins that ends at an offset.
func tomlStart(source string, offset int) int {
	return len(strings.TrimRightFunc(source[:offset], func(r rune) bool { return !strings.ContainsRune("[] \t\r\n=,{}", r) }))
}

// tables are the headers that there can be.
func (c *completer) tables() {
	for _, k := range project.Keys() {
		if i := strings.LastIndexByte(k.Path, '.'); i >= 0 {
			name := k.Path[:i]
			c.add(completionItem{Label: name, Kind: kindModule, TextEdit: &textEdit{NewText: strings.TrimRight(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ")}})
		}
	}
}

// tomlKeys are the keys of a table that can be written there as they are.
func (c *completer) tomlKeys(table string) {
	for _, k := range project.Keys() {
		rest, ok := under(k.Path, table)
		if ok && rest != "" && !slices.ContainsFunc(strings.Split(rest, "."), func(s string) bool { return strings.ToUpper(s) == s }) {
			c.add(completionItem{Label: rest, Kind: kindField, Detail: k.Takes, Documentation: markdown(k.Doc), TextEdit: &textEdit{NewText: rest + " = "}})
		}
	}
}

// quoted are the words that a key takes.
var quoted = regexp.MustCompile(`"([a-z]+)"`)

// tomlValue completes the value of a key.
func (c *completer) tomlValue(p tomlPlace, offset int) {
	k, known := keyOf(p.path())
	source := c.d.text.source
	switch {
	case !known:
	case !p.text && (k.Takes == "bool" || k.Takes == "true or false"):
		c.words([]string{"true", "false"}, kindKeyword)
	case !p.text:
	case k.Takes == "contract":
		c.contract(source[p.content:p.end], offset)
	default:
		c.at = c.d.text.span(p.content, offset)
		for _, m := range quoted.FindAllStringSubmatch(k.Takes, -1) {
			c.words([]string{m[1]}, kindEnumMember)
		}
		c.words(namesGiven(source, k.Path), kindValue)
	}
}

// header is that of a table with a name of its own.
var header = regexp.MustCompile(`(?m)^\s*\[\s*(agents|tools)\.\s*"?([^\]"\s.]+)"?`)

// namesGiven are the names of the file that a key takes: of its agents, or of its tool servers.
func namesGiven(source, key string) []string {
	group := map[string]string{"agents.NAME.backends": "agents", "grants.SCRIPT.agents": "agents",
		"agents.NAME.server": "tools", "agents.NAME.tools": "tools", "grants.SCRIPT.tools": "tools"}[key]
	var names []string
	for _, m := range header.FindAllStringSubmatch(source, -1) {
		if m[1] == group {
			names = append(names, m[2])
		}
	}
	return names
}

// projectHover says what a key of the file of a project means, or a type in one of its contracts.
func (s *Server) projectHover(d *document, offset int) any {
	source := d.text.source
	from, to := wordStart(source, offset), wordEnd(source, offset)
	p := tomlAt(source, to)
	if !p.value && !p.header {
		p.key = unquotedPath(source[strings.LastIndexByte(source[:from], '\n')+1 : to])
	}
	k, ok := keyOf(p.path())
	switch {
	case p.comment || p.header || !ok || from == to:
		return nil
	case p.text && k.Takes == "contract":
		return typeHover(d, source[p.content:p.end], from, to)
	case p.text:
		return nil
	}
	text := "```toml\n" + k.Path + "\n```\n\n" + k.Doc + ".\n\nTakes " + k.Takes + "; by default " + k.Default + "."
	return hover{markdown(text), d.text.span(from, to)}
}

// typeHover says what a word in a contract stands for: a type of the language, or one that the
// contract defines.
func typeHover(d *document, written string, from, to int) any {
	word := d.text.source[from:to]
	_, admit := contract.Words()
	said := admit[word]
	if said == "" {
		said = typeDefinition(written, word)
	}
	if said == "" {
		return nil
	}
	return hover{markdown("```\n" + word + "\n```\n\n" + said), d.text.span(from, to)}
}

// typeDefinition is the text of a type's definition in a contract, "" where there is none.
func typeDefinition(written, name string) string {
	at := regexp.MustCompile(`\btype\s+` + regexp.QuoteMeta(name) + `\s*=\s*`).FindStringIndex(written)
	if at == nil {
		return ""
	}
	text, depth := written[at[1]:], 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '"':
			_, end := literal(text, i)
			i = end - 1
		case '{', '[', '(':
			depth++
		case '}', ']', ')':
			depth--
		case ' ', '\t', '\n', '\r':
			goesOn := strings.HasPrefix(strings.TrimLeft(text[i:], " \t\r\n"), "|") || strings.HasSuffix(strings.TrimRight(text[:i], " \t\r\n"), "|")
			if depth == 0 && !goesOn {
				text = text[:i]
			}
		}
	}
	return "`" + strings.Join(strings.Fields(text), " ") + "`"
}
