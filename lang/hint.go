package lang

import (
	"strings"

	"starling/lang/check"
)

// withHint takes a message of the machine apart: what was wrong, and what to try. Some messages
// carry a guess of the name that was meant; what the others may come of is told here, since the
// texts themselves are go.starlark.net's and scripts can see them.
func withHint(message string) (rest, hint string) {
	for _, guess := range [...]struct{ begins, ends string }{{" (did you mean ", "?)"}, {"; did you mean ", "?"}} {
		i := strings.LastIndex(message, guess.begins)
		if i >= 0 && strings.HasSuffix(message, guess.ends) {
			return message[:i], strings.TrimSuffix(message[i+2:], ")")
		}
	}
	for _, h := range messageHints {
		if strings.Contains(message, h.in) {
			return message, h.hint
		}
	}
	return message, ""
}

// messageHints are looked through in order.
var messageHints = [...]struct{ in, hint string }{
	{" not in dict", "d.get(key, default) gives something else where there is no such key"},
	{"string value is not iterable", "s.splitlines() gives its lines, s.split() its words, s.elems() its characters"},
	{"bytes value is not iterable", "b.elems() gives its bytes"},
	{"unhashable type: list", "a tuple can be a key where a list cannot: tuple(list)"},
	{"unhashable type: ", "keys of dicts and elements of sets are numbers, strings, bools and tuples of these"},
	{"referenced before assignment", check.OwnVariables},
	{"got string, want int", textAndNumber},
	{" frozen ", "what the top level has made cannot be changed any more; make a copy: list(x), dict(x)"},
	{" during iteration", "go through a copy: for x in list(xs)"},
	{"string + int", textAndNumber},
	{"string - int", textAndNumber},
	{"int + string", textAndNumber},
	{"int - string", textAndNumber},
	{"string < int not implemented", textAndNumber},
	{"int < string not implemented", textAndNumber},
	{"more than 256 calls in progress", "a loop over a list of what is left to do has no such limit"},
	{"Handle has no .", "handle.decision() waits for the Decision of a gate that was opened with wait = False"},
	{"NoneType has no .", "something gave None; a function without return does"},
	{"got Result in sequence assignment", `a call gives one Result: r = agent(…), and then r.text or r.output["field"]`},
	{"got Decision in sequence assignment", "a gate gives one Decision: d = gate(…), and then d.choice, d.payload or d.reason"},
	{"got Completed in sequence assignment", "a program gives one Completed: c = sh.run(…), and then c.code or c.text"},
	{"got NoneType in sequence assignment", "something gave None; a function without return does"},
	{" in sequence assignment", "for k, v in d.items() goes through the pairs of a dict"},
	{" values to unpack", "there are as many names on the left as values on the right"},
	{"connection refused", "is the server running at this address?"},
}

// textAndNumber is the hint where a text meets a number. What is computed is as often an input that
// was meant as a number as a number that is to stand in a text.
const textAndNumber = "str(n) is the text of a number, int(s) the number of a text; " +
	"-i n=2 gives a text, unless a contract says int, and -i n:=2 a number"
