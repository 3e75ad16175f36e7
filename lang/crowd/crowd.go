// Package crowd tells how much work a hash table has with its keys. go.starlark.net hashes ints and
// floats by their low 32 bits, short texts by a fixed function, tuples by their parts and functions
// by their names; so whoever writes a script, or a text that one decodes, can choose keys that all
// lie in one place, and n of them cost n*n looks. What is told is the same in every process and for
// every order in which a table came to be what it is: machines charge steps for it.
//
// Texts of 12 bytes and more are hashed with a secret of the process. They spread, and cost
// nothing.
package crowd

import (
	"iter"
	"math/bits"
	"strconv"

	"go.starlark.net/starlark"
)

// Free is how many keys may lie in one place at no cost. Keys that nobody has chosen never are so
// many.
const Free = 64

// What each further one costs whoever looks there, in steps: one that only lies in the same place
// is passed by, one with the same hash is compared.
const (
	Passed   = 1
	Compared = 8
)

// Kind tells what a table does with a key.
type Kind uint8

// The kinds.
const (
	Spread Kind = iota // its hash is a secret of the process
	Fixed              // its hash is its class, in every process
	Twins              // those of one class have one hash, which is a secret of the process
)

// Class puts keys together that a table cannot tell apart by their hashes.
func Class(k starlark.Value) (uint32, Kind) {
	switch k := k.(type) {
	case starlark.String:
		return ofText(string(k), k)
	case starlark.Bytes:
		return ofText(string(k), k)
	case starlark.Int, starlark.Float, starlark.Bool, starlark.NoneType:
		h, _ := k.Hash() // of these each has one
		return h, Fixed
	case starlark.Tuple:
		return ofTuple(k)
	}
	if _, named := k.(starlark.Callable); named {
		return fnv(k.String()), Twins
	}
	return fnv(k.Type()), Twins
}

// secretLength is the length of texts from which go.starlark.net hashes them with a secret.
const secretLength = 12

func ofText(s string, k starlark.Value) (uint32, Kind) {
	if len(s) >= secretLength {
		return 0, Spread
	}
	h, _ := k.Hash()
	return h, Fixed
}

// ofTuple puts classes together as go.starlark.net does hashes.
func ofTuple(t starlark.Tuple) (uint32, Kind) {
	kind := Fixed
	var x, mult uint32 = 0x345678, 1000003
	for _, elem := range t {
		class, of := Class(elem)
		if of == Spread {
			s, text := starlark.AsString(elem)
			if !text {
				s = string(elem.(starlark.Bytes))
			}
			class = fnv(s)
		}
		if of != Fixed {
			kind = Twins
		}
		x = x ^ class*mult
		mult += 82520 + uint32(len(t)+len(t))
	}
	return x, kind
}

func fnv(s string) uint32 {
	h := uint32(2166136261)
	for i := range len(s) {
		h = (h ^ uint32(s[i])) * 16777619
	}
	return h
}

// Places is how many places a table of n entries has that nothing was ever taken from.
func Places(n int) int {
	if n <= 8 {
		return 1
	}
	return 1 << bits.Len(uint(2*(n-1)/13)) // the least with n-1 < 6.5 * places
}

// Cost is what a table costs, in steps, that is made of n keys; 0 for keys that nobody has chosen.
func Cost(n int, keys iter.Seq[starlark.Value]) int64 {
	if n <= Free {
		return 0
	}
	places, alike := make([]uint32, Places(n)), map[uint32]uint32{}
	cost := int64(0)
	for k := range keys {
		class, kind := Class(k)
		switch kind {
		case Fixed:
			at := &places[class&uint32(len(places)-1)]
			if *at++; *at > Free {
				cost += Passed*int64(*at-Free) + (Compared-Passed)*int64(alike[class])
				alike[class]++
			}
		case Twins:
			if alike[class]++; alike[class] > Free {
				cost += Compared * int64(alike[class]-Free)
			}
		}
	}
	return cost
}

// most bounds the cost of one table that is made of a text or written as one: about a second of
// work.
const most = 10_000_000

// Check refuses n keys of a text that would lie in one table, if they were chosen to collide: an
// *[Error].
func Check(n int, keys iter.Seq[starlark.Value]) error {
	if Cost(n, keys) > most {
		return &Error{n}
	}
	return nil
}

// Error says that the keys of a table collide.
type Error struct{ Keys int }

func (e *Error) Error() string {
	return strconv.Itoa(e.Keys) + " keys of one dict were chosen so that finding each means passing the others"
}
