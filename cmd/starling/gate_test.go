package main

import (
	"testing"

	"starling/runtime"
)

// What somebody types at a gate: the number that stands before an option comes before the names of others.
func TestTypedAnswer(t *testing.T) {
	options := func(names ...string) (list []runtime.Option) {
		for _, name := range names {
			list = append(list, runtime.Option{Name: name})
		}
		return list
	}
	for _, test := range []struct {
		options            []runtime.Option
		line               string
		choice, reason, no string
		data               string
	}{
		{options: options("yes", "no"), line: "2 too  late", choice: "no", reason: "too  late"},
		{options: options("yes", "no"), line: "no", choice: "no"},
		{options: options("2", "1"), line: "1", choice: "2"},
		{options: options("2", "1"), line: "2", choice: "1"},
		{options: options("10", "20"), line: "20", choice: "20"},
		{options: options("yes", "other"), line: "neither of both", choice: "other", reason: "neither of both"},
		{options: options("yes", "other"), line: "3 of them", no: `got "3", want a number from 1 to 2`},
		{options: options("yes"), line: "0", no: `got "0", want a number from 1 to 1`},
		{options: options("yes"), line: "maybe so", no: `got "maybe", want a number from 1 to 1`},
		{line: `{"n": 1}`, data: `{"n": 1}`},
		{line: "it is fine", data: `"it is fine"`},
	} {
		sig, err := answerOf(runtime.Gate{Address: "RUN/a/b", Options: test.options}, test.line)
		no := ""
		if err != nil {
			no = err.Error()
		}
		if sig.Choice != test.choice || sig.Reason != test.reason || string(sig.Data) != test.data || no != test.no || sig.Run != "RUN" || sig.Gate != "a/b" {
			t.Errorf("%q of %v: got %+v, %q", test.line, test.options, sig, no)
		}
	}
}
