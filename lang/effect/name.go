package effect

import (
	"fmt"
	"time"

	"go.starlark.net/starlark"
)

// MaxName is the length of the longest name, in bytes.
const MaxName = 128

// MaxKey is the length of the longest key in bytes: what variables, chats, queues and the items in
// these are called, of which any text may be one.
const MaxKey = 256

// CheckName tells whether a step, agent, gate or mailbox may have this name:
// [A-Za-z0-9][A-Za-z0-9._-]*, at most MaxName bytes. Names that begin with "!" are the system's own
// and are refused with the rest.
func CheckName(name string) error {
	switch {
	case name == "":
		return fmt.Errorf("got an empty name")
	case len(name) > MaxName:
		return fmt.Errorf("got a name of %d bytes, want at most %d", len(name), MaxName)
	}
	for i := range len(name) {
		if c := name[i]; !letterOrDigit(c) && (i == 0 || c != '.' && c != '_' && c != '-') {
			return fmt.Errorf("got the name %q, want letters, digits, '.', '_' and '-', beginning with a letter or a digit", name)
		}
	}
	return nil
}

func letterOrDigit(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}

// Timestamp is a time as scripts see it, everywhere: RFC 3339 in UTC with milliseconds, so that
// times sort as their texts do.
func Timestamp(t time.Time) starlark.String {
	return starlark.String(t.UTC().Format("2006-01-02T15:04:05.000Z"))
}
