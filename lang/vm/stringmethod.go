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

func stringSplit(_ *Machine, recv starlark.Value, args []starlark.Value) starlark.Value {
	s, sep, ok := stringArgs(recv, args)
	if !ok || sep == "" {
		return nil
	}
	parts := make([]starlark.Value, 0, strings.Count(s, sep)+1)
	for {
		before, after, found := strings.Cut(s, sep)
		parts = append(parts, starlark.String(before))
		if !found {
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
	return same(recv, strings.ReplaceAll(string(recv.(starlark.String)), string(old), string(repl)))
}

// stringJoin joins a list or tuple of strings into memory of just the right size.
func stringJoin(m *Machine, recv starlark.Value, args []starlark.Value) starlark.Value {
	if len(args) != 1 {
		return nil
	}
	sep := string(recv.(starlark.String))
	b := m.buf[:0]
	switch seq := args[0].(type) {
	case *starlark.List:
		for i := range seq.Len() {
			s, ok := seq.Index(i).(starlark.String)
			if !ok {
				return nil
			}
			if i > 0 {
				b = append(b, sep...)
			}
			b = append(b, s...)
		}
	case starlark.Tuple:
		for i, v := range seq {
			s, ok := v.(starlark.String)
			if !ok {
				return nil
			}
			if i > 0 {
				b = append(b, sep...)
			}
			b = append(b, s...)
		}
	default:
		return nil
	}
	return m.text(b)
}

// text makes a string of what was written into the machine's buffer, and keeps the buffer unless it has become large.
func (m *Machine) text(b []byte) starlark.Value {
	if cap(b) <= maxBuffer {
		m.buf = b[:0]
	}
	return starlark.String(b)
}

// maxBuffer is the size up to which the buffer for formatted text is kept.
const maxBuffer = 16 << 10
