package contract_test

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"starling/lang/contract"
)

// Whatever the text, parsing ends without a panic; what it accepts has a canonical text that is a
// fixed point, a schema in both profiles, and checks any value.
func FuzzParse(f *testing.F) {
	for _, name := range []string{"parse", "errors", "check", "unions", "schema", "inputs"} {
		text, err := os.ReadFile("testdata/" + name + ".txt")
		if err != nil {
			f.Fatal(err)
		}
		for _, block := range strings.Split(string(text), "\n\n") {
			head, _, _ := strings.Cut(block, "\n----")
			for _, command := range []string{"parse\n", "contract\n"} {
				if text, ok := strings.CutPrefix(head, command); ok {
					f.Add(text, `{"a": [1, null, "x"]}`)
				}
			}
		}
	}
	f.Fuzz(func(t *testing.T, text, value string) {
		c, err := contract.Parse("f", text)
		if err != nil {
			return
		}
		again, err := contract.Parse("canonical", c.String())
		if err != nil {
			t.Fatalf("%q has the canonical text %q, which is refused: %v", text, c, err)
		}
		if !again.Equal(c) || again.String() != c.String() {
			t.Fatalf("%q has the canonical text %q, whose own is %q", text, c, again)
		}
		for _, p := range []contract.Profile{contract.Validate, contract.Strict} {
			if !bytes.Equal(c.Schema(p).JSON(), again.Schema(p).JSON()) {
				t.Fatalf("%q and its canonical text have different schemas", text)
			}
		}
		if v, err := contract.FromJSON([]byte(value)); err == nil {
			checked, bad := c.Check(v)
			if bad == nil {
				// What was checked is checked: doing it again changes nothing.
				twice, bad := c.Check(checked)
				if bad != nil || twice.String() != checked.String() {
					t.Fatalf("%s: %s becomes %s, then %v, %v", c, value, checked, twice, bad)
				}
			}
		}
	})
}

// What FromJSON reads ToJSON writes, and reading that gives the same again.
func FuzzJSON(f *testing.F) {
	f.Add([]byte(`{"b": [1, -2.5e3, null, true], "a": "é\u00e9\n"}`))
	f.Add([]byte(`["\ud83d", 1e999, {"a": 1, "a": 2}]`))
	f.Fuzz(func(t *testing.T, data []byte) {
		v, err := contract.FromJSON(data)
		if err != nil {
			return
		}
		first, err := contract.ToJSON(v)
		if err != nil {
			t.Fatalf("%q is read and not written: %v", data, err)
		}
		v, err = contract.FromJSON(first)
		if err != nil {
			t.Fatalf("%q is written and not read: %v", first, err)
		}
		if second, err := contract.ToJSON(v); err != nil || !bytes.Equal(first, second) {
			t.Fatalf("%q is written as %q, then as %q, %v", data, first, second, err)
		}
	})
}
