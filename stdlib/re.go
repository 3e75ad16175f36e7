package stdlib

import (
	"strconv"
	"strings"

	"go.starlark.net/starlark"

	"starling/lang/effect"
)

// reModule is RE2 with the calls of Python's module. The programs of patterns are kept by the
// environment, for all runs.
func reModule() []*effect.Builtin {
	known := &patterns{made: map[string]*pattern{}}
	function := func(name, doc, result string, run func(p *pattern, c *effect.Call) (starlark.Value, error), more ...effect.Param) *effect.Builtin {
		return &effect.Builtin{
			FullName: "re." + name, Doc: doc, Result: result, Params: append(patternParams(), more...),
			Size: func(c *effect.Call) (int64, error) {
				p, err := known.of(c)
				if err != nil {
					return 0, err
				}
				return p.size(c, c.Text("text", ""))
			},
			Pure: func(c *effect.Call) (starlark.Value, error) {
				p, err := known.of(c)
				if err != nil {
					return nil, err
				}
				return run(p, c)
			},
		}
	}
	return []*effect.Builtin{
		function("match", "Match a pattern at the beginning of a text: None, or a tuple of the match and its groups. With a $ at its end the pattern must match all of the text.",
			"tuple|None", reMatch),
		function("search", "Find the first match of a pattern in a text: None, or a tuple of the match and its groups, of which one that took no part is None.",
			"tuple|None", reSearch),
		function("findall", "List all matches of a pattern that do not overlap: their texts, or what the group has matched if there is one, or tuples if there are several.",
			"list", reFindall),
		function("split", "Split a text at the matches of a pattern. Where the pattern has groups, what they have matched stands between the parts.",
			"list", reSplit, countParam("maxsplit")),
		substitute(function("sub", "Replace the matches of a pattern in a text.", "string", reSub, countParam("count"))),
	}
}

func patternParams() []effect.Param {
	return []effect.Param{
		{Name: "pattern", Type: "string", Doc: "A regular expression of RE2: linear in time, without back-references and look-around."},
		{Name: "text", Type: "string", Doc: "Where to look."},
	}
}

func countParam(name string) effect.Param {
	return effect.Param{Name: name, Type: "int", Most: 1 << 30, Default: "0", Doc: "How many matches count; 0 for all."}
}

// substitute puts the parameter repl where Python has it.
func substitute(b *effect.Builtin) *effect.Builtin {
	repl := effect.Param{Name: "repl", Type: "string", Doc: `What to put in their place: \1 and \g<name> are groups, \\ is a backslash.`}
	b.Params = append([]effect.Param{b.Params[0], repl}, b.Params[1:]...)
	return b
}

func reMatch(p *pattern, c *effect.Call) (starlark.Value, error) {
	text := c.Text("text", "")
	r := p.reading(text)
	return groupsOf(text, r.find(p.anchored(), 0)), r.err(c)
}

func reSearch(p *pattern, c *effect.Call) (starlark.Value, error) {
	text := c.Text("text", "")
	r := p.reading(text)
	return groupsOf(text, r.find(p.first, 0)), r.err(c)
}

// groupsOf is a match as a tuple, None without one.
func groupsOf(text string, loc []int) starlark.Value {
	if loc == nil {
		return starlark.None
	}
	groups := make(starlark.Tuple, len(loc)/2)
	for i := range groups {
		groups[i] = groupOf(text, loc, i, starlark.None)
	}
	return groups
}

// groupOf is what a group has matched, or otherwise.
func groupOf(text string, loc []int, i int, otherwise starlark.Value) starlark.Value {
	if loc[2*i] < 0 {
		return otherwise
	}
	return starlark.String(text[loc[2*i]:loc[2*i+1]])
}

func reFindall(p *pattern, c *effect.Call) (starlark.Value, error) {
	text := c.Text("text", "")
	r := p.reading(text)
	var found []starlark.Value
	for loc := range r.all(0) {
		first := min(1, len(loc)/2-1) // the only group, or the match
		if len(loc)/2 <= 2 {
			found = append(found, groupOf(text, loc, first, starlark.String("")))
			continue
		}
		groups := make(starlark.Tuple, len(loc)/2-1)
		for i := range groups {
			groups[i] = groupOf(text, loc, i+1, starlark.String(""))
		}
		found = append(found, groups)
	}
	return starlark.NewList(found), r.err(c)
}

func reSplit(p *pattern, c *effect.Call) (starlark.Value, error) {
	most, err := c.Count("maxsplit", 0)
	if err != nil {
		return nil, err
	}
	text := c.Text("text", "")
	r := p.reading(text)
	var parts []starlark.Value
	end := 0
	for loc := range r.all(most) {
		parts = append(parts, starlark.String(text[end:loc[0]]))
		for i := 1; i < len(loc)/2; i++ {
			parts = append(parts, groupOf(text, loc, i, starlark.None))
		}
		end = loc[1]
	}
	return starlark.NewList(append(parts, starlark.String(text[end:]))), r.err(c)
}

func reSub(p *pattern, c *effect.Call) (starlark.Value, error) {
	most, err := c.Count("count", 0)
	if err != nil {
		return nil, err
	}
	repl, err := p.template(c)
	if err != nil {
		return nil, err
	}
	text := c.Text("text", "")
	r := p.reading(text)
	var b strings.Builder
	end := 0
	for loc := range r.all(most) {
		b.WriteString(text[end:loc[0]])
		for _, part := range repl {
			b.WriteString(part.literal)
			if part.group >= 0 && loc[2*part.group] >= 0 {
				b.WriteString(text[loc[2*part.group]:loc[2*part.group+1]])
			}
		}
		end = loc[1]
	}
	b.WriteString(text[end:])
	return starlark.String(b.String()), r.err(c)
}

// replacement is a piece of what re.sub puts in: a text, and a group behind it, -1 for none.
type replacement struct {
	literal string
	group   int
}

// template reads the argument repl.
func (p *pattern) template(c *effect.Call) ([]replacement, error) {
	var parts []replacement
	rest := c.Text("repl", "")
	for {
		literal, after, found := strings.Cut(rest, `\`)
		if !found {
			return append(parts, replacement{literal, -1}), nil
		}
		if strings.HasPrefix(after, `\`) {
			parts, rest = append(parts, replacement{literal + `\`, -1}), after[1:]
			continue
		}
		name, after, ok := groupName(after)
		group := p.group(name)
		if !ok || group < 0 {
			return nil, wrong(c, "repl", `\%s is no group of the pattern, which has %d; write \1, \g<name>, or \\ for a backslash`, name, p.first.NumSubexp())
		}
		parts, rest = append(parts, replacement{literal, group}), after
	}
}

// groupName cuts a number, or a name as g<name>, from the front.
func groupName(s string) (name, rest string, ok bool) {
	if named, found := strings.CutPrefix(s, "g<"); found {
		return strings.Cut(named, ">")
	}
	n := 0
	for n < len(s) && n < 2 && '0' <= s[n] && s[n] <= '9' {
		n++
	}
	return s[:max(n, min(1, len(s)))], s[n:], n > 0
}

// group is the number of a group by its number or name, -1 if there is none.
func (p *pattern) group(name string) int {
	if n, err := strconv.Atoi(name); err == nil && n >= 0 && n <= p.first.NumSubexp() {
		return n
	}
	return p.first.SubexpIndex(name)
}
