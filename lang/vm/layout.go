package vm

import (
	"math"
	"reflect"
	"unsafe"

	"go.starlark.net/starlark"

	"starling/lang/crowd"
)

// go.starlark.net says neither how much room its lists, dicts and sets have, nor how its tables
// lie. What they really take, and how long a look into a table is, follows from both. These are
// mirrors of its types; the program checks them field by field when it starts, and where one
// differs it knows no layouts: lists and tables are then as go.starlark.net leaves them, and looks
// into tables cost a step.

// listLayout mirrors starlark.List.
type listLayout struct {
	elems     []starlark.Value
	frozen    bool
	itercount uint32
}

// tableLayout mirrors the table of a starlark.Dict and of a starlark.Set.
type tableLayout struct {
	table     []bucketLayout // 0, or a power of two
	bucket0   [1]bucketLayout
	len       uint32
	itercount uint32
	head      *entryLayout // in order of insertion
	tailLink  **entryLayout
	frozen    bool
}

// bucketLayout is one link of the chain of those whose hashes have the same low bits.
type bucketLayout struct {
	entries [8]entryLayout
	next    *bucketLayout
}

type entryLayout struct {
	hash       uint32 // 0 where there is none
	key, value starlark.Value
	next       *entryLayout
	prevLink   **entryLayout
}

// layoutsKnown tells whether the mirrors are true.
var layoutsKnown = mirrors(reflect.TypeFor[listLayout](), reflect.TypeFor[starlark.List](), 3) &&
	mirrors(reflect.TypeFor[tableLayout](), reflect.TypeFor[starlark.Dict]().Field(dictTable).Type, 3) &&
	mirrors(reflect.TypeFor[tableLayout](), reflect.TypeFor[starlark.Set]().Field(setTable).Type, 3) &&
	reflect.TypeFor[starlark.Dict]().Field(dictTable).Offset == 0 &&
	reflect.TypeFor[starlark.Set]().Field(setTable).Offset == 0 &&
	hashesSmall(-7, 0, 8, math.MaxInt32, math.MinInt32)

// smallHash is what go.starlark.net hashes a small int to.
func smallHash(n int64) uint32 { return 12582917 * uint32(n+3) }

func hashesSmall(ints ...int) bool {
	for _, n := range ints {
		if hash, _ := starlark.MakeInt(n).Hash(); hash != smallHash(int64(n)) {
			return false
		}
	}
	return true
}

// mirrors compares two types down to a depth of types that they are made of. What has no size does
// not count.
func mirrors(mine, theirs reflect.Type, depth int) bool {
	if mine.Kind() != theirs.Kind() || mine.Size() != theirs.Size() {
		return false
	}
	if depth == 0 {
		return true
	}
	switch mine.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array:
		return mirrors(mine.Elem(), theirs.Elem(), depth-1)
	case reflect.Struct:
		for f := range mine.Fields() {
			g, ok := theirs.FieldByName(f.Name)
			if !ok || f.Offset != g.Offset || !mirrors(f.Type, g.Type, depth-1) {
				return false
			}
		}
	}
	return true
}

func layoutOfList(l *starlark.List) *listLayout { return (*listLayout)(unsafe.Pointer(l)) }

func layoutOfDict(d *starlark.Dict) *tableLayout { return (*tableLayout)(unsafe.Pointer(d)) }

func layoutOfSet(s *starlark.Set) *tableLayout { return (*tableLayout)(unsafe.Pointer(s)) }

// layoutOf is the table of a dict or a set, nil of anything else.
func layoutOf(v starlark.Value) *tableLayout {
	switch v := v.(type) {
	case *starlark.Dict:
		return layoutOfDict(v)
	case *starlark.Set:
		return layoutOfSet(v)
	}
	return nil
}

// fit gives back the room that a list has had and does not need.
func (l *listLayout) fit() {
	if cap(l.elems) > 2*len(l.elems)+8 {
		l.elems = append(make([]starlark.Value, 0, len(l.elems)), l.elems...)
	}
}

// fit makes the table anew if it is far too large for what is left in it, or has empty links. One
// that is being iterated over, or that others may read, stays.
func (t *tableLayout) fit() {
	if t.frozen || t.itercount > 0 || len(t.table) < 16 || len(t.table) < 8*crowd.Places(int(t.len)) {
		return
	}
	d := starlark.NewDict(max(int(t.len), 16)) // whose buckets are not part of it
	for e := t.head; e != nil; e = e.next {
		_ = d.SetKey(e.key, e.value) // the keys are distinct and hash
	}
	fresh := layoutOfDict(d)
	t.table, t.head, t.tailLink = fresh.table, fresh.head, fresh.tailLink
	if t.head == nil {
		t.tailLink = &t.head
	} else {
		t.head.prevLink = &t.head
	}
}
