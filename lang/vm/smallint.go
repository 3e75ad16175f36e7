package vm

import (
	"math"
	"unsafe"

	"go.starlark.net/starlark"
)

// go.starlark.net represents an int of 32 bits as an address in a reserved region of 4 GB, so that
// it needs no memory of its own, and gives out no way to read it but calls that cannot be inlined.
// Arithmetic in loops spends more time in these than in the dispatch loop (lang/design.md has the
// profile). This file is the only one that knows the representation. It learns the region from ints
// that it makes, and if any of a few does not lie where it should, it knows no small ints at all:
// everything then goes through the calls.
//
// Nothing here makes an address that go.starlark.net has not reserved: small checks the region, and
// makeInt the range.

// region is where the addresses of small ints lie: the number n at zero+n, from math.MinInt32 at
// first on. size is 0 if the representation is not known.
type region struct{ first, zero, size uintptr }

var smallInts = findSmallInts()

// findSmallInts learns the region and tests it.
func findSmallInts() region {
	r := region{first: address(starlark.MakeInt(math.MinInt32)), zero: address(starlark.MakeInt(0)), size: 1 << 32}
	for _, n := range []int64{math.MinInt32, -1, 0, 1, 1000, math.MaxInt32} {
		if unsafe.Sizeof(starlark.Int{}) != unsafe.Sizeof(uintptr(0)) || address(starlark.MakeInt64(n)) != r.zero+uintptr(n) {
			return region{}
		}
	}
	for _, n := range []int64{math.MinInt32 - 1, math.MaxInt32 + 1, math.MaxInt64} {
		if r.has(address(starlark.MakeInt64(n))) {
			return region{}
		}
	}
	return r
}

func (r *region) has(address uintptr) bool { return address-r.first < r.size }

// address is the pointer that an int is.
func address(x starlark.Int) uintptr { return *(*uintptr)(unsafe.Pointer(&x)) }

// small is the value of an int of 32 bits; ok is false for any other value.
func small(v starlark.Value) (n int64, ok bool) {
	x, ok := v.(starlark.Int)
	if !ok {
		return 0, false
	}
	a := address(x)
	return int64(a - smallInts.zero), smallInts.has(a)
}

// int is makeInt for a sum, a difference or a product, which may need memory of its own.
func (m *Machine) int(n int64) starlark.Int {
	if a := smallInts.zero + uintptr(n); smallInts.has(a) {
		return *(*starlark.Int)(unsafe.Pointer(&a))
	}
	m.charge(m.sizes.wideInt)
	return starlark.MakeInt64(n)
}

// makeInt is starlark.MakeInt64, quick for 32 bits.
func makeInt(n int64) starlark.Int {
	a := smallInts.zero + uintptr(n)
	if smallInts.has(a) {
		return *(*starlark.Int)(unsafe.Pointer(&a))
	}
	return starlark.MakeInt64(n)
}
