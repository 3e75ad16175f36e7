package vm

import (
	"fmt"
	"strconv"
	"strings"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"starling/lang/effect"
)

// callEffect calls a builtin that may ask something of the world. What becomes of the request
// follows from its class.
func (m *Machine) callEffect(f *fiber, b *effect.Builtin, args starlark.Tuple, named []keyword) (starlark.Value, signal, error) {
	m.fuel--
	if err := m.allPrintable(args, named); err != nil {
		return nil, sigError, m.errorIn(f, b.FullName, err)
	}
	if b.Class == effect.Pure {
		outer := m.callee
		m.callee = b
		v, err := m.callPure(b, args, named)
		m.callee = outer
		if past, ok := err.(*effect.Error); ok { // fail(e) raises an error that was caught
			err = again(past)
		}
		if err != nil {
			return nil, sigError, m.errorIn(f, b.FullName, err)
		}
		return v, sigReturn, nil
	}
	r, err := m.newRequest(f, b, args, named)
	if err != nil {
		return nil, sigError, m.errorIn(f, b.FullName, err)
	}
	v, sig, err := m.issue(f, r)
	if err != nil {
		return nil, sigError, m.errorIn(f, b.FullName, err)
	}
	return v, sig, nil
}

// callPure calls a function of its arguments. What it can make of them is checked before.
func (m *Machine) callPure(b *effect.Builtin, args starlark.Tuple, named []keyword) (starlark.Value, error) {
	c, err := b.Bind(args, named)
	if err != nil {
		return nil, err
	}
	if b.Size != nil {
		n, err := b.Size(c)
		if err == nil {
			err = m.room("the result", float64(n))
		}
		if err != nil {
			return nil, err
		}
		m.charge(int(n))
		m.fuel -= n >> workShift
	}
	v, err := b.Pure(c)
	m.work(int(c.Steps))
	if b.Size == nil {
		m.madeAll(v)
	}
	for _, source := range args {
		v = m.goneThrough(v, source)
	}
	for _, kw := range named {
		v = m.goneThrough(v, kw.Value)
	}
	return v, err
}

// goneThrough charges for going through an argument that is a text, out of which the result may
// have been cut.
func (m *Machine) goneThrough(result, arg starlark.Value) starlark.Value {
	m.work(textLength(arg) >> readShift)
	return m.own(result, arg)
}

// newRequest binds the arguments and fills in what the machine knows: where the call stands and
// what the step is called.
func (m *Machine) newRequest(f *fiber, b *effect.Builtin, args starlark.Tuple, named []keyword) (*effect.Request, error) {
	if err := m.mayWait(f, b.FullName); err != nil {
		return nil, err
	}
	c, err := b.Bind(args, named)
	if err != nil {
		return nil, err
	}
	r, err := b.Request(c)
	if err != nil {
		return nil, err
	}
	if r.Class == effect.Pure {
		r.Class = b.Class
	}
	r.Tree = f.tree()
	return f.asks(r), nil
}

// asks fills in where a request stands, and what its step is called.
func (f *fiber) asks(r *effect.Request) *effect.Request {
	r.Branch, r.Where = f.branch, f.where()
	if r.Class != effect.Output && r.Class != effect.Await {
		r.Step = f.step(r.Name)
		r.Ceilings = f.ceilings()
		r.Overlaps, r.Among = f.beside()
	}
	return r
}

// mayWait tells why an effect is not possible here.
func (m *Machine) mayWait(f *fiber, name string) error {
	switch {
	case m.running:
	case m.image == nil && m.main != nil:
		return fmt.Errorf("%s cannot be called while a module is being loaded: only main, and what it calls, can have effects", name)
	default:
		return fmt.Errorf("%s cannot be called here: this code runs outside of a run and cannot wait", name)
	}
	for i := len(f.frames) - 1; i >= 0; i-- {
		if act := f.frames[i].act; act != nil && act.kind == borderFrame && act.callee != nil {
			return fmt.Errorf("%s cannot be called from inside %s, which cannot wait; call it from a def or a lambda", name, act.callee.Name())
		}
	}
	return nil
}

// issue gives a request out and answers the call, or leaves a frame that waits.
func (m *Machine) issue(f *fiber, r *effect.Request) (starlark.Value, signal, error) {
	switch r.Class {
	case effect.Answer:
		if m.answer == nil {
			return nil, sigError, fmt.Errorf("%s: nobody answers here", r.Kind)
		}
		o := m.answer(r)
		m.emit(Emission{Kind: Answered, Step: r.Step, Request: r, Outcome: o})
		v, err := m.outcomeValue(&o)
		return v, sigReturn, err
	case effect.Output:
		m.emit(Emission{Kind: Said, Request: r})
		return starlark.None, sigReturn, nil
	case effect.Open:
		m.emit(Emission{Kind: Requested, Step: r.Step, Request: r})
		m.opened[r.Step] = nil
		return effect.NewRecord(effect.HandleType, starlark.String(r.Kind), starlark.String(r.Step)), sigReturn, nil
	case effect.Await:
		return m.await(f, r.Await)
	}
	m.emit(Emission{Kind: Requested, Step: r.Step, Request: r})
	m.wait(f, &wait{step: r.Step, onEvent: r.OnEvent})
	return nil, sigEnter, nil
}

// await waits for a step that was opened earlier, unless its outcome is there.
func (m *Machine) await(f *fiber, step string) (starlark.Value, signal, error) {
	o, ok := m.opened[step]
	switch {
	case !ok:
		return nil, sigError, fmt.Errorf("there is no open step %s in this run", step)
	case o != nil:
		v, err := m.outcomeValue(o)
		return v, sigReturn, err
	}
	m.wait(f, &wait{step: step})
	return nil, sigEnter, nil
}

// outcomeValue is the value of an outcome, fresh, or the error that is raised.
func (m *Machine) outcomeValue(o *effect.Outcome) (starlark.Value, error) {
	if o.Err != nil {
		return nil, o.Err
	}
	m.charge(m.sizes.value * len(o.Value)) // a byte can stand for an element
	v, err := o.Value.Value()
	if err != nil {
		return nil, err
	}
	return effect.ResultAt(v, m.behaviour()), nil
}

// emit adds to what the slice gives out. Much output ends the slice early, so that commits stay
// small.
func (m *Machine) emit(e Emission) {
	m.emissions = append(m.emissions, e)
	m.emitted += 64
	if e.Request != nil {
		m.emitted += len(e.Request.Args)
	}
	m.emitted += len(e.Outcome.Value)
	if m.emitted > sliceBytes {
		m.cut()
	}
}

// where is the position of the call in progress: that of the innermost Starlark frame, the call of
// parallel if the branch has none of its own.
func (f *fiber) where() string {
	for ; f != nil; f = f.parent {
		for i := len(f.frames) - 1; i >= 0; i-- {
			if fr := &f.frames[i]; fr.fn != nil {
				return place(fr.fn.code.Position(fr.pc))
			}
		}
	}
	return ""
}

// place is a position as its String writes it, at a tenth of the cost: every request has one.
func place(pos syntax.Position) string {
	if pos.Line <= 0 || pos.Col <= 0 {
		return pos.String()
	}
	var buf [64]byte
	b := append(buf[:0], pos.Filename()...)
	b = strconv.AppendInt(append(b, ':'), int64(pos.Line), 10)
	b = strconv.AppendInt(append(b, ':'), int64(pos.Col), 10)
	return string(b)
}

// step names the next step of a name in the fiber's branch: "name", then "name#2", "name#3".
func (f *fiber) step(name string) string { return join(f.branch, f.count(name)) }

// count counts one more of a name in the fiber's branch.
func (f *fiber) count(name string) string {
	if f.names == nil {
		f.names = make(map[string]int)
	}
	f.names[name]++
	return numbered(name, f.names[name])
}

// numbered is the n-th use of a name in a branch.
func numbered(name string, n int) string {
	if n > 1 {
		return name + "#" + strconv.Itoa(n)
	}
	return name
}

func join(branch, segment string) string {
	if branch == "" {
		return segment
	}
	return branch + "/" + segment
}

// segment makes a dict key a segment of a branch path: what a name may not hold is percent-encoded.
func segment(key string) string {
	if effect.CheckName(key) == nil {
		return key
	}
	var b strings.Builder
	for i := range len(key) {
		if c := key[i]; plain(c, i) {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

func plain(c byte, i int) bool {
	switch {
	case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
		return true
	}
	return i > 0 && (c == '.' || c == '_' || c == '-')
}
