package contract_test

import (
	"testing"

	"starling/lang/contract"
)

// Only nulls that the strict schema asks for are dropped, also where the rest breaks the contract.
func TestWithoutNulls(t *testing.T) {
	for _, c := range []struct{ text, value, want string }{
		{"{n: int, why?: string}", `{"n": "x", "why": null}`, `{"n": "x"}`},
		{"{n: int, why?: string?}", `{"n": "x", "why": null}`, `{"n": "x", "why": null}`},
		{"{n: int, why: string}", `{"n": 1, "why": null}`, `{"n": 1, "why": null}`},
		{"{all: [{a?: int, b: int}], more?: {c?: int}?}", `{"all": [{"a": null, "b": null}, 3], "more": {"c": null}}`, `{"all": [{"b": null}, 3], "more": {}}`},
		{"{u: {k: \"x\", a?: int} | {k: \"y\", b?: int}, n: int}", `{"u": {"k": "y", "b": null}, "n": null}`, `{"u": {"k": "y"}, "n": null}`},
		{"{n?: int}", `[null]`, `[null]`},
		{"{n?: int}", `{"m": null}`, `{"m": null}`},
	} {
		k, err := contract.Parse("test", c.text)
		if err != nil {
			t.Fatal(err)
		}
		v, err := contract.FromJSON([]byte(c.value))
		if err != nil {
			t.Fatal(err)
		}
		got, err := contract.ToJSON(k.WithoutNulls(v))
		if want, _ := contract.FromJSON([]byte(c.want)); err != nil || k.WithoutNulls(v).String() != want.String() {
			t.Errorf("%s of %s: got %s, want %s (%v)", c.text, c.value, got, c.want, err)
		}
	}
}
