package vm

import (
	"errors"
	"reflect"

	"go.starlark.net/starlark"
)

// go.starlark.net keeps the frozen flag, the count of iterators and the table of lists, dicts and
// sets to itself. They can be read through reflect; locking is Iterate, and freezing is in
// freeze.go. The indices of the fields are found by name once, here.
var (
	listFrozen = fieldIndex(reflect.TypeFor[starlark.List](), "frozen")
	listLocks  = fieldIndex(reflect.TypeFor[starlark.List](), "itercount")
	dictTable  = fieldIndex(reflect.TypeFor[starlark.Dict](), "ht")
	setTable   = fieldIndex(reflect.TypeFor[starlark.Set](), "ht")

	tableBuckets = fieldIndex(reflect.TypeFor[starlark.Dict]().Field(dictTable).Type, "table")
	tableLen     = fieldIndex(reflect.TypeFor[starlark.Dict]().Field(dictTable).Type, "len")
	tableFrozen  = fieldIndex(reflect.TypeFor[starlark.Dict]().Field(dictTable).Type, "frozen")
	tableLocks   = fieldIndex(reflect.TypeFor[starlark.Dict]().Field(dictTable).Type, "itercount")
)

func fieldIndex(t reflect.Type, name string) int {
	f, ok := t.FieldByName(name)
	if !ok {
		panic("vm: " + t.String() + " has no field " + name + ": this version of go.starlark.net is not known")
	}
	return f.Index[0]
}

var (
	errFrozenList    = errors.New("frozen list")
	errIteratedList  = errors.New("list during iteration")
	errFrozenTable   = errors.New("frozen hash table")
	errIteratedTable = errors.New("hash table during iteration")
)

// listMutable tells why a list cannot be changed, in the words that follow "cannot append to".
func listMutable(l *starlark.List) error {
	v := reflect.ValueOf(l).Elem()
	switch {
	case v.Field(listFrozen).Bool():
		return errFrozenList
	case v.Field(listLocks).Uint() > 0:
		return errIteratedList
	}
	return nil
}

// dictMutable tells why a dict cannot be changed.
func dictMutable(d *starlark.Dict) error {
	v := reflect.ValueOf(d).Elem().Field(dictTable)
	switch {
	case v.Field(tableFrozen).Bool():
		return errFrozenTable
	case v.Field(tableLocks).Uint() > 0:
		return errIteratedTable
	}
	return nil
}
