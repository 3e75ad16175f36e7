package compile

// Op is an operation code.
type Op uint8

// The operations, explained by their pictures in the table below.
const (
	Nop Op = iota

	Move
	Const
	Unset
	Check

	Global
	SetGlobal
	NewCell
	BoxCell
	Cell
	SetCell
	Free
	FreeCell

	Add
	Sub
	Mul
	Div
	FloorDiv
	Mod
	And
	Or
	Xor
	Shl
	Shr
	In
	NotIn
	AddTo
	OrTo

	Equal
	NotEqual
	Less
	LessEqual
	Greater
	GreaterEqual

	Plus
	Neg
	Invert
	Not

	Jump
	Loop
	If
	IfEqual
	IfLess
	IfLessEqual
	IfGreater
	IfGreaterEqual
	IfIn

	Iter
	Next
	IterEnd
	Unpack

	List
	Tuple
	Dict
	Extend
	ToTuple
	Append
	SetKey
	AddKey

	Index
	SetIndex
	Slice
	Attr
	SetAttr

	Func
	Method
	CallMethod
	Call
	CallNamed
	CallSpread
	Return
	Load

	Break
	Reach

	opCount
)

// Operand says what one field of an instruction is.
type Operand uint8

// The kinds of operand.
const (
	Unused    Operand = iota
	Out               // a register, written
	In1               // a register, read
	InOut             // a register, read and written
	RK                // read: a register or, with ConstBit, a constant
	K                 // a constant (index into Module.Constants)
	Number            // a plain number, a count or an index into a table
	Window            // first of a window of registers, read
	OutWindow         // first of a window of registers, written
	Target            // low bits of a jump target; X holds the high bits
)

// opRow describes one operation. In the picture R is the window of registers, K the constants, G
// the module's globals, F the function's free cells, RK a register or a constant, I the stack of
// open iterators; "unless set" and "fails" name the errors it can raise beside those of the values.
type opRow struct {
	name    string
	picture string
	a, b, c Operand
	// window is the number of registers in the operation's window; nil if it has none.
	window func(f *Function, in Instr) int
}

// ops is the one table of operations: liveness, validation and disassembly are derived from it, and
// the dispatch loop of lang/vm has one case for each row.
var ops = [opCount]opRow{
	Nop: {name: "nop", picture: "nothing"},

	Move:  {"move", "R[a] = RK[b]", Out, RK, Unused, nil},
	Const: {"const", "R[a] = K[b + c<<16]", Out, Number, Number, nil},
	Unset: {"unset", "R[a] = unset", Out, Unused, Unused, nil},
	Check: {"check", "fails unless R[a] is set", In1, Unused, Unused, nil},

	Global:    {"global", "R[a] = G[b]; fails unless set", Out, Number, Unused, nil},
	SetGlobal: {"setglobal", "G[a] = RK[b]", Number, RK, Unused, nil},
	NewCell:   {"newcell", "R[a] = cell(unset)", Out, Unused, Unused, nil},
	BoxCell:   {"boxcell", "R[a] = cell(R[a])", InOut, Unused, Unused, nil},
	Cell:      {"cell", "R[a] = R[b].value; fails unless set", Out, In1, Unused, nil},
	SetCell:   {"setcell", "R[a].value = RK[b]", In1, RK, Unused, nil},
	Free:      {"free", "R[a] = F[b], the cell itself", Out, Number, Unused, nil},
	FreeCell:  {"freecell", "R[a] = F[b].value; fails unless set", Out, Number, Unused, nil},

	Add:      {"add", "R[a] = RK[b] + RK[c]", Out, RK, RK, nil},
	Sub:      {"sub", "R[a] = RK[b] - RK[c]", Out, RK, RK, nil},
	Mul:      {"mul", "R[a] = RK[b] * RK[c]", Out, RK, RK, nil},
	Div:      {"div", "R[a] = RK[b] / RK[c]", Out, RK, RK, nil},
	FloorDiv: {"floordiv", "R[a] = RK[b] // RK[c]", Out, RK, RK, nil},
	Mod:      {"mod", "R[a] = RK[b] % RK[c]", Out, RK, RK, nil},
	And:      {"and", "R[a] = RK[b] & RK[c]", Out, RK, RK, nil},
	Or:       {"or", "R[a] = RK[b] | RK[c]", Out, RK, RK, nil},
	Xor:      {"xor", "R[a] = RK[b] ^ RK[c]", Out, RK, RK, nil},
	Shl:      {"shl", "R[a] = RK[b] << RK[c]", Out, RK, RK, nil},
	Shr:      {"shr", "R[a] = RK[b] >> RK[c]", Out, RK, RK, nil},
	In:       {"in", "R[a] = RK[b] in RK[c]", Out, RK, RK, nil},
	NotIn:    {"notin", "R[a] = RK[b] not in RK[c]", Out, RK, RK, nil},
	AddTo:    {"addto", "R[a] = RK[b] += RK[c]: a list on the left is extended in place", Out, RK, RK, nil},
	OrTo:     {"orto", "R[a] = RK[b] |= RK[c]: a dict on the left is updated in place", Out, RK, RK, nil},

	Equal:        {"equal", "R[a] = RK[b] == RK[c]", Out, RK, RK, nil},
	NotEqual:     {"notequal", "R[a] = RK[b] != RK[c]", Out, RK, RK, nil},
	Less:         {"less", "R[a] = RK[b] < RK[c]", Out, RK, RK, nil},
	LessEqual:    {"lessequal", "R[a] = RK[b] <= RK[c]", Out, RK, RK, nil},
	Greater:      {"greater", "R[a] = RK[b] > RK[c]", Out, RK, RK, nil},
	GreaterEqual: {"greaterequal", "R[a] = RK[b] >= RK[c]", Out, RK, RK, nil},

	Plus:   {"plus", "R[a] = +RK[b]", Out, RK, Unused, nil},
	Neg:    {"neg", "R[a] = -RK[b]", Out, RK, Unused, nil},
	Invert: {"invert", "R[a] = ~RK[b]", Out, RK, Unused, nil},
	Not:    {"not", "R[a] = not RK[b]", Out, RK, Unused, nil},

	Jump:           {"jump", "go to target", Target, Unused, Unused, nil},
	Loop:           {"loop", "charge a step; go to target, which lies before", Target, Unused, Unused, nil},
	If:             {"if", "if bool(RK[b]) is sense: go to target", Target, RK, Unused, nil},
	IfEqual:        {"ifequal", "if (RK[b] == RK[c]) is sense: go to target", Target, RK, RK, nil},
	IfLess:         {"ifless", "if (RK[b] < RK[c]) is sense: go to target", Target, RK, RK, nil},
	IfLessEqual:    {"iflessequal", "if (RK[b] <= RK[c]) is sense: go to target", Target, RK, RK, nil},
	IfGreater:      {"ifgreater", "if (RK[b] > RK[c]) is sense: go to target", Target, RK, RK, nil},
	IfGreaterEqual: {"ifgreaterequal", "if (RK[b] >= RK[c]) is sense: go to target", Target, RK, RK, nil},
	IfIn:           {"ifin", "if (RK[b] in RK[c]) is sense: go to target", Target, RK, RK, nil},

	Iter:    {"iter", "push iterator over RK[b] on I; fails unless iterable", Unused, RK, Unused, nil},
	Next:    {"next", "charge a step; if top of I has another: R[b] = it; go to target", Target, Out, Unused, nil},
	IterEnd: {"iterend", "pop I, which unlocks what it iterates over", Unused, Unused, Unused, nil},
	Unpack:  {"unpack", "R[a], ... R[a+c-1] = RK[b]; fails unless it has c elements", OutWindow, RK, Number, countC},

	List:    {"list", "R[a] = [R[b], ... R[b+c-1]]", Out, Window, Number, countC},
	Tuple:   {"tuple", "R[a] = (R[b], ... R[b+c-1])", Out, Window, Number, countC},
	Dict:    {"dict", "R[a] = {}, with room for b entries", Out, Number, Unused, nil},
	Extend:  {"extend", "R[a].extend([R[b], ... R[b+c-1]]), a list being built", In1, Window, Number, countC},
	ToTuple: {"totuple", "R[a] = tuple(R[a]), a list being built", InOut, Unused, Unused, nil},
	Append:  {"append", "R[a].append(RK[b]), a list being built", In1, RK, Unused, nil},
	SetKey:  {"setkey", "R[a][RK[b]] = RK[c], a dict being built", In1, RK, RK, nil},
	AddKey:  {"addkey", "R[a][RK[b]] = RK[c], a dict being built; fails if the key is there", In1, RK, RK, nil},

	Index:    {"index", "R[a] = RK[b][RK[c]]", Out, RK, RK, nil},
	SetIndex: {"setindex", "RK[a][RK[b]] = RK[c]", RK, RK, RK, nil},
	Slice:    {"slice", "R[a] = R[b][R[b+1] : R[b+2] : R[b+3]]", Out, Window, Unused, countSlice},
	Attr:     {"attr", "R[a] = RK[b].K[c]", Out, RK, K, nil},
	SetAttr:  {"setattr", "RK[a].K[b] = RK[c]", RK, K, RK, nil},

	Func:       {"func", "R[a] = function c with its defaults, then its free cells, from R[b]", Out, Window, Number, countFunc},
	Method:     {"method", "R[a], R[a+1] = method K[c] of RK[b], receiver; x is its number in Methods", OutWindow, RK, K, countMethod},
	CallMethod: {"callmethod", "R[a] = R[b].(R[b+1])(R[b+2], ... x of them), after Method", Out, Window, Unused, countCallMethod},
	Call:       {"call", "R[a] = R[b](R[b+1], ... x of them)", Out, Window, Unused, countCall},
	CallNamed:  {"callnamed", "R[a] = R[b](R[b+1], ... x of them, then one for each name of shape c)", Out, Window, Number, countCallShape},
	CallSpread: {"callspread", "R[a] = R[b](...) as callnamed, then *args and **kwargs as shape c says", Out, Window, Number, countCallShape},
	Return:     {"return", "return RK[a]", RK, Unused, Unused, nil},
	Load:       {"load", "R[a], ... = the names of load statement b", OutWindow, Number, Unused, countLoad},

	Break: {"break", "end the slice before the next instruction, if somebody wants that", Unused, Unused, Unused, nil},
	Reach: {"reach", "count that mark b + c<<16 is reached", Unused, Number, Number, nil},
}

func countC(_ *Function, in Instr) int          { return int(in.C) }
func countSlice(*Function, Instr) int           { return 4 }
func countMethod(*Function, Instr) int          { return 2 }
func countCall(_ *Function, in Instr) int       { return 1 + int(in.X) }
func countCallMethod(_ *Function, in Instr) int { return 2 + int(in.X) }
func countCallShape(f *Function, in Instr) int {
	return 1 + int(in.X) + f.Shapes[in.C].Values()
}
func countFunc(f *Function, in Instr) int {
	g := f.Module.Functions[in.C]
	return g.NumDefaults + len(g.Free)
}
func countLoad(f *Function, in Instr) int { return len(f.Module.Loads[in.B].Names) }

// String is the name of the operation in disassembly.
func (op Op) String() string {
	if op < opCount {
		return ops[op].name
	}
	return "illegal"
}

// Picture says in one line what the operation does.
func (op Op) Picture() string { return ops[op].picture }

// Calls tells whether the operation calls something and goes on when it returns.
func (op Op) Calls() bool {
	return op == Call || op == CallMethod || op == CallNamed || op == CallSpread
}

// jumps tells whether the operation has a target.
func (op Op) jumps() bool { return ops[op].a == Target }

// ends tells whether control never falls through to the next instruction.
func (op Op) ends() bool { return op == Jump || op == Loop || op == Return }
