package vm

import (
	"fmt"

	"go.starlark.net/starlark"

	"starling/lang/compile"
)

// signal says why the dispatch loop was left.
type signal uint8

const (
	sigReturn signal = iota // the frame returned to an activation; the value is the fiber's result
	sigEnter                // an activation is on top now
	sigYield                // the slice is over; the top frame continues where it stands
	sigWait                 // the activation on top waits
	sigError                // the operation at the top frame's pc failed
)

// rk reads an operand that is a register or a constant.
func rk(regs, consts []starlark.Value, i uint16) starlark.Value {
	if i&compile.ConstBit != 0 {
		return consts[i&^compile.ConstBit]
	}
	return regs[i]
}

// interpret runs the Starlark frame on top of the fiber, and those it calls, until control passes
// to an activation, the slice ends or an operation fails. It is the dispatch loop: one case for
// each row of compile's table of operations, whose picture says what the case does. The state of
// the frame is in locals (code, regs, consts, pc) while it runs and in the frame (pc) whenever
// anything else may look. pc is that of the next instruction, so the current one is at pc-1.
func (m *Machine) interpret(f *fiber) (result starlark.Value, sig signal, err error) {
	var (
		fr     *frame
		fn     *Function
		code   []compile.Instr
		regs   []starlark.Value
		consts []starlark.Value
		pc     int
		value  starlark.Value
	)

resume: // the top frame is to execute the instruction at its pc
	fr = &f.frames[len(f.frames)-1]
	fn = fr.fn
	code, consts, pc = fn.code.Code, fn.module.consts, fr.pc
	regs = f.window(fr)

	for {
		in := &code[pc]
		pc++
		switch in.Op {
		case compile.Nop:

		case compile.Move:
			regs[in.A] = rk(regs, consts, in.B)
		case compile.Const:
			regs[in.A] = consts[in.Wide()]
		case compile.Unset:
			regs[in.A] = nil
		case compile.Check:
			if regs[in.A] == nil {
				err = unsetLocal(fn.code.Locals[in.A].Name)
				goto failed
			}

		case compile.Global:
			v := fn.module.globals[in.B]
			if v == nil {
				err = fmt.Errorf("global variable %s referenced before assignment", fn.module.code.Globals[in.B].Name)
				goto failed
			}
			regs[in.A] = v
		case compile.SetGlobal:
			fn.module.globals[in.A] = rk(regs, consts, in.B)
		case compile.NewCell:
			regs[in.A] = new(cell)
			m.charge(m.sizes.other)
		case compile.BoxCell:
			regs[in.A] = &cell{v: regs[in.A]}
			m.charge(m.sizes.other)
		case compile.Cell:
			v := regs[in.B].(*cell).v
			if v == nil {
				err = unsetLocal(fn.code.Locals[in.B].Name)
				goto failed
			}
			regs[in.A] = v
		case compile.SetCell:
			regs[in.A].(*cell).v = rk(regs, consts, in.B)
		case compile.Free:
			regs[in.A] = fn.free[in.B]
		case compile.FreeCell:
			v := fn.free[in.B].v
			if v == nil {
				err = unsetLocal(fn.code.Free[in.B].Name)
				goto failed
			}
			regs[in.A] = v

		case compile.Add:
			fr.pc = pc - 1 // what is held may be counted
			if regs[in.A], err = m.add(rk(regs, consts, in.B), rk(regs, consts, in.C)); err != nil {
				goto failed
			}
		case compile.Sub:
			if regs[in.A], err = m.subtract(rk(regs, consts, in.B), rk(regs, consts, in.C)); err != nil {
				goto failed
			}
		case compile.Mul:
			fr.pc = pc - 1 // what is held may be counted
			if regs[in.A], err = m.multiply(rk(regs, consts, in.B), rk(regs, consts, in.C)); err != nil {
				goto failed
			}
		case compile.Mod:
			fr.pc = pc - 1 // what is held may be counted
			if regs[in.A], err = m.modulo(rk(regs, consts, in.B), rk(regs, consts, in.C)); err != nil {
				goto failed
			}
		case compile.Div:
			if regs[in.A], err = m.divide(rk(regs, consts, in.B), rk(regs, consts, in.C)); err != nil {
				goto failed
			}
		case compile.FloorDiv:
			if regs[in.A], err = m.floorDivide(rk(regs, consts, in.B), rk(regs, consts, in.C)); err != nil {
				goto failed
			}
		case compile.And, compile.Or, compile.Xor, compile.Shl, compile.Shr:
			if regs[in.A], err = m.binary(binaryToken[in.Op], rk(regs, consts, in.B), rk(regs, consts, in.C)); err != nil {
				goto failed
			}
		case compile.In, compile.NotIn:
			var found bool
			if found, err = m.contains(rk(regs, consts, in.C), rk(regs, consts, in.B)); err != nil {
				goto failed
			}
			regs[in.A] = starlark.Bool(found == (in.Op == compile.In))
		case compile.AddTo:
			fr.pc = pc - 1
			if regs[in.A], err = m.addTo(rk(regs, consts, in.B), rk(regs, consts, in.C)); err != nil {
				goto failed
			}
		case compile.OrTo:
			if regs[in.A], err = m.orTo(rk(regs, consts, in.B), rk(regs, consts, in.C)); err != nil {
				goto failed
			}

		case compile.Equal, compile.NotEqual:
			var same bool
			if same, err = m.equal(rk(regs, consts, in.B), rk(regs, consts, in.C)); err != nil {
				goto failed
			}
			regs[in.A] = starlark.Bool(same == (in.Op == compile.Equal))
		case compile.Less, compile.LessEqual, compile.Greater, compile.GreaterEqual:
			var holds bool
			if holds, err = m.order(in.Op, rk(regs, consts, in.B), rk(regs, consts, in.C)); err != nil {
				goto failed
			}
			regs[in.A] = starlark.Bool(holds)

		case compile.Plus, compile.Neg, compile.Invert:
			if regs[in.A], err = starlark.Unary(unaryToken[in.Op], rk(regs, consts, in.B)); err != nil {
				goto failed
			}
		case compile.Not:
			var holds bool
			if holds, err = truth(rk(regs, consts, in.B)); err != nil {
				goto failed
			}
			regs[in.A] = starlark.Bool(!holds)

		case compile.Jump:
			pc = in.Target()
		case compile.Loop:
			if m.fuel--; m.fuel < 0 {
				goto refuel
			}
			pc = in.Target()
		case compile.If:
			var holds bool
			if b, ok := rk(regs, consts, in.B).(starlark.Bool); ok {
				holds = bool(b)
			} else if holds, err = truth(rk(regs, consts, in.B)); err != nil {
				goto failed
			}
			if holds == in.Sense() {
				pc = in.Target()
			}
		case compile.IfEqual:
			var same bool
			if same, err = m.equal(rk(regs, consts, in.B), rk(regs, consts, in.C)); err != nil {
				goto failed
			}
			if same == in.Sense() {
				pc = in.Target()
			}
		case compile.IfLess, compile.IfLessEqual, compile.IfGreater, compile.IfGreaterEqual:
			var holds bool
			if holds, err = m.order(in.Op, rk(regs, consts, in.B), rk(regs, consts, in.C)); err != nil {
				goto failed
			}
			if holds == in.Sense() {
				pc = in.Target()
			}
		case compile.IfIn:
			var found bool
			if found, err = m.contains(rk(regs, consts, in.C), rk(regs, consts, in.B)); err != nil {
				goto failed
			}
			if found == in.Sense() {
				pc = in.Target()
			}

		case compile.Iter:
			if err = f.pushIterator(rk(regs, consts, in.B)); err != nil {
				goto failed
			}
		case compile.Next:
			if m.fuel--; m.fuel < 0 {
				goto refuel
			}
			if f.iters[len(f.iters)-1].next(&regs[in.B]) {
				pc = in.Target()
			}
		case compile.IterEnd:
			f.popIterator()
		case compile.Unpack:
			if err = unpack(regs[in.A:in.A+in.C], rk(regs, consts, in.B)); err != nil {
				goto failed
			}

		case compile.List:
			elems := make([]starlark.Value, in.C)
			copy(elems, regs[in.B:])
			regs[in.A] = starlark.NewList(elems)
			m.charge(m.sizes.list + m.sizes.element*int(in.C))
		case compile.Tuple:
			elems := make(starlark.Tuple, in.C)
			copy(elems, regs[in.B:])
			regs[in.A] = elems
			m.charge(m.sizes.tuple + m.sizes.value*int(in.C))
		case compile.Dict:
			regs[in.A] = newDict(int(in.B))
			m.charge(m.sizes.table)
		case compile.Extend:
			extendWindow(regs[in.A].(*starlark.List), regs[in.B:in.B+in.C])
			m.charge(m.sizes.value * int(in.C))
		case compile.ToTuple:
			regs[in.A] = toTuple(regs[in.A].(*starlark.List))
			m.made(regs[in.A])
		case compile.Append:
			_ = regs[in.A].(*starlark.List).Append(rk(regs, consts, in.B)) // nobody else has it: cannot fail
			m.charge(m.sizes.element)
		case compile.SetKey:
			m.charge(m.sizes.entry)
			if err = m.setNew(regs[in.A].(*starlark.Dict), rk(regs, consts, in.B), rk(regs, consts, in.C)); err != nil {
				goto failed
			}
		case compile.AddKey:
			m.charge(m.sizes.entry)
			if err = m.addKey(regs[in.A].(*starlark.Dict), rk(regs, consts, in.B), rk(regs, consts, in.C)); err != nil {
				goto failed
			}

		case compile.Index:
			if regs[in.A], err = m.index(rk(regs, consts, in.B), rk(regs, consts, in.C)); err != nil {
				goto failed
			}
		case compile.SetIndex:
			if err = m.setIndex(rk(regs, consts, in.A), rk(regs, consts, in.B), rk(regs, consts, in.C)); err != nil {
				goto failed
			}
		case compile.Slice:
			w := regs[in.B : in.B+4]
			if regs[in.A], err = m.slice(w[0], w[1], w[2], w[3]); err != nil {
				goto failed
			}
			m.made(regs[in.A])
		case compile.Attr:
			if regs[in.A], err = attr(rk(regs, consts, in.B), string(consts[in.C].(starlark.String))); err != nil {
				goto failed
			}
		case compile.SetAttr:
			if err = setAttr(rk(regs, consts, in.A), string(consts[in.B].(starlark.String)), rk(regs, consts, in.C)); err != nil {
				goto failed
			}

		case compile.Func:
			regs[in.A] = fn.module.makeFunction(in.C, regs[in.B:])
			m.charge(m.sizes.other)
		case compile.Load:
			if err = fn.module.load(in.B, regs[in.A:]); err != nil {
				goto failed
			}

		case compile.Method:
			recv := rk(regs, consts, in.B)
			if method := directMethod(recv, in.X); method != nil {
				regs[in.A], regs[in.A+1] = method, recv
				continue
			}
			if value, err = attr(recv, string(consts[in.C].(starlark.String))); err != nil {
				goto failed
			}
			regs[in.A], regs[in.A+1] = value, starlark.None

		case compile.Call:
			base := fr.base + int(in.B) + 1
			if callee, ok := regs[in.B].(*Function); ok && callee.direct == int(in.X) {
				fr.pc = pc - 1
				if m.fuel--; m.fuel < 0 {
					goto refuel
				}
				fr = f.pushFrame(callee, base)
				if len(f.frames) > m.frameLimit || !callee.module.code.Options.Recursion {
					if err = m.admit(f, callee); err != nil {
						return nil, sigError, err
					}
				}
				goto entered
			}
			fr.pc = pc - 1
			value, sig, err = m.call(f, regs[in.B], base, int(in.X), nil)
			goto called
		case compile.CallMethod:
			base := fr.base + int(in.B) + 2
			fr.pc = pc - 1
			if method, ok := regs[in.B].(*method); ok {
				value, err = m.callMethod(f, method, regs[in.B+1], f.regs[base:base+int(in.X)])
				if err != nil {
					goto failed
				}
				regs[in.A] = value
				continue
			}
			value, sig, err = m.call(f, regs[in.B], base, int(in.X), nil)
			goto called
		case compile.CallNamed, compile.CallSpread:
			fr.pc = pc - 1
			value, sig, err = m.callShape(f, regs[in.B], fr.base+int(in.B)+1, int(in.X), &fn.code.Shapes[in.C])
			goto called

		case compile.Return:
			value = rk(regs, consts, in.A)
			if len(f.iters) > fr.iters {
				f.closeIterators(fr.iters)
			}
			n := len(f.frames) - 1
			f.frames = f.frames[:n]
			fr = &f.frames[n-1]
			fn = fr.fn
			if fn == nil {
				return value, sigReturn, nil
			}
			code, consts, regs = fn.code.Code, fn.module.consts, f.window(fr)
			pc = fr.pc + 1
			regs[code[fr.pc].A] = value

		case compile.Break:
			goto pause
		case compile.Reach:
			fn.module.reached[in.Wide()].Add(1)

		default:
			panic("vm: no case for " + in.Op.String())
		}
		continue

	called: // m.call has done the call at fr.pc, or has begun it
		switch sig {
		case sigReturn:
			fr = &f.frames[len(f.frames)-1] // the call may have moved frames and registers
			regs = f.window(fr)
			regs[in.A] = value
			continue
		case sigEnter:
			fr = &f.frames[len(f.frames)-1]
			if fr.fn == nil {
				return nil, sigEnter, nil
			}
			goto entered
		case sigYield:
			return nil, sigYield, nil
		}
		return nil, sigError, err

	entered: // fr is a new frame whose arguments are bound
		fn = fr.fn
		code, consts, pc = fn.code.Code, fn.module.consts, 0
		regs = f.window(fr)
	}

refuel: // the instruction at pc-1 is charged to a used-up portion of steps
	fr.pc = pc - 1
	if sig, err = m.refuel(f); sig == sigReturn {
		goto resume
	}
	return nil, sig, err

pause: // whoever put a Break here may want to look at the machine
	fr.pc = pc
	if m.pause == nil || !m.pause() {
		goto resume
	}
	return nil, sigYield, nil

failed:
	fr.pc = pc - 1
	return nil, sigError, err
}

func unsetLocal(name string) error {
	return fmt.Errorf("local variable %s referenced before assignment", name)
}
