package compile

// insertBreaks puts a Break before every instruction. Whoever wants to stop a machine at each pays
// for that with code of twice the length; the dispatch loop, and code without breaks, pay nothing.
// Functions, sites and live registers keep their numbers: to a snapshot this is the code of another
// build.
func (f *Function) insertBreaks() {
	code := make([]Instr, 0, 2*len(f.Code))
	for _, in := range f.Code {
		if in.Op.jumps() {
			in.setTarget(2 * in.Target()) // the break before the target
		}
		code = append(code, Instr{Op: Break}, in)
	}
	f.Code = code
	for i := range f.positions {
		f.positions[i].pc *= 2
	}
	for i := range f.Sites {
		f.Sites[i].PC = 2*f.Sites[i].PC + 1
	}
}
