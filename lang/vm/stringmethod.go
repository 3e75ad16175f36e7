package vm

import (
	"strings"

	"go.starlark.net/starlark"
)

// The direct methods of strings. Each returns nil for anything unusual.

// stringArgs returns the receiver and the only argument, if that is a string.
func stringArgs(recv starlark.Value, args []starlark.Value) (s, arg string, ok bool) {
	if len(args) != 1 {
		return "", "", false
	}
	a, ok := args[0].(starlark.String)
	return string(recv.(starlark.String)), string(a), ok
}

func stringStartsWith(_ *Machine, recv starlark.Value, args []starlark.Value) starlark.Value {
	if s, prefix, ok := stringArgs(recv, args); ok {
		return starlark.Bool(strings.HasPrefix(s, prefix))
	}
	return nil
}

func stringEndsWith(_ *Machine, recv starlark.Value, args []starlark.Value) starlark.Value {
	if s, suffix, ok := stringArgs(recv, args); ok {
		return starlark.Bool(strings.HasSuffix(s, suffix))
	}
	return nil
}

func stringFind(_ *Machine, recv starlark.Value, args []starlark.Value) starlark.Value {
	if s, sub, ok := stringArgs(recv, args); ok {
		return starlark.MakeInt(strings.Index(s, sub))
	}
	return nil
}

func stringLower(_ *Machine, recv starlark.Value, args []starlark.Value) starlark.Value {
	if len(args) != 0 {
		return nil
	}
	return same(recv, strings.ToLower(string(recv.(starlark.String))))
}

func stringUpper(_ *Machine, recv starlark.Value, args []starlark.Value) starlark.Value {
	if len(args) != 0 {
		return nil
	}
	return same(recv, strings.ToUpper(string(recv.(starlark.String))))
}

func stringStrip(_ *Machine, recv starlark.Value, args []starlark.Value) starlark.Value {
	if len(args) != 0 {
		return nil
	}
	return same(recv, strings.TrimSpace(string(recv.(starlark.String))))
}

// same returns the receiver itself when nothing has changed, which saves the memory of a new value.
func same(recv starlark.Value, s string) starlark.Value {
	if len(recv.(starlark.String)) == len(s) && string(recv.(starlark.String)) == s {
		return recv
	}
	return starlark.String(s)
}

func stringSplit(m *Machine, recv starlark.Value, args []starlark.Value) starlark.Value {
	s, sep, ok := stringArgs(recv, args)
	if !ok || sep == "" {
		return nil
	}
	parts := make([]starlark.Value, 0, strings.Count(s, sep)+1)
	for {
		before, after, found := strings.Cut(s, sep)
		parts = append(parts, starlark.String(before))
		if !found {
			m.charge(len(parts) * (sizeOfValue + sizeOfText))
			return starlark.NewList(parts)
		}
		s = after
	}
}

func stringReplace(m *Machine, recv starlark.Value, args []starlark.Value) starlark.Value {
	if len(args) != 2 {
		return nil
	}
	old, ok := args[0].(starlark.String)
	repl, ok2 := args[1].(starlark.String)
	if !ok || !ok2 {
		return nil
	}
	s := string(recv.(starlark.String))
	if grows := len(repl) - len(old); grows > 0 && !m.fits(len(s)+grows*strings.Count(s, string(old))) {
		return nil
	}
	v := same(recv, strings.ReplaceAll(s, string(old), string(repl)))
	m.made(v)
	return v
}

// stringJoin joins a list or tuple of strings.
func stringJoin(m *Machine, recv starlark.Value, args []starlark.Value) starlark.Value {
	if len(args) != 1 {
		return nil
	}
	var n int
	var at func(i int) starlark.Value
	switch seq := args[0].(type) {
	case *starlark.List:
		n, at = seq.Len(), seq.Index
	case starlark.Tuple:
		n, at = len(seq), seq.Index
	default:
		return nil
	}
	sep := string(recv.(starlark.String))
	size := len(sep) * max(0, n-1)
	for i := range n {
		s, ok := at(i).(starlark.String)
		if !ok {
			return nil
		}
		size += len(s)
	}
	if !m.fits(size) {
		return nil
	}
	b := m.buf[:0]
	for i := range n {
		if i > 0 {
			b = append(b, sep...)
		}
		b = append(b, at(i).(starlark.String)...)
	}
	return m.text(b)
}

// fits tells whether a text of n bytes may be made; if not, the call is refused.
func (m *Machine) fits(n int) bool {
	m.refused = m.room("a string", float64(n))
	return m.refused == nil
}

// text makes a string of what was written into the machine's buffer, and keeps the buffer unless it has become large.
func (m *Machine) text(b []byte) starlark.Value {
	if cap(b) <= maxBuffer {
		m.buf = b[:0]
	}
	m.charge(sizeOfText + len(b))
	m.fuel -= int64(len(b)) >> workShift
	return starlark.String(b)
}

// maxBuffer is the size up to which the buffer for formatted text is kept.
const maxBuffer = 16 << 10
