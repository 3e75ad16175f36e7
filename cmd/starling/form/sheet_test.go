package form

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"starling/lang/contract"
	"starling/runtime"
)

// sheetOf is the sheet of a gate whose contract is as somebody has written it.
func sheetOf(t *testing.T, text string, editable bool, data string) *Sheet {
	t.Helper()
	g := runtime.Gate{Options: options("yes"), Editable: editable, Data: json.RawMessage(data)}
	if text != "" {
		c, err := contract.Parse("", text)
		if err != nil {
			t.Fatal(err)
		}
		g.Contract = c.String()
	}
	s, err := SheetFor(g)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// What texts in lines make of a contract, and what is said of those that do not fit. Lines that are
// not named stay as they are.
func TestSheet(t *testing.T) {
	const order = `{n: int(1..9), why: string(1..20), level: "LOW" | "HIGH" = "LOW", fast: bool?, tags?: [string]}`
	for _, test := range []struct{ name, contract, data, lines, sent, wrong string }{
		{"typed", order, "", `n=3|why=it is fine|level=HIGH|fast=yes|tags=["a"]`, `{"n":3,"why":"it is fine","level":"HIGH","fast":true,"tags":["a"]}`, ""},
		{"left out", order, "", "n=3|why=ok", `{"n":3,"why":"ok"}`, ""},
		{"null leaves out", order, "", "n=3|why=ok|fast=null", `{"n":3,"why":"ok"}`, ""},
		{"all that is wrong", order, "", "n=12|level=HIGHH", ``, "n: got 12, want int(1..9)\nwhy: got nothing, want string(1..20); \"\" is the empty text\n" +
			`level: got "HIGHH", want one of LOW, HIGH; did you mean "HIGH"?`},
		{"several lines", `{v: string}`, "", "v=a\nb", `{"v":"a\nb"}`, ""},
		{"records in records", `{a: {b: {c: int}, d: string}, e: int}`, "", "a.b.c=1|a.d=x|e=2", `{"a":{"b":{"c":1},"d":"x"},"e":2}`, ""},
		{"a record that may be left out", `{a: {b: int}?, c: int}`, "", `a={"b": 2}|c=1`, `{"a":{"b":2},"c":1}`, ""},
		{"in it", `{a: {b: int}?, c: int}`, "", `a={"b": "x"}|c=1`, ``, `a.b: got "x", want int`},
		{"no record", `int(1..)`, "", "=2", `2`, ""},
		{"none", `{n: int}?`, "", "", ``, ""},
		{"filled", `{n: int}?`, "", "n=2", `{"n":2}`, ""},
		{"not for people", `{n: int, key: string = "k" @agent}`, "", "n=2", `{"n":2}`, ""},
		{"kept", "", `{"n": 1}`, "", ``, ""},
		{"edited", "", `{"n": 1, "s": "7", "l": [1], "t": " x "}`, "n=2", `{"n":2,"s":"7","l":[1],"t":" x "}`, ""},
		{"one taken away", "", `{"n": 1, "m": 2}`, "n=null", `{"m":2}`, ""},
		{"emptied", "", `{"n": 1, "m": 2}`, "n=", `{"m":2}`, ""},
		{"beside it", `{n: int, *: any}`, `{"m": [2], "n": 1}`, "n=3", `{"m":[2],"n":3}`, ""},
		{"inside", `{a: {b: int, c: int}}`, `{"a": {"b": 1, "c": 2}}`, "a.c=5", `{"a":{"b":1,"c":5}}`, ""},
		{"without end", "type T = {v: int, t: T?}\nT", "", "v=1|t={\"v\": 2}", `{"v":1,"t":{"v":2}}`, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := sheetOf(t, test.contract, test.data != "", test.data)
			typed := map[string]string{}
			for _, line := range strings.Split(test.lines, "|") {
				path, text, _ := strings.Cut(line, "=")
				typed[path] = text
			}
			for _, l := range s.Lines {
				if text, ok := typed[l.Path]; ok && test.lines != "" {
					l.Text = text
					delete(typed, l.Path)
				}
			}
			if len(typed) > 0 && test.lines != "" {
				t.Fatalf("there are no lines for %v", typed)
			}
			sent, err := s.Value()
			if got := fmt.Sprint(err); string(sent) != test.sent || err != nil && got != test.wrong || err == nil && test.wrong != "" {
				t.Errorf("got %s, %v, want %s, %s", sent, err, test.sent, test.wrong)
			}
		})
	}
}

// What stands in a line at first is read as what it was, whatever that is.
func TestSheetStands(t *testing.T) {
	for _, data := range []string{`"7"`, `"[1]"`, `" x"`, `"true"`, `"a\nb"`, `""`, `"null"`, `7`, `[1]`, `"\"x\""`} {
		s := sheetOf(t, "", true, `{"v": `+data+`, "n": 1}`)
		s.Lines[1].Text = "2"
		if sent, err := s.Value(); err != nil || string(sent) != `{"v":`+data+`,"n":2}` {
			t.Errorf("%s: got %s, %v from %q", data, sent, err, s.Lines[0].Text)
		}
	}
}

func TestSecret(t *testing.T) {
	for name, want := range map[string]bool{"password": true, "db_password": true, "API-Key": true, "apiKey": true, "token": true, "tokens": false, "secretary": false, "max_tokens": false, "key": false} {
		if Secret(name) != want {
			t.Errorf("%s: got %v, want %v", name, !want, want)
		}
	}
	s := sheetOf(t, `{user: string, password: string}`, false, "")
	s.Lines[0].Text, s.Lines[1].Text = "me", "hunter2"
	data, err := s.Value()
	if shown := s.Shown(data); err != nil || shown != `{"user":"me","password":"…"}` {
		t.Errorf("shown is %s, %v", shown, err)
	}
}

// A contract of records in records does not make more lines than anybody would fill in.
func TestSheetIsBounded(t *testing.T) {
	text := "{v: int}"
	for range 6 {
		text = strings.ReplaceAll("{a: X, b: X, c: X, d: X, e: X, f: X, g: X, h: X}", "X", text)
		if len(text) > 30_000 {
			break
		}
	}
	if s := sheetOf(t, text, false, ""); len(s.Lines) > 2*mostLines {
		t.Errorf("there are %d lines", len(s.Lines))
	}
}

// Whatever is typed, what comes of it fits the contract.
func FuzzSheet(f *testing.F) {
	f.Add(`{n: int(1..9), r: {s: string?}?, t: [any] = []}`, "3\n{}\n[1]", true, `{"n": 1}`)
	f.Add("type T = {v: int, t: T?}\nT", "1\n{\"v\": 2}", false, `null`)
	f.Add("type T = {t: T}\nT", "1", false, `null`)
	f.Fuzz(func(t *testing.T, text, lines string, editable bool, data string) {
		c, err := contract.Parse("", text)
		if err != nil {
			return
		}
		s, err := SheetFor(runtime.Gate{Contract: c.String(), Editable: editable, Data: json.RawMessage(data)})
		if err != nil {
			t.Fatal(err)
		}
		typed := strings.Split(lines, "\n")
		for i, l := range s.Lines {
			l.Text = typed[i%len(typed)]
			if err := l.Check(); err != nil && !errors.As(err, new(contract.Violations)) {
				t.Errorf("%s: %v", l.Path, err)
			}
		}
		sent, err := s.Value()
		if err != nil || sent == nil {
			return
		}
		v, err := contract.FromJSON(sent)
		if err != nil {
			t.Fatal(err)
		}
		if _, wrong := c.Check(v); len(wrong) > 0 {
			t.Errorf("%s: %s was taken: %v", text, sent, wrong)
		}
	})
}
