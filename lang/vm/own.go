package vm

import (
	"strings"

	"go.starlark.net/starlark"
)

// A text that is cut out of another holds all of that, and what is counted as a few bytes must not
// hold many. So what is at most half of it is copied, and what is large. The rest, which trimming
// makes and splitting, is copied when it is counted, if what was cut from since then is enough to
// matter.

// ownedText is the length of large texts.
const ownedText = 1 << 20

// partedShare is the share of the limit that may be held by what was cut out of it.
const partedShare = 8

// own parts a value that may have been cut out of a text, if that is large.
func (m *Machine) own(made, source starlark.Value) starlark.Value {
	n := textLength(source)
	if n == 0 {
		return made
	}
	switch made := made.(type) {
	case nil, starlark.Bool, starlark.Int, starlark.NoneType:
		return made
	case starlark.String:
		switch {
		case len(made) == n:
			return made
		case len(made) <= n/2:
			return starlark.String(strings.Clone(string(made)))
		}
	}
	m.cutFrom += int64(n)
	if n > ownedText {
		return parted(made, n)
	}
	return made
}

func textLength(v starlark.Value) int {
	switch v := v.(type) {
	case starlark.String:
		return len(v)
	case starlark.Bytes:
		return len(v)
	}
	return 0
}

// parted copies large texts that are shorter than what they may be cut out of.
func parted(v starlark.Value, source int) starlark.Value {
	if n := textLength(v); n >= ownedText && n < source {
		if b, ok := v.(starlark.Bytes); ok {
			return starlark.Bytes(strings.Clone(string(b)))
		}
		return starlark.String(strings.Clone(string(v.(starlark.String))))
	}
	switch v := v.(type) {
	case starlark.Tuple:
		parts := make(starlark.Tuple, len(v)) // others may read v
		for i := range v {
			parts[i] = parted(v[i], source)
		}
		return parts
	case *starlark.List:
		for i := range v.Len() {
			_ = v.SetIndex(i, parted(v.Index(i), source)) // one that cannot be changed was not made now
		}
	case *starlark.Dict:
		for _, item := range v.Items() {
			_ = v.SetKey(item[0], parted(item[1], source))
		}
	}
	return v
}
