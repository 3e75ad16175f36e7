package vm

import (
	"fmt"
	"reflect"

	"go.starlark.net/starlark"
)

// rangeType recognises range values, whose type go.starlark.net does not export.
var rangeType = func() reflect.Type {
	v, err := starlark.Call(new(starlark.Thread), starlark.Universe["range"], starlark.Tuple{starlark.MakeInt(0)}, nil)
	if err != nil {
		panic(err)
	}
	return reflect.TypeOf(v)
}()

// pushIterator opens an iterator over x, which locks it if it can change.
func (f *fiber) pushIterator(x starlark.Value) error {
	it := iteration{source: x}
	switch x := x.(type) {
	case *starlark.List:
		it.kind, it.list, it.length = overList, x, x.Len()
		it.guard = x.Iterate()
	case starlark.Tuple:
		it.kind, it.tuple, it.length = overTuple, x, len(x)
	case forever:
		it.kind = overForever
	case starlark.Iterable:
		if !it.openRange(x) {
			it.guard = x.Iterate()
		}
	default:
		return fmt.Errorf("%s value is not iterable", x.Type())
	}
	f.iters = append(f.iters, it)
	return nil
}

// openRange prepares a range for stepping without Go's iterator.
func (it *iteration) openRange(x starlark.Iterable) bool {
	if reflect.TypeOf(x) != rangeType {
		return false
	}
	r := x.(starlark.Indexable)
	it.kind, it.length = overRange, r.Len()
	if it.length > 0 {
		it.start, _ = r.Index(0).(starlark.Int).Int64()
	}
	if it.length > 1 {
		second, _ := r.Index(1).(starlark.Int).Int64()
		it.step = second - it.start
	}
	return true
}

// next takes the next element, or reports that there is none.
func (it *iteration) next(dst *starlark.Value) bool {
	switch it.kind {
	case overList:
		if it.pos >= it.length {
			return false
		}
		*dst = it.list.Index(it.pos)
	case overRange:
		if it.pos >= it.length {
			return false
		}
		*dst = makeInt(it.start + int64(it.pos)*it.step)
	case overTuple:
		if it.pos >= it.length {
			return false
		}
		*dst = it.tuple[it.pos]
	case overForever:
		*dst = makeInt(int64(it.pos))
	default:
		if !it.guard.Next(dst) {
			return false
		}
	}
	it.pos++
	return true
}

// popIterator closes the youngest iterator.
func (f *fiber) popIterator() {
	n := len(f.iters) - 1
	if guard := f.iters[n].guard; guard != nil {
		guard.Done()
	}
	f.iters[n] = iteration{}
	f.iters = f.iters[:n]
}

// unpack stores the elements of x in dst, of which there must be as many.
func unpack(dst []starlark.Value, x starlark.Value) error {
	switch x := x.(type) {
	case starlark.Tuple:
		if len(x) == len(dst) {
			copy(dst, x)
			return nil
		}
	case *starlark.List:
		if x.Len() == len(dst) {
			for i := range dst {
				dst[i] = x.Index(i)
			}
			return nil
		}
	}
	return unpackIterable(dst, x)
}

// unpackIterable is unpack for any iterable, and finds the words for a wrong number of elements.
func unpackIterable(dst []starlark.Value, x starlark.Value) error {
	iter := starlark.Iterate(x)
	if iter == nil {
		return fmt.Errorf("got %s in sequence assignment", x.Type())
	}
	defer iter.Done()
	elems := make([]starlark.Value, 0, len(dst))
	var v starlark.Value
	for len(elems) < len(dst) && iter.Next(&v) {
		elems = append(elems, v)
	}
	if len(elems) == len(dst) && iter.Next(&v) {
		return fmt.Errorf("too many values to unpack (got %d, want %d)", starlark.Len(x), len(dst))
	}
	if len(elems) < len(dst) {
		return fmt.Errorf("too few values to unpack (got %d, want %d)", len(elems), len(dst))
	}
	copy(dst, elems)
	return nil
}
