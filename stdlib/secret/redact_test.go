package secret_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"starling/stdlib/secret"
)

// A value is recognised as encoders of JSON write it.
func TestRedactor(t *testing.T) {
	const value = `p+a/s"s\=w&o<r>d'`
	var plain bytes.Buffer
	e := json.NewEncoder(&plain)
	e.SetEscapeHTML(false)
	quoted, err := json.Marshal(value)
	if err := e.Encode(value); err != nil {
		t.Fatal(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	var r secret.Redactor
	r.Hide("KEY", value)
	for _, text := range []string{
		value, strings.TrimSpace(plain.String()), string(quoted),
		`"p+a\/s\"s\\=w&o<r>d'"`, `"p+a/s\"s\\\u003dw\u0026o\u003cr\u003ed\u0027"`, `"p\u002Ba/s\u0022s\\=w\u0026o\u003Cr\u003Ed\u0027"`,
	} {
		if got := strings.Trim(r.Redact(text), `"`); got != "[KEY]" {
			t.Errorf("%s: got %s", text, got)
		}
	}
	r.Hide("PEM", "-----BEGIN\nMII/x=\t\r\n")
	if got := r.Redact(`{"a": "-----BEGIN\nMII/x\u003d\t\r\n"}`); got != `{"a": "[PEM]"}` {
		t.Errorf("got %s", got)
	}
	if got := secret.Spellings("sk-hunter2"); len(got) != 1 || got[0] != "sk-hunter2" {
		t.Errorf("got %q", got)
	}
}
