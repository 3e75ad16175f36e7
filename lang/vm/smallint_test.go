package vm

import (
	"fmt"
	"math"
	"math/big"
	"testing"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"starling/lang/compile"
)

var edges = []int64{0, 1, -1, 2, -2, 7, -7, 1000, math.MaxInt32, math.MaxInt32 - 1, math.MinInt32, math.MinInt32 + 1, math.MaxInt32 + 1, math.MinInt32 - 1,
	math.MaxInt64, math.MinInt64}

// TestSmallInts: the numbers of 32 bits are known, those alone, and what makeInt makes is what
// go.starlark.net makes.
func TestSmallInts(t *testing.T) {
	if smallInts.size == 0 {
		t.Log("this platform represents ints in another way: all are computed with by go.starlark.net")
	}
	for _, n := range edges {
		x := starlark.MakeInt64(n)
		got, ok := small(x)
		if want := smallInts.size > 0 && n == int64(int32(n)); ok != want || ok && got != n {
			t.Errorf("small(%d) = %d, %v; want %v", n, got, ok, want)
		}
		if y := makeInt(n); starlark.Value(y).String() != x.String() || y.BigInt().Cmp(big.NewInt(n)) != 0 {
			t.Errorf("makeInt(%d) = %v", n, y)
		}
	}
	if _, ok := small(starlark.MakeBigInt(new(big.Int).Lsh(big.NewInt(1), 100))); ok {
		t.Error("2^100 is taken for a small int")
	}
	for _, v := range []starlark.Value{nil, starlark.None, starlark.True, starlark.Float(1), starlark.String("1")} {
		if _, ok := small(v); ok {
			t.Errorf("%v is taken for an int", v)
		}
	}
}

// TestIntArithmetic: every operator gives what go.starlark.net gives, whether small ints are known
// or not.
func TestIntArithmetic(t *testing.T) {
	known := smallInts
	defer func() { smallInts = known }()
	for _, r := range []region{known, {}} {
		smallInts = r
		for _, a := range edges {
			for _, b := range edges {
				sameArithmetic(t, starlark.MakeInt64(a), starlark.MakeInt64(b))
			}
		}
	}
}

func sameArithmetic(t *testing.T, x, y starlark.Value) {
	t.Helper()
	m := newMachine(nil)
	for op, do := range map[syntax.Token]func(x, y starlark.Value) (starlark.Value, error){
		syntax.PLUS: m.add, syntax.MINUS: m.subtract, syntax.STAR: m.multiply, syntax.PERCENT: m.modulo, syntax.SLASHSLASH: m.floorDivide, syntax.PLUS_EQ: m.addTo,
	} {
		token := op
		if op == syntax.PLUS_EQ {
			token = syntax.PLUS
		}
		want, wantErr := starlark.Binary(token, x, y)
		got, err := do(x, y)
		if fmt.Sprint(got, err) != fmt.Sprint(want, wantErr) {
			t.Errorf("%v %v %v = %v, %v; want %v, %v", x, op, y, got, err, want, wantErr)
		}
	}
	for _, op := range []compile.Op{compile.Less, compile.LessEqual, compile.Greater, compile.GreaterEqual} {
		want, _ := starlark.Compare(orderToken[op], x, y)
		if got, err := m.order(op, x, y); got != want || err != nil {
			t.Errorf("%v %v %v = %v, %v; want %v", x, op, y, got, err, want)
		}
	}
	want, _ := starlark.Compare(syntax.EQL, x, y)
	if got, err := m.equal(x, y); got != want || err != nil {
		t.Errorf("%v == %v is %v, %v; want %v", x, y, got, err, want)
	}
}
