package stdlib

import (
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"hash"

	"go.starlark.net/starlark"

	"starling/lang/effect"
)

// digestModule holds checksums as hexadecimal text.
func digestModule() []*effect.Builtin {
	return []*effect.Builtin{
		digest("sha1", "The SHA-1 of a text or bytes as 40 hexadecimal digits: what git names its objects by. It is no protection against forgery.", sha1.New),
		digest("sha256", "The SHA-256 of a text or bytes as 64 hexadecimal digits.", sha256.New),
		digest("sha512", "The SHA-512 of a text or bytes as 128 hexadecimal digits.", sha512.New),
	}
}

// digest is charged for the bytes that it reads: the result is short however many they are, so a
// bound on results alone would let a script read as much as it likes.
func digest(name, doc string, make func() hash.Hash) *effect.Builtin {
	return &effect.Builtin{
		FullName: "digest." + name, Doc: doc, Result: "string",
		Params: []effect.Param{{Name: "data", Type: "string|bytes", Doc: "A text, of which the bytes in UTF-8 count, or bytes."}},
		Size:   func(c *effect.Call) (int64, error) { return int64(starlark.Len(c.Get("data"))) + 200, nil }, // the work, more than the result
		Pure: func(c *effect.Call) (starlark.Value, error) {
			h := make()
			switch data := c.Get("data").(type) {
			case starlark.String:
				h.Write([]byte(data))
			case starlark.Bytes:
				h.Write([]byte(data))
			}
			return starlark.String(hex.EncodeToString(h.Sum(nil))), nil
		},
	}
}
