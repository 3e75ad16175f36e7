package compile

import (
	"math/big"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"
)

// bytesKey and nameKey keep constants of different kinds apart in the pool: b"x" from "x", the name
// None from the string.
type (
	bytesKey string
	bigKey   string
	nameKey  struct {
		name      string
		universal bool
	}
)

// literal returns the index of a literal in the constant pool.
func (m *moduleCompiler) literal(lit *syntax.Literal) int {
	switch v := lit.Value.(type) {
	case int64:
		return m.constant(v, starlark.MakeInt64(v))
	case *big.Int:
		return m.constant(bigKey(v.String()), starlark.MakeBigInt(v))
	case float64:
		return m.constant(v, starlark.Float(v))
	case string:
		if lit.Token == syntax.BYTES {
			return m.constant(bytesKey(v), starlark.Bytes(v))
		}
		return m.text(v)
	}
	panic("compile: unknown literal")
}

// text returns the index of a string constant.
func (m *moduleCompiler) text(s string) int { return m.constant(s, starlark.String(s)) }

// name returns the index of the constant that will hold a predeclared or universal value.
func (m *moduleCompiler) name(name string, universal bool) int {
	if universal {
		switch name {
		case "None":
			return m.constant(nameKey{name, true}, starlark.None)
		case "True":
			return m.constant(nameKey{name, true}, starlark.True)
		case "False":
			return m.constant(nameKey{name, true}, starlark.False)
		}
	}
	key := nameKey{name, universal}
	if i, ok := m.constants[key]; ok {
		return i
	}
	i := m.constant(key, nil)
	m.module.Names = append(m.module.Names, Name{i, name, universal})
	return i
}

func (m *moduleCompiler) constant(key any, v starlark.Value) int {
	if i, ok := m.constants[key]; ok {
		return i
	}
	i := len(m.module.Constants)
	m.constants[key] = i
	m.module.Constants = append(m.module.Constants, v)
	return i
}
