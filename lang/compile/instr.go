package compile

import "fmt"

// ConstBit marks an RK operand that is a constant.
const ConstBit = 0x8000

// senseBit in X is the truth value on which a conditional jump is taken.
const senseBit = 0x80

const (
	maxRegisters    = ConstBit - 1
	maxInstructions = 1 << 23 // targets have 7 bits in X and 16 in A
)

// Instr is one instruction: 8 bytes, fixed. The table in op.go says what the fields of each
// operation are.
type Instr struct {
	Op      Op
	X       uint8
	A, B, C uint16
}

// Target is where a jump goes.
func (in *Instr) Target() int { return int(in.A) | int(in.X&^senseBit)<<16 }

// Sense is the truth value on which a conditional jump is taken.
func (in *Instr) Sense() bool { return in.X&senseBit != 0 }

// Wide is the index of a Const or the number of a Reach instruction.
func (in *Instr) Wide() int { return int(in.B) | int(in.C)<<16 }

func (in *Instr) setTarget(pc int) {
	in.A = uint16(pc)
	in.X = in.X&senseBit | uint8(pc>>16)
}

func (in Instr) String() string {
	return fmt.Sprintf("%s x=%d a=%d b=%d c=%d", in.Op, in.X, in.A, in.B, in.C)
}

// each calls read and write for every register that the instruction reads and writes.
func (f *Function) each(in Instr, read, write func(reg int)) {
	row := &ops[in.Op]
	for i, kind := range [...]Operand{row.a, row.b, row.c} {
		v := int([...]uint16{in.A, in.B, in.C}[i])
		switch kind {
		case Out:
			write(v)
		case In1:
			read(v)
		case InOut:
			read(v)
			write(v)
		case RK:
			if v&ConstBit == 0 {
				read(v)
			}
		case Window:
			for n := row.window(f, in); n > 0; n-- {
				read(v + n - 1)
			}
		case OutWindow:
			for n := row.window(f, in); n > 0; n-- {
				write(v + n - 1)
			}
		}
	}
}
