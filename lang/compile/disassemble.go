package compile

import (
	"fmt"
	"strings"
)

// Disassemble renders the function's code, one instruction a line: pc, position, operation,
// operands, what they stand for.
func (f *Function) Disassemble() string {
	var b strings.Builder
	fmt.Fprintf(&b, "function %d %s: %d parameters, %d locals, %d registers\n", f.Ordinal, f.Name, f.NumParams, len(f.Locals), f.NumRegisters)
	for pc, in := range f.Code {
		pos := f.Position(pc)
		fmt.Fprintf(&b, "%4d  %4d:%-3d %-12s %s\n", pc, pos.Line, pos.Col, in.Op, f.operands(in))
	}
	return b.String()
}

// operands renders the operands of an instruction as its row in the table says.
func (f *Function) operands(in Instr) string {
	row := &ops[in.Op]
	var parts []string
	for i, kind := range [...]Operand{row.a, row.b, row.c} {
		v := [...]uint16{in.A, in.B, in.C}[i]
		if text := f.operand(in, kind, v); text != "" {
			parts = append(parts, text)
		}
	}
	return strings.Join(parts, " ")
}

func (f *Function) operand(in Instr, kind Operand, v uint16) string {
	switch kind {
	case Unused:
		return ""
	case RK:
		if v&ConstBit != 0 {
			return f.constant(int(v &^ ConstBit))
		}
		return f.register(int(v))
	case K:
		return f.constant(int(v))
	case Number:
		return fmt.Sprint(v)
	case Window, OutWindow:
		return fmt.Sprintf("r%d+%d", v, ops[in.Op].window(f, in))
	case Target:
		if in.Op >= If && in.Op <= IfIn {
			return fmt.Sprintf("%t->%d", in.Sense(), in.Target())
		}
		return fmt.Sprintf("->%d", in.Target())
	}
	return f.register(int(v))
}

func (f *Function) register(r int) string {
	if r < len(f.Locals) {
		return fmt.Sprintf("r%d(%s)", r, f.Locals[r].Name)
	}
	return fmt.Sprintf("r%d", r)
}

func (f *Function) constant(i int) string {
	if v := f.Module.Constants[i]; v != nil {
		return v.String()
	}
	for _, n := range f.Module.Names {
		if n.Const == i {
			return "<" + n.Name + ">"
		}
	}
	return "?"
}
