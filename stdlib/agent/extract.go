package agent

import (
	"encoding/json"
	"errors"
	"strings"

	"go.starlark.net/starlark"

	"starling/lang/contract"
	"starling/stdlib/yamltext"
)

// Agents that were asked for JSON write it with a sentence before, inside a fence, or after a first
// attempt that they take back. Finding it is tolerant: the parts of a text that parse as JSON are
// candidates. Accepting it is strict: only a whole JSON value counts, and the contract decides.
//
// Some protocols between agents are written in YAML. Almost any text is YAML, so only what an agent
// has set apart counts: a fence that says yaml, or what stands below a heading in capitals such as
// "## HONE_AGENT_RESPONSE", to the end or the next heading; and it must be a dict or a list.
//
// The search is bounded. Trying to parse at every bracket of a hostile text would take quadratic
// time, so what failed attempts read is counted, with something for each, and the search ends when
// that is a few times the text.

const (
	searchFactor = 8         // how often the text may be read in vain
	searchLeast  = 256 << 10 // bytes that may be read in vain in any text
	attemptCost  = 64        // bytes that an attempt counts for at least
)

// lastObject returns the last JSON object of a text.
func lastObject(text string) (*starlark.Dict, bool) {
	var last *starlark.Dict
	for _, v := range jsonValues(text, "{") {
		last = v.(*starlark.Dict)
	}
	return last, last != nil
}

// valueIn picks what a text replies to a contract: the text as a whole as JSON, the last JSON
// within it that meets the contract, the last YAML in a fence or under a heading that does, the
// text itself where a string will do; failing all, the last of these for its violations to be told.
func valueIn(text, returns string) starlark.Value {
	c, err := contract.Parse("returns", returns)
	if err != nil {
		return starlark.String(text)
	}
	var candidates []starlark.Value
	if whole, err := contract.FromJSON([]byte(strings.TrimSpace(text))); err == nil {
		candidates = append(candidates, whole)
	}
	found := jsonValues(text, "{[")
	for i := len(found) - 1; i >= 0; i-- {
		candidates = append(candidates, found[i])
	}
	candidates = append(candidates, yamlValues(text)...)
	candidates = append(candidates, starlark.String(text))
	for _, v := range candidates {
		if _, wrong := c.Check(v); len(wrong) == 0 {
			return v
		}
	}
	return candidates[0]
}

// jsonValues lists the JSON objects and arrays of a text that begin with one of these brackets and
// lie within no other, in order.
func jsonValues(text, brackets string) []starlark.Value {
	var found []starlark.Value
	work := searchFactor*len(text) + searchLeast
	for at := 0; work > 0; {
		next := strings.IndexAny(text[at:], brackets)
		if next < 0 {
			break
		}
		at += next
		v, read := jsonAt(text[at:])
		if v != nil {
			found = append(found, v)
			at += read
			continue
		}
		work -= read + attemptCost
		at++
	}
	return found
}

// jsonAt parses the JSON value at the start of a text. read is its length, or how far the parser
// came before it failed.
func jsonAt(text string) (v starlark.Value, read int) {
	d := json.NewDecoder(strings.NewReader(text))
	var raw json.RawMessage
	if err := d.Decode(&raw); err != nil {
		var syntax *json.SyntaxError
		if errors.As(err, &syntax) {
			return nil, int(syntax.Offset)
		}
		return nil, len(text) // unexpected end: it read everything
	}
	v, err := contract.FromJSON(raw)
	if err != nil {
		return nil, len(raw)
	}
	return v, int(d.InputOffset())
}

var (
	yamlFence   = pattern("(?ms)^[ \\t]*```ya?ml[ \\t]*\\r?\\n(.*?)^[ \\t]*```")
	yamlHeading = pattern(`(?m)^#{1,6} [A-Z][A-Z0-9_]+[ \t\r]*$`)
)

// longestYAML bounds in bytes what is read as YAML: its tree takes some hundred times as much.
const longestYAML = 256 << 10

// yamlValues lists the dicts and lists that a text sets apart as YAML, the last one first.
func yamlValues(text string) []starlark.Value {
	var blocks []string
	for _, m := range yamlFence().FindAllStringSubmatch(text, -1) {
		blocks = append(blocks, m[1])
	}
	if blocks == nil {
		blocks = underHeadings(text)
	}
	var found []starlark.Value
	for i := len(blocks) - 1; i >= 0; i-- {
		if len(blocks[i]) > longestYAML {
			continue
		}
		if v, err := yamltext.Decode(blocks[i]); err == nil && structured(v) {
			found = append(found, v)
		}
	}
	return found
}

// structured tells a dict or a list that JSON could hold too from everything else that YAML is.
func structured(v starlark.Value) bool {
	_, sequence := v.(starlark.Sequence)
	return sequence && plain(v)
}

// underHeadings cuts a text at its headings in capitals. What stands before the first is no part.
func underHeadings(text string) []string {
	var parts []string
	heads := yamlHeading().FindAllStringIndex(text, -1)
	for i, head := range heads {
		end := len(text)
		if i+1 < len(heads) {
			end = heads[i+1][0]
		}
		parts = append(parts, text[head[1]:end])
	}
	return parts
}
