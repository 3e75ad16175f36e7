package postgres

import (
	"encoding/hex"
	"errors"
	"testing"
)

// The forms are what PostgreSQL 15 gives: select encode(array_send(array[1::bigint, -2]), 'hex').
func TestForms(t *testing.T) {
	for _, test := range []struct {
		arg  any
		of   uint32
		want string
	}{
		{[]byte{0xff, 0xfe}, typeBytes, "fffe"},
		{"é", typeText, "c3a9"},
		{-2, typeNumber, "fffffffffffffffe"},
		{int64(-2), typeNumber, "fffffffffffffffe"},
		{uint64(1 << 40), typeNumber, "0000010000000000"},
		{[][]byte{{1}, nil, {}, {0xff, 0xfe}}, typeListOfBytes, "00000001000000010000001100000004000000010000000101ffffffff0000000000000002fffe"},
		{[]int64{1, -2}, typeListOfNumbers, "000000010000000000000014000000020000000100000008000000000000000100000008fffffffffffffffe"},
		{[][]byte(nil), typeListOfBytes, "000000000000000000000011"},
	} {
		value, of := encode(test.arg)
		if got := hex.EncodeToString(value); got != test.want || of != test.of {
			t.Errorf("%T %v: got %s of type %d, want %s of %d", test.arg, test.arg, got, of, test.want, test.of)
		}
	}
	if value, _ := encode([]byte(nil)); value != nil {
		t.Errorf("a nil []byte is %x, want NULL", value)
	}
}

// A column is read as what it is, and nothing else is made of it.
func TestColumns(t *testing.T) {
	var n int64
	var u uint64
	var text string
	var b []byte
	column := []byte{0xff, 0xff, 0xff, 0xfe}
	for _, err := range []error{decode(column, &n), decode([]byte{0, 0, 1, 0, 0, 0, 0, 0}, &u), decode([]byte("text"), &text), decode(column, &b)} {
		if err != nil {
			t.Error(err)
		}
	}
	column[0] = 0 // the connection reads the next row into it
	if n != -2 || u != 1<<40 || text != "text" || hex.EncodeToString(b) != "fffffffe" {
		t.Errorf("got %d, %d, %q, %x", n, u, text, b)
	}
	if err := decode(nil, &b); err != nil || b != nil {
		t.Errorf("NULL is %x, %v", b, err)
	}
	for _, err := range []error{decode(nil, &n), decode(nil, &text), decode([]byte("17"), &n)} {
		if !errors.Is(err, errShape) {
			t.Errorf("got %v, want %v", err, errShape)
		}
	}
}
