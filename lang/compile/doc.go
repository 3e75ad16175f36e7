// Package compile turns the resolved syntax tree of one Starlark file into code for the register
// machine of starling/lang/vm.
//
// Parsing and name resolution are go.starlark.net's; everything after is here, because a machine
// whose state can be written down needs code whose state is known: which registers are live, which
// iterators are open, and what a position is called.
//
//	source ──► syntax.Parse ──► depth check ──► resolve ──► functionCompiler ──► Module{Constants, Functions, Globals, Loads}
//
// A [Module] is the code of one file: immutable once made, shared by goroutines, free of values
// that a run could change. A [Function] is a slice of fixed 8-byte [Instr]; the table in op.go is
// the one description of what each does, and liveness, validation and disassembly read it.
//
// # Registers
//
// A function's window of registers holds its parameters, then its other locals, then temporaries,
// which form a stack while expressions are compiled. Locals are read in place: an operand names the
// local's register and no copy is made. That is sound because nothing in an expression can assign a
// local. A local that is not certainly assigned where it is read is checked first (Check), which is
// how "referenced before assignment" comes about.
//
// # Positions
//
// The table of positions gives each instruction that can fail the line and column which
// go.starlark.net would report for it, so that backtraces are the same. A [Site] is a place where a
// machine may rest for long: a call or the back-edge of a loop. Sites and functions are numbered in
// the order of the source, which no change of the code generator alters; snapshots name positions
// by these ordinals.
//
// # Limits
//
// 32,767 registers a function and 8 M instructions: beyond is an [Error], never wrong code. Nesting
// deeper than maxDepth is an error too, so that no source text can exhaust the Go stack of the
// resolver or of this package.
package compile
