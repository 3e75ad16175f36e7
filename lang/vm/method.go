package vm

import (
	"go.starlark.net/starlark"

	"starling/lang/compile"
)

// method is a method of a built-in type that can be called without making a bound method of it: the Method instruction leaves it in a register beside the
// receiver, and CallMethod runs it. Its body serves calls with the usual arguments and returns nil for all others, whose results and errors are the business of the
// builtin that it stands for. Scripts never see one.
type method struct {
	name string
	call func(recv starlark.Value, args []starlark.Value) starlark.Value
}

func (m *method) String() string      { return m.name }
func (*method) Type() string          { return "method" }
func (*method) Freeze()               {}
func (*method) Truth() starlark.Bool  { return true }
func (*method) Hash() (uint32, error) { return 0, nil }

// methodTable holds the direct methods of a type by their numbers in compile.Methods.
type methodTable [len(compile.Methods)]*method

// directMethod finds the direct form of method number n of recv, nil if there is none.
func directMethod(recv starlark.Value, n uint8) *method {
	switch recv.(type) {
	case *starlark.List:
		return listMethods[n]
	case *starlark.Dict:
		return dictMethods[n]
	case starlark.String:
		return stringMethods[n]
	}
	return nil
}

var (
	listMethods = makeMethods(map[string]func(starlark.Value, []starlark.Value) starlark.Value{
		"append": listAppend,
	})
	dictMethods = makeMethods(map[string]func(starlark.Value, []starlark.Value) starlark.Value{
		"get": dictGet,
	})
	stringMethods = makeMethods(nil)
)

// makeMethods checks each name against compile.Methods, so that a misspelled one cannot hide.
func makeMethods(calls map[string]func(starlark.Value, []starlark.Value) starlark.Value) (table methodTable) {
	for i, name := range compile.Methods {
		if call := calls[name]; call != nil {
			table[i] = &method{name, call}
			delete(calls, name)
		}
	}
	for name := range calls {
		panic("vm: " + name + " is not in compile.Methods")
	}
	return table
}

// callMethod calls a direct method, or the builtin when the call is not a usual one.
func (m *Machine) callMethod(f *fiber, method *method, recv starlark.Value, args []starlark.Value) (starlark.Value, error) {
	m.fuel--
	if v := method.call(recv, args); v != nil {
		return v, nil
	}
	bound, err := attr(recv, method.name)
	if err != nil {
		return nil, err
	}
	v, _, err := m.callGo(f, bound.(starlark.Callable), append(starlark.Tuple(nil), args...), nil)
	return v, err
}

func listAppend(recv starlark.Value, args []starlark.Value) starlark.Value {
	if len(args) != 1 || recv.(*starlark.List).Append(args[0]) != nil {
		return nil
	}
	return starlark.None
}

func dictGet(recv starlark.Value, args []starlark.Value) starlark.Value {
	if len(args) == 0 || len(args) > 2 {
		return nil
	}
	v, found, err := recv.(*starlark.Dict).Get(args[0])
	switch {
	case err != nil:
		return nil
	case found:
		return v
	case len(args) == 2:
		return args[1]
	}
	return starlark.None
}
