package agent

import (
	"encoding/json"
	"errors"
	"strings"

	"go.starlark.net/starlark"

	"starling/lang/contract"
)

// Agents that were asked for JSON write it with a sentence before, inside a fence, or after a first attempt that they take back. Finding it is tolerant:
// the parts of a text that parse as JSON are candidates. Accepting it is strict: only a whole JSON value counts, and the contract decides.
//
// The search is bounded. Trying to parse at every bracket of a hostile text would take quadratic time, so what failed attempts read is counted,
// with something for each, and the search ends when that is a few times the text.

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

// valueIn picks what a text replies to a contract: the text as a whole as JSON, the last JSON within it that meets the contract, the text
// itself where a string will do; failing all, the last JSON for its violations to be told.
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
	candidates = append(candidates, starlark.String(text))
	for _, v := range candidates {
		if _, wrong := c.Check(v); len(wrong) == 0 {
			return v
		}
	}
	return candidates[0]
}

// jsonValues lists the JSON objects and arrays of a text that begin with one of these brackets and lie within no other, in order.
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

// jsonAt parses the JSON value at the start of a text. read is its length, or how far the parser came before it failed.
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
