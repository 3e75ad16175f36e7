package compile

import (
	"math/bits"
	"sort"
	"sync/atomic"
)

// analysis is what is derived from a function's code when somebody first asks: snapshots and the
// memory ceiling do, plain running never.
type analysis struct {
	blocks []block  // in order of start
	depth  []uint16 // iterators open before each instruction
	sites  []int    // site ordinals in order of pc

	// The needs before and across each site, in order of pc, kept when they were first asked for:
	// machines rest at few places, and often.
	before, across []atomic.Pointer[[]Need]
}

// block is a straight run of instructions with what is asked of the registers at its end.
type block struct {
	start, end int
	succ       [2]int // indices of successors, -1 for none
	out        *demand
}

// bitset is a set of registers.
type bitset []uint64

func (s bitset) add(i int)      { s[i/64] |= 1 << (i % 64) }
func (s bitset) remove(i int)   { s[i/64] &^= 1 << (i % 64) }
func (s bitset) has(i int) bool { return s[i/64]&(1<<(i%64)) != 0 }

// union adds t to s and tells whether s grew.
func (s bitset) union(t bitset) bool {
	grew := false
	for i, w := range t {
		grew = grew || s[i]|w != s[i]
		s[i] |= w
	}
	return grew
}

func (s bitset) elements() []int {
	var elems []int
	for i, w := range s {
		for ; w != 0; w &= w - 1 {
			elems = append(elems, i*64+bits.TrailingZeros64(w))
		}
	}
	return elems
}

// Before lists the registers, ascending, whose values the instruction at pc or a later one may
// read, and what these must be.
func (f *Function) Before(pc int) []Need {
	return f.kept(f.analyze().before, pc, func() *demand { return f.live(pc, pc) })
}

// Across lists the registers that are live while the call at pc runs: its arguments are not, and
// its result is not there yet.
func (f *Function) Across(pc int) []Need {
	return f.kept(f.analyze().across, pc, func() *demand {
		live := f.live(pc, pc+1)
		f.each(f.Code[pc], func(int) {}, live.remove)
		return live
	})
}

// kept looks needs up by the site at pc, and computes them if there is none or nobody has asked
// before. Whoever asks at the same time computes the same.
func (f *Function) kept(table []atomic.Pointer[[]Need], pc int, compute func() *demand) []Need {
	n := f.siteIndex(pc)
	if n < 0 {
		return compute().needs()
	}
	list := table[n].Load()
	if list == nil {
		needs := compute().needs()
		list = &needs
		table[n].Store(list)
	}
	return *list
}

// live walks the block of pc backwards, down to and including instruction from.
func (f *Function) live(pc, from int) *demand {
	blocks := f.analyze().blocks
	n := sort.Search(len(blocks), func(i int) bool { return blocks[i].start > pc }) - 1
	live := blocks[n].out.clone(f.NumRegisters)
	for i := blocks[n].end - 1; i >= from; i-- {
		f.step(live, i)
	}
	return live
}

// IterDepth is the number of iterators of the function that are open before the instruction at pc.
func (f *Function) IterDepth(pc int) int { return int(f.analyze().depth[pc]) }

// analyze computes the analysis once.
func (f *Function) analyze() *analysis {
	f.once.Do(func() {
		f.analysis.depth = f.iterDepths()
		f.analysis.blocks = f.findBlocks()
		f.flow(f.analysis.blocks)
		f.analysis.sites = make([]int, len(f.Sites))
		for i := range f.Sites {
			f.analysis.sites[i] = i
		}
		sort.Slice(f.analysis.sites, func(i, j int) bool {
			return f.Sites[f.analysis.sites[i]].PC < f.Sites[f.analysis.sites[j]].PC
		})
		f.analysis.before = make([]atomic.Pointer[[]Need], len(f.Sites))
		f.analysis.across = make([]atomic.Pointer[[]Need], len(f.Sites))
	})
	return &f.analysis
}

// iterDepths counts open iterators. The compiler lays a loop out as one run of code from its Iter
// to its IterEnd, so the depth follows from the order of instructions alone; validate proves that
// every jump agrees.
func (f *Function) iterDepths() []uint16 {
	depth := make([]uint16, len(f.Code))
	d := uint16(0)
	for pc, in := range f.Code {
		depth[pc] = d
		switch in.Op {
		case Iter:
			d++
		case IterEnd:
			d--
		}
	}
	return depth
}

// findBlocks cuts the code at jumps and their targets.
func (f *Function) findBlocks() []block {
	leader := make([]bool, len(f.Code)+1)
	leader[0] = true
	for pc := range f.Code {
		in := &f.Code[pc]
		if in.Op.jumps() {
			leader[in.Target()] = true
		}
		if in.Op.jumps() || in.Op.ends() {
			leader[pc+1] = true
		}
	}
	var blocks []block
	index := make([]int, len(f.Code)+1)
	for pc := range f.Code {
		if leader[pc] {
			blocks = append(blocks, block{start: pc})
		}
		index[pc] = len(blocks) - 1
		blocks[len(blocks)-1].end = pc + 1
	}
	index[len(f.Code)] = -1
	for i := range blocks {
		last := &f.Code[blocks[i].end-1]
		blocks[i].succ = [2]int{-1, -1}
		if last.Op.jumps() {
			blocks[i].succ[0] = index[last.Target()]
		}
		if !last.Op.ends() {
			blocks[i].succ[1] = index[blocks[i].end]
		}
	}
	return blocks
}

// flow computes what is asked of the registers at the end of each block: the usual backward
// iteration to a fixed point.
func (f *Function) flow(blocks []block) {
	in := make([]*demand, len(blocks))
	for i := range blocks {
		blocks[i].out = newDemand(f.NumRegisters)
		in[i] = newDemand(f.NumRegisters)
	}
	for changed := true; changed; {
		changed = false
		for i := len(blocks) - 1; i >= 0; i-- {
			b := &blocks[i]
			for way, s := range b.succ {
				if s >= 0 {
					b.out.union(in[s].after(f.Code[b.end-1], way == 0, f.NumRegisters))
				}
			}
			live := b.out.clone(f.NumRegisters)
			for pc := b.end - 1; pc >= b.start; pc-- {
				f.step(live, pc)
			}
			changed = in[i].union(live) || changed
		}
	}
}
