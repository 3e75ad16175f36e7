package secret

import (
	"regexp"
	"sync"

	"go.starlark.net/starlark"
)

// pattern finds what is a key by its form, whoever wrote it where: private keys, JSON web tokens,
// and the tokens of services that mark theirs. What merely looks random is not taken for one:
// hashes and ids are. It is compiled when it is first needed: a guard needs it never.
var pattern = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`-----BEGIN [A-Z ]*PRIVATE KEY-----(?s:.*?)(?:-----END [A-Z ]*PRIVATE KEY-----|$)` +
		`|\beyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}` +
		`|\b(?:AKIA|ASIA)[0-9A-Z]{16}\b|\bAIza[0-9A-Za-z_-]{35}` +
		`|\bgh[pousr]_[A-Za-z0-9]{36,}|\bgithub_pat_[A-Za-z0-9_]{22,}|\bglpat-[A-Za-z0-9_-]{20,}` +
		`|\bxox[abprs]-[A-Za-z0-9-]{10,}|\bsk-[A-Za-z0-9_-]{20,}|\b[rs]k_live_[A-Za-z0-9]{16,}|\bnpm_[A-Za-z0-9]{36}`)
})

// Redacted stands where a key was.
const Redacted = "[redacted]"

// Found tells whether a text holds what is a key by its form.
func Found(text []byte) bool { return pattern().Match(text) }

// RedactKeys is v with what is a key by its form replaced by [Redacted], in the texts of plain
// values. v itself does not change.
func RedactKeys(v starlark.Value) starlark.Value {
	switch v := v.(type) {
	case starlark.String:
		return starlark.String(pattern().ReplaceAllString(string(v), Redacted))
	case *starlark.List:
		out := make([]starlark.Value, v.Len())
		for i := range out {
			out[i] = RedactKeys(v.Index(i))
		}
		return starlark.NewList(out)
	case *starlark.Dict:
		out := starlark.NewDict(v.Len())
		for k, field := range v.Entries() {
			_ = out.SetKey(RedactKeys(k), RedactKeys(field)) // a fresh dict and a string key
		}
		return out
	}
	return v
}
