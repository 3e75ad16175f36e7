package vm

import (
	"strconv"
	"strings"

	"go.starlark.net/starlark"
)

// Formatting of the usual kinds: `%` with %s, %d, %r and %%, format with {} and {n}. Anything else,
// a mistake above all, is left to go.starlark.net.

// stringFormat is s.format(arg, ...) with fields {} or {n}.
func stringFormat(m *Machine, recv starlark.Value, args []starlark.Value) starlark.Value {
	format := string(recv.(starlark.String))
	b := m.buf[:0]
	auto, manual := 0, false
	for {
		i := strings.IndexAny(format, "{}")
		if i < 0 {
			return m.text(append(b, format...))
		}
		b = append(b, format[:i]...)
		rest := format[i+1:]
		if strings.HasPrefix(rest, format[i:i+1]) { // {{ or }}
			b = append(b, format[i])
			format = rest[1:]
			continue
		}
		field, after, ok := strings.Cut(rest, "}")
		if !ok || format[i] == '}' {
			return nil
		}
		n := auto
		if field == "" {
			auto++
		} else if n = digit(field); n >= 0 {
			manual = true
		}
		if n < 0 || n >= len(args) || manual && auto > 0 {
			return nil
		}
		if b = m.appendText(b, args[n]); m.refused != nil {
			return nil
		}
		format = after
	}
}

// digit is the number that a field of one digit is, or -1.
func digit(field string) int {
	if len(field) == 1 && '0' <= field[0] && field[0] <= '9' {
		return int(field[0] - '0')
	}
	return -1
}

// percent is format % x, or nil if it is not of the usual kinds.
func (m *Machine) percent(format string, x starlark.Value) starlark.Value {
	args, ok := x.(starlark.Tuple)
	if !ok {
		m.arg[0] = x
		args = m.arg[:]
	}
	b := m.buf[:0]
	used := 0
	for {
		i := strings.IndexByte(format, '%')
		if i < 0 {
			break
		}
		if i+1 >= len(format) {
			return nil
		}
		b = append(b, format[:i]...)
		verb := format[i+1]
		format = format[i+2:]
		if verb == '%' {
			b = append(b, '%')
			continue
		}
		if used >= len(args) {
			return nil
		}
		if b, ok = m.appendVerb(b, verb, args[used]); !ok || m.refused != nil {
			return nil
		}
		used++
	}
	if used < len(args) {
		return nil
	}
	return m.text(append(b, format...))
}

func (m *Machine) appendVerb(b []byte, verb byte, v starlark.Value) ([]byte, bool) {
	switch verb {
	case 's':
		return m.appendText(b, v), true
	case 'r':
		if m.refused = m.showable(v); m.refused != nil {
			return b, true
		}
		return append(b, v.String()...), true
	case 'd':
		if i, ok := v.(starlark.Int); ok {
			return m.appendText(b, i), true
		}
	}
	return b, false
}

// appendText appends str(v), or refuses what is too long.
func (m *Machine) appendText(b []byte, v starlark.Value) []byte {
	switch v := v.(type) {
	case starlark.String:
		if len(b)+len(v) > maxBuffer && !m.fits(len(b)+len(v)) {
			return b
		}
		return append(b, v...)
	case starlark.Int:
		if n, ok := v.Int64(); ok {
			return strconv.AppendInt(b, n, 10)
		}
	}
	if m.refused = m.showable(v); m.refused != nil {
		return b
	}
	return append(b, v.String()...)
}
