package compile

// Hold says what a register must hold for the code from some place on to be possible. The bits add
// up: a list that is being built is also a value.
type Hold uint8

// What can be asked of a register. With no bit set it holds a value or is unset.
const (
	HoldValue  Hold = 1 << iota // it is set
	HoldCell                    // the cell of a variable that functions share, which is no value
	HoldList                    // a list that is being built and that nobody else knows
	HoldDict                    // a dict of that kind
	HoldMethod                  // what Method left: a method of the receiver in the next register, or any value

	holdBits = 5
)

// Need is a register that is live, and what it must hold.
type Need struct {
	Reg  int
	Hold Hold

	// Late tells that snapshots of generator 0 do not have it: what code after a loop reads of the
	// loop's variable was taken to be dead until the next element.
	Late bool
}

// demand is what is asked of all registers at one place: those that are live, one set for each bit
// of Hold, and those that generator 0 knew to be live.
type demand [2 + holdBits]bitset

const known = 1 + holdBits

func newDemand(registers int) *demand {
	words := (registers + 63) / 64
	all := make(bitset, words*len(demand{}))
	d := new(demand)
	for i := range d {
		d[i] = all[i*words : (i+1)*words : (i+1)*words]
	}
	return d
}

func (d *demand) clone(registers int) *demand {
	c := newDemand(registers)
	for i := range d {
		copy(c[i], d[i])
	}
	return c
}

// union adds what e asks to d and tells whether d grew.
func (d *demand) union(e *demand) bool {
	grew := false
	for i := range d {
		grew = d[i].union(e[i]) || grew
	}
	return grew
}

func (d *demand) remove(reg int) {
	for i := range d {
		d[i].remove(reg)
	}
}

func (d *demand) add(reg int, h Hold) {
	d[0].add(reg)
	d[known].add(reg)
	for i := range holdBits {
		if h>>i&1 != 0 {
			d[1+i].add(reg)
		}
	}
}

func (d *demand) hold(reg int) (h Hold) {
	for i := range holdBits {
		if d[1+i].has(reg) {
			h |= 1 << i
		}
	}
	return h
}

func (d *demand) needs() []Need {
	var list []Need
	for _, reg := range d[0].elements() {
		list = append(list, Need{reg, d.hold(reg), !d[known].has(reg)})
	}
	return list
}

// step turns what is asked after instruction pc into what is asked before it.
func (f *Function) step(d *demand, pc int) {
	in := f.Code[pc]
	if in.Op == Next { // it writes on one of its two ways only: see after
		d[known].remove(int(in.B))
		return
	}
	moved := HoldValue
	if in.Op == Move && d.hold(int(in.A))&HoldCell != 0 {
		moved = HoldCell
	}
	f.each(in, func(int) {}, d.remove)
	if in.Op == Check { // what follows it may rely on the variable, what comes before may not
		d.remove(int(in.A))
	}
	f.each(in, func(reg int) { d.add(reg, f.asks(in, reg, moved)) }, func(int) {})
}

// after is what is asked behind the last instruction of a block, on the way that jumps or on the
// one that falls through, when d is asked where that way leads. Next has set its register where it
// jumps. Where it falls through, code may read what an earlier round left there.
func (d *demand) after(last Instr, jumped bool, registers int) *demand {
	if last.Op != Next || !jumped {
		return d
	}
	d = d.clone(registers)
	d.remove(int(last.B))
	return d
}

// asks says what an instruction wants of a register that it reads. moved is what is asked of the
// result of a Move.
func (f *Function) asks(in Instr, reg int, moved Hold) Hold {
	switch in.Op {
	case Check:
		return 0
	case Move:
		return moved
	case Cell:
		return HoldCell
	case Func:
		return f.asksFunc(in, reg)
	}
	first := reg == int(in.A)
	switch {
	case first && in.Op == SetCell:
		return HoldCell
	case first && (in.Op == Append || in.Op == Extend || in.Op == ToTuple):
		return HoldList
	case first && (in.Op == SetKey || in.Op == AddKey):
		return HoldDict
	case in.Op == CallMethod && reg == int(in.B):
		return HoldMethod | HoldValue
	}
	return HoldValue
}

// asksFunc is asks for the window of a function that is being made: its defaults, then its cells.
func (f *Function) asksFunc(in Instr, reg int) Hold {
	made, i := f.Module.Functions[in.C], reg-int(in.B)
	switch {
	case i >= made.NumDefaults:
		return HoldCell
	case made.Placeholder(i):
		return 0
	}
	return HoldValue
}

// Placeholder tells whether default i stands for a mandatory keyword-only parameter, which has
// none.
func (f *Function) Placeholder(i int) bool {
	return i/64 < len(f.placeholders) && f.placeholders.has(i)
}
