package vm

import (
	"fmt"
	"strings"
	"unicode"

	"go.starlark.net/starlark"

	"starling/lang/compile"
)

// method is a method of a built-in type that can be called without making a bound method of it: the
// Method instruction leaves it in a register beside the receiver, and CallMethod runs it. Its body
// serves calls with the usual arguments and returns nil for all others, whose results and errors
// are the business of the builtin that it stands for. Scripts never see one.
type method struct {
	name string
	call directCall
}

// directCall is the body of a direct method; the receiver has the type of its table.
type directCall func(m *Machine, recv starlark.Value, args []starlark.Value) starlark.Value

func (m *method) String() string      { return m.name }
func (*method) Type() string          { return "method" }
func (*method) Freeze()               {}
func (*method) Truth() starlark.Bool  { return true }
func (*method) Hash() (uint32, error) { return 0, nil }

// serves tells whether recv has the method.
func (m *method) serves(recv starlark.Value) bool {
	for n := range compile.Methods {
		if recv != nil && directMethod(recv, uint8(n)) == m {
			return true
		}
	}
	return false
}

// methodTable holds the direct methods of a type by their numbers in compile.Methods.
type methodTable [len(compile.Methods)]*method

var (
	listMethods = makeMethods(map[string]directCall{
		"append": listAppend,
		"extend": listExtend,
		"index":  listIndex,
	})
	dictMethods = makeMethods(map[string]directCall{
		"get":        dictGet,
		"items":      dictItems,
		"keys":       dictKeys,
		"pop":        dictPop,
		"setdefault": dictSetDefault,
		"values":     dictValues,
	})
	stringMethods = makeMethods(map[string]directCall{
		"endswith":   stringEndsWith,
		"find":       stringFind,
		"format":     stringFormat,
		"join":       stringJoin,
		"lower":      stringLower,
		"replace":    stringReplace,
		"split":      stringSplit,
		"startswith": stringStartsWith,
		"strip":      stringStrip,
		"upper":      stringUpper,
	})
)

// makeMethods checks each name against compile.Methods, so that a misspelled one cannot hide.
func makeMethods(calls map[string]directCall) (table methodTable) {
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

// callMethod calls a direct method, or the builtin when the call is not a usual one.
func (m *Machine) callMethod(f *fiber, method *method, recv starlark.Value, args []starlark.Value) (starlark.Value, error) {
	m.fuel--
	if s, ok := recv.(starlark.String); ok {
		m.fuel -= int64(len(s)) >> workShift
	}
	if v := method.call(m, recv, args); v != nil {
		return v, nil
	}
	if err := m.refusal(); err != nil {
		return nil, m.errorIn(f, method.name, err)
	}
	bound, err := attr(recv, method.name)
	if err != nil {
		return nil, err
	}
	v, _, err := m.callBound(f, bound.(*starlark.Builtin), args, nil)
	return v, err
}

// lacksOther refuses what go.starlark.net crashes on: a method of a set that compares it with
// another one, called without the other.
func lacksOther(b *starlark.Builtin, args int) error {
	if _, ok := b.Receiver().(*starlark.Set); !ok || args > 0 {
		return nil
	}
	switch b.Name() {
	case "difference", "intersection", "issubset", "issuperset", "symmetric_difference":
		return fmt.Errorf("%s: got 0 arguments, want 1", b.Name())
	}
	return nil
}

// callBound calls a method of a built-in type, which neither keeps its arguments nor looks at the
// thread.
func (m *Machine) callBound(f *fiber, b *starlark.Builtin, args starlark.Tuple, named []keyword) (starlark.Value, signal, error) {
	err := m.consumes(args)
	if err == nil {
		err = m.mayCallMethod(b, args, named)
	}
	if err == nil {
		err = lacksOther(b, len(args)+len(named))
	}
	if err != nil {
		return nil, sigError, m.errorIn(f, b.Name(), err)
	}
	outer, before := m.callee, m.sizes.of(b.Receiver())
	m.callee = b
	v, err := b.CallInternal(m.thread, args, pairs(named))
	m.callee = outer
	m.charge(max(0, m.sizes.of(b.Receiver())-before))
	if err != nil {
		return nil, sigError, m.errorIn(f, b.Name(), err)
	}
	if b.Name() == "items" {
		m.apart(v)
	}
	m.made(v)
	return m.own(v, b.Receiver()), sigReturn, nil
}

// mayCallMethod checks what a method of a built-in type could make or go through.
func (m *Machine) mayCallMethod(b *starlark.Builtin, args starlark.Tuple, named []keyword) error {
	switch recv := b.Receiver().(type) {
	case *starlark.Dict, *starlark.Set:
		if err := hashesAll(args); err != nil {
			return err
		}
		return m.tableMethod(layoutOf(recv), b.Name(), args)
	case *starlark.List:
		m.fuel -= int64(recv.Len()) >> elementShift
		if len(args) > 0 && (b.Name() == "index" || b.Name() == "remove") {
			return m.comparable(args[0], recv.Len()+1)
		}
	case starlark.String:
		m.fuel -= int64(len(recv)) >> workShift
		m.work(len(recv) >> readShift)
		return m.mayCallString(b.Name(), string(recv), args, named)
	}
	return nil
}

// mayCallString checks the methods of strings whose result can be much larger than the string.
func (m *Machine) mayCallString(name, s string, args starlark.Tuple, named []keyword) error {
	switch name {
	case "split", "rsplit", "splitlines":
		return m.room("the parts", float64(parts(s, args))*float64(m.sizes.element+m.sizes.text))
	case "format":
		return m.mayFormat(s, args, named)
	}
	return nil
}

// mayFormat refuses a format with so many fields that the longest argument in each of them would be
// too long.
func (m *Machine) mayFormat(s string, args starlark.Tuple, named []keyword) error {
	longest := int64(0)
	for _, kw := range named {
		if err := m.showable(kw.Value); err != nil {
			return err
		}
	}
	if err := m.allShowable(args); err != nil {
		return err
	}
	for _, v := range args {
		n, err := m.textSize(v)
		if err != nil {
			return err
		}
		longest = max(longest, n)
	}
	for _, kw := range named {
		n, err := m.textSize(kw.Value)
		if err != nil {
			return err
		}
		longest = max(longest, n)
	}
	return m.room("a string", float64(len(s))+float64(longest)*float64(strings.Count(s, "{")))
}

// parts is the number of parts into which a separator, white space without one, cuts s.
func parts(s string, args starlark.Tuple) int {
	if len(args) > 0 {
		if sep, ok := args[0].(starlark.String); ok && sep != "" {
			return strings.Count(s, string(sep)) + 1
		}
	}
	n, between := 0, true
	for _, r := range s {
		space := unicode.IsSpace(r)
		if between && !space || r == '\n' {
			n++
		}
		between = space
	}
	return n + 1
}
