// Package window fits what an agent is told into its context window: excerpts of files ([Pack]) and
// the state of a long run ([Trim]).
//
// Both are functions of their arguments alone, so that the same input gives the same bytes, and
// neither cuts without saying so: what is missing is named in the result, and what cannot be made
// to fit is an [OverBudget].
//
//	v, err := window.Pack(files, window.Order{Paths: []string{"src/**"}, Budget: 8000})
package window

import (
	"fmt"
	"unicode/utf8"

	"go.starlark.net/starlark"

	"starling/lang/contract"
	"starling/lang/effect"
)

// characters is how many of them are taken for a token. It is an estimate that is the same for
// everybody: real tokenizers differ, and are near it for prose and code.
const characters = 4

// Tokens estimates how many tokens a value takes: the characters of its JSON, divided by four and
// rounded up. The error is that of [contract.ToJSON].
func Tokens(v starlark.Value) (int, error) {
	text, err := contract.ToJSON(v)
	return tokens(utf8.RuneCount(text)), err
}

func tokens(length int) int { return (length + characters - 1) / characters }

// OverBudget is why something does not fit.
type OverBudget struct {
	Tokens int // that it takes at least
	Budget int
	What   string // takes them
}

// Error says what takes how much of how much.
func (e *OverBudget) Error() string {
	return fmt.Sprintf("%s take about %d tokens, and the budget is %d", e.What, e.Tokens, e.Budget)
}

// Payload is it as the data of an error, for scripts that decide on it.
func (e *OverBudget) Payload() effect.Payload {
	var o effect.Object
	return o.Text("reason", "context").Int("tokens", int64(e.Tokens)).Int("budget", int64(e.Budget)).Payload()
}

// length is how many characters the JSON of a value has. The value is one that this package has
// made of texts and ints.
func length(v starlark.Value) int {
	text, err := contract.ToJSON(v)
	if err != nil {
		panic("window: " + err.Error())
	}
	return utf8.RuneCount(text)
}

// record is a dict with these keys and values, in this order.
func record(pairs ...any) *starlark.Dict {
	d := starlark.NewDict(len(pairs) / 2)
	for i := 0; i < len(pairs); i += 2 {
		if err := d.SetKey(starlark.String(pairs[i].(string)), pairs[i+1].(starlark.Value)); err != nil {
			panic("window: " + err.Error()) // a fresh dict with keys that are strings
		}
	}
	return d
}

func list(values []starlark.Value) *starlark.List { return starlark.NewList(values) }
