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

func stringLower(m *Machine, recv starlark.Value, args []starlark.Value) starlark.Value {
	if len(args) != 0 {
		return nil
	}
	return m.same(recv, strings.ToLower(string(recv.(starlark.String))))
}

func stringUpper(m *Machine, recv starlark.Value, args []starlark.Value) starlark.Value {
	if len(args) != 0 {
		return nil
	}
	return m.same(recv, strings.ToUpper(string(recv.(starlark.String))))
}

func stringStrip(m *Machine, recv starlark.Value, args []starlark.Value) starlark.Value {
	if len(args) != 0 {
		return nil
	}
	return m.own(m.same(recv, strings.TrimSpace(string(recv.(starlark.String)))), recv)
}

// same returns the receiver itself when nothing has changed, which saves the memory of a new value.
func (m *Machine) same(recv starlark.Value, s string) starlark.Value {
	if len(recv.(starlark.String)) == len(s) && string(recv.(starlark.String)) == s {
		return recv
	}
	m.work(len(s) >> workShift)
	m.charge(m.sizes.text + len(s))
	return starlark.String(s)
}

func stringSplit(m *Machine, recv starlark.Value, args []starlark.Value) starlark.Value {
	s, sep, ok := stringArgs(recv, args)
	if !ok || sep == "" {
		return nil
	}
	n := strings.Count(s, sep) + 1
	if n > maxBuffer && !m.fits(n*(m.sizes.element+m.sizes.text)) {
		return nil
	}
	parts := make([]starlark.Value, 0, n)
	for {
		before, after, found := strings.Cut(s, sep)
		parts = append(parts, starlark.String(before))
		if !found {
			m.work(n >> partShift)
			m.charge(m.sizes.list + len(recv.(starlark.String)) + len(parts)*(m.sizes.element+m.sizes.text))
			return m.own(starlark.NewList(parts), recv)
		}
		s = after
	}
}

func stringReplace(m *Machine, recv starlark.Value, args []starlark.Value) starlark.Value {
	if len(args) != 2 && len(args) != 3 {
		return nil
	}
	old, ok := args[0].(starlark.String)
	repl, ok2 := args[1].(starlark.String)
	if !ok || !ok2 {
		return nil
	}
	s, n := string(recv.(starlark.String)), -1
	if len(args) == 3 {
		most, ok := small(args[2])
		if !ok {
			return nil
		}
		n = int(most)
	}
	if grows := len(repl) - len(old); grows > 0 && !m.fits(len(s)+grows*strings.Count(s, string(old))) {
		return nil
	}
	return m.same(recv, strings.Replace(s, string(old), string(repl), n))
}

// stringJoin joins strings. The iterable is gone through twice, at first for the length of the
// result.
func stringJoin(m *Machine, recv starlark.Value, args []starlark.Value) starlark.Value {
	if len(args) != 1 {
		return nil
	}
	seq, ok := args[0].(starlark.Iterable)
	if !ok {
		return nil
	}
	sep := string(recv.(starlark.String))
	size, n := 0, 0
	for v := range starlark.Elements(seq) {
		s, ok := v.(starlark.String)
		if !ok {
			return nil
		}
		size += len(s)
		n++
	}
	if size += len(sep) * max(0, n-1); size > maxBuffer && !m.fits(size) {
		return nil
	}
	m.fuel -= int64(n) >> elementShift
	b := m.buf[:0]
	for v := range starlark.Elements(seq) {
		if n--; n > 0 {
			b = append(append(b, v.(starlark.String)...), sep...)
			continue
		}
		b = append(b, v.(starlark.String)...)
	}
	return m.text(b)
}

// fits tells whether a text of n bytes may be made; if not, the call is refused.
func (m *Machine) fits(n int) bool {
	m.refused = m.room("a string", float64(n))
	return m.refused == nil
}

// refusal takes the reason for which a direct method, or a text, was not made.
func (m *Machine) refusal() error {
	err := m.refused
	m.refused = nil
	return err
}

// text makes a string of what was written into the machine's buffer, and keeps the buffer unless it
// has become large.
func (m *Machine) text(b []byte) starlark.Value {
	if cap(b) <= maxBuffer {
		m.buf = b[:0]
	}
	m.charge(m.sizes.text + len(b))
	m.fuel -= int64(len(b)) >> workShift
	return starlark.String(b)
}

// maxBuffer is the size up to which the buffer for formatted text is kept.
const maxBuffer = 16 << 10
