package effect_test

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"math"
	"math/big"
	goruntime "runtime"
	"strings"
	"testing"

	"go.starlark.net/starlark"

	"starling/lang/contract"
	"starling/lang/effect"
	"starling/lang/langtest"
)

// dict makes a dict of alternating keys and values, in order.
func dict(kv ...any) *starlark.Dict {
	d := new(starlark.Dict)
	for i := 0; i < len(kv); i += 2 {
		if err := d.SetKey(starlark.String(kv[i].(string)), kv[i+1].(starlark.Value)); err != nil {
			panic(err)
		}
	}
	return d
}

func list(vs ...starlark.Value) *starlark.List { return starlark.NewList(vs) }

func big2(exponent uint, sign int) starlark.Int {
	n := new(big.Int).Lsh(big.NewInt(1), exponent)
	return starlark.MakeBigInt(n.Mul(n, big.NewInt(int64(sign))))
}

func mustContract(t testing.TB, text string) *contract.Contract {
	t.Helper()
	c, err := contract.Parse("contract", text)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// The bytes are the wire format: a line that changes here breaks every journal that was ever
// written.
func TestBytesOfValues(t *testing.T) {
	for _, c := range []struct {
		value starlark.Value
		want  string // hex
	}{
		{starlark.None, "00"},
		{starlark.False, "01"},
		{starlark.True, "02"},
		{starlark.MakeInt(0), "0300"},
		{starlark.MakeInt(-1), "0301"},
		{starlark.MakeInt(300), "03d804"},
		{starlark.MakeInt64(math.MaxInt64), "03feffffffffffffffff01"},
		{starlark.MakeInt64(math.MinInt64), "03ffffffffffffffffff01"},
		{starlark.MakeUint64(1 << 63), "0400088000000000000000"},
		{big2(64, -1), "040109010000000000000000"},
		{starlark.Float(0), "050000000000000000"},
		{starlark.Float(math.Copysign(0, -1)), "058000000000000000"},
		{starlark.Float(1.5), "053ff8000000000000"},
		{starlark.String(""), "0600"},
		{starlark.String("é\x00\xff"), "0604c3a900ff"},
		{starlark.Bytes("ab"), "07026162"},
		{list(), "0800"},
		{list(starlark.None, list(starlark.True)), "080200080102"},
		{dict(), "0900"},
		{dict("b", starlark.MakeInt(1), "a", dict("", starlark.None)), "09020162030201610901" + "0000"},
		{&effect.Secret{Name: "key"}, "0b036b657900"},
		{&effect.Secret{Name: "key", Wrap: "Bearer {}"}, "0b036b657909426561726572207b7d"},
		{effect.NewRecord(effect.VerdictType, starlark.String("stop"), starlark.None), "0c07020604" + hex.EncodeToString([]byte("stop")) + "00"},
	} {
		p, err := effect.Encode(c.value)
		if err != nil {
			t.Errorf("%s: %v", c.value, err)
			continue
		}
		if got := hex.EncodeToString(p); got != c.want {
			t.Errorf("%s: got %s, want %s", c.value, got, c.want)
		}
		checkRoundTrip(t, p)
	}
}

// checkRoundTrip decodes and encodes again: the bytes must be the same.
func checkRoundTrip(t testing.TB, p effect.Payload) {
	t.Helper()
	v, err := p.Value()
	if err != nil {
		t.Errorf("%x: %v", []byte(p), err)
		return
	}
	again, err := effect.EncodeOutput(v)
	if err != nil {
		t.Errorf("%x: encoding again: %v", []byte(p), err)
		return
	}
	if !bytes.Equal(p, again) {
		t.Errorf("%x: encoded again as %x", []byte(p), []byte(again))
	}
}

func TestContractCrossesAsItsText(t *testing.T) {
	c := mustContract(t, "{ n :int }")
	p, err := effect.Encode(list(c))
	if err != nil {
		t.Fatal(err)
	}
	v, err := p.Value()
	if err != nil {
		t.Fatal(err)
	}
	back, ok := v.(*starlark.List).Index(0).(*contract.Contract)
	if !ok || back.String() != c.String() {
		t.Errorf("got %v, want %v", v, c)
	}
	checkRoundTrip(t, p)
}

func TestRecordsCross(t *testing.T) {
	for _, typ := range effect.RecordTypes() {
		fields := make([]starlark.Value, len(typ.Fields))
		for i, name := range typ.Fields {
			fields[i] = starlark.String(name)
		}
		r := effect.NewRecord(typ, fields...)
		p, err := effect.Encode(r)
		if err != nil {
			t.Fatal(err)
		}
		v, err := p.Value()
		if err != nil {
			t.Fatal(err)
		}
		if same, err := starlark.Equal(r, v); err != nil || !same {
			t.Errorf("%s: got %v back (%v)", typ.Name, v, err)
		}
	}
}

// A record written before its type had its last fields reads with None in their place.
func TestShorterRecordReads(t *testing.T) {
	v, err := effect.Payload([]byte{0x0c, 0x07, 1, 0x06, 4, 's', 't', 'o', 'p'}).Value()
	if err != nil {
		t.Fatal(err)
	}
	if got, want := v.String(), `Verdict(action = "stop", message = None)`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestTupleCrossesAsList(t *testing.T) {
	tuple := effect.MustEncode(starlark.Tuple{starlark.MakeInt(1), starlark.Tuple{}})
	if want := effect.MustEncode(list(starlark.MakeInt(1), list())); !bytes.Equal(tuple, want) {
		t.Errorf("got %x, want %x", []byte(tuple), []byte(want))
	}
}

func TestDecodedValueIsFresh(t *testing.T) {
	frozen := list(dict("a", list()))
	frozen.Freeze()
	v, err := effect.MustEncode(frozen).Value()
	if err != nil {
		t.Fatal(err)
	}
	if err := v.(*starlark.List).Append(starlark.None); err != nil {
		t.Errorf("what comes back is frozen: %v", err)
	}
	inner, _, _ := v.(*starlark.List).Index(0).(*starlark.Dict).Get(starlark.String("a"))
	if err := inner.(*starlark.List).Append(starlark.None); err != nil {
		t.Errorf("a child of what comes back is frozen: %v", err)
	}
}

func TestWhatCannotCross(t *testing.T) {
	cyclic := list()
	if err := cyclic.Append(dict("again", cyclic)); err != nil {
		t.Fatal(err)
	}
	intKey := new(starlark.Dict)
	if err := intKey.SetKey(starlark.MakeInt(1), starlark.None); err != nil {
		t.Fatal(err)
	}
	crowded := new(starlark.Dict)
	for _, key := range langtest.Colliding(5000) {
		if err := crowded.SetKey(starlark.String(key), starlark.None); err != nil {
			t.Fatal(err)
		}
	}
	set := new(starlark.Set)
	function := starlark.NewBuiltin("f", nil)
	for _, c := range []struct {
		value starlark.Value
		want  string
	}{
		{function, "a builtin_function_or_method cannot leave the script"},
		{list(starlark.None, function), "[1]: a builtin_function_or_method cannot leave the script"},
		{dict("items", list(dict("f", function))), "items[0].f: a builtin_function_or_method cannot leave the script"},
		{dict("tags", set), "tags: a set cannot leave the script; pass a list of its elements"},
		{dict("x", starlark.Float(math.NaN())), "x: NaN cannot leave the script"},
		{list(starlark.Float(math.Inf(-1))), "[0]: -Inf cannot leave the script"},
		{dict("", intKey), ": dict keys must be strings, got int 1"},
		{list(crowded), "[0]: 5000 keys of one dict were chosen so that finding each means passing the others"},
		{cyclic, "the value is nested deeper than 200 levels (or contains itself)"},
		{effect.NewRecord(effect.OutcomeType, starlark.True, starlark.None, function, starlark.None),
			"value: a builtin_function_or_method cannot leave the script"},
		{starlark.String(strings.Repeat("x", effect.MaxPayload)), "the value is larger than 1048576 bytes"},
		{list(starlark.String(strings.Repeat("x", effect.MaxPayload/2)), starlark.Bytes(strings.Repeat("x", effect.MaxPayload/2))),
			"the value is larger than 1048576 bytes"},
		{dict(strings.Repeat("x", effect.MaxPayload), starlark.None), "the value is larger than 1048576 bytes"},
	} {
		_, err := effect.Encode(c.value)
		if err == nil || err.Error() != c.want {
			t.Errorf("got error %v, want %s", err, c.want)
		}
	}
}

func TestDepthLimitIsTheSameBothWays(t *testing.T) {
	deepest := starlark.Value(starlark.None)
	for range effect.MaxDepth {
		deepest = list(deepest)
	}
	p, err := effect.Encode(deepest)
	if err != nil {
		t.Fatal(err)
	}
	checkRoundTrip(t, p)
	if _, err := effect.Encode(list(deepest)); err == nil {
		t.Error("one level more was encoded")
	}
	if _, err := append(effect.Payload{0x08, 1}, p...).Value(); err == nil {
		t.Error("one level more was decoded")
	}
}

func TestOutputMayBeLarger(t *testing.T) {
	large := starlark.String(strings.Repeat("x", effect.MaxPayload))
	p, err := effect.EncodeOutput(large)
	if err != nil {
		t.Fatal(err)
	}
	checkRoundTrip(t, p)
	_, err = effect.EncodeOutput(starlark.String(strings.Repeat("x", effect.MaxOutput)))
	if err == nil || err.Error() != "the value is larger than 16777216 bytes" {
		t.Errorf("got error %v", err)
	}
}

func TestNilPayloadIsNone(t *testing.T) {
	v, err := effect.Payload(nil).Value()
	if err != nil || v != starlark.None {
		t.Errorf("got %v, %v", v, err)
	}
}

// Only one spelling of each value is read: what was hashed or compared by bytes cannot differ by
// spelling.
func TestMalformedPayloads(t *testing.T) {
	for _, c := range []struct{ bytes, want string }{
		{"0d", "payload byte 1: unknown tag 0xd"},
		{"0000", "payload byte 1: 1 bytes too many"},
		{"03", "payload byte 1: malformed int"},
		{"038000", "payload byte 1: malformed int"},
		{"038080808080808080808001", "payload byte 1: malformed int"},
		{"0400" + "0101", "payload byte 4: malformed big int"},                    // fits an int
		{"0402" + "09010000000000000000", "payload byte 12: malformed big int"},   // a third sign
		{"0400" + "0a00010000000000000000", "payload byte 13: malformed big int"}, // a leading zero
		{"0400" + "00", "payload byte 3: malformed big int"},                      // no digits
		{"05000000", "payload byte 1: ends inside a float"},
		{"057ff8000000000000", "payload byte 9: a float that is not finite"},
		{"057ff0000000000000", "payload byte 9: a float that is not finite"},
		{"0605616263", "payload byte 2: length 5 exceeds the 3 bytes left"},
		{"06810061", "payload byte 1: malformed length"},
		{"06ffffffffffffffffff01", "payload byte 11: length 18446744073709551615 exceeds the 0 bytes left"},
		{"0802", "payload byte 2: length 2 exceeds the 0 bytes left"},
		{"080100" + "00", "payload byte 3: 1 bytes too many"},
		{"0802" + "0802" + "0000", "payload byte 6: ends too early"},
		{"0805" + "0803" + "080100", "payload byte 4: 8 elements claimed by 7 bytes"},
		{"0902" + "016100" + "016100", "payload byte 8: a dict has a key twice"},
		{"0a0121", ""}, // the message is the contract parser's
		{"0b0161", "payload byte 3: malformed length"},
		{"0cff00", "payload byte 2: unknown record type 255"},
		{"0c07" + "03000000", "payload byte 6: Verdict with 3 fields, this build knows 2"},
		{"0c", "payload byte 1: ends too early"},
	} {
		raw, err := hex.DecodeString(c.bytes)
		if err != nil {
			t.Fatal(err)
		}
		v, err := effect.Payload(raw).Value()
		if err == nil || c.want != "" && err.Error() != c.want {
			t.Errorf("%s: got %v, error %v, want %s", c.bytes, v, err, c.want)
		}
	}
}

// Counts are claims: nested ones must not add up to more than the input pays for.
// TestCollidingKeysAreNotRead: what Encode refuses is not read from elsewhere either.
func TestCollidingKeysAreNotRead(t *testing.T) {
	keys := langtest.Colliding(5000)
	p := append(effect.Payload{0x09}, binary.AppendUvarint(nil, uint64(len(keys)))...)
	for _, key := range keys {
		p = append(append(append(p, byte(len(key))), key...), 0)
	}
	if v, err := p.Value(); err == nil || !strings.Contains(err.Error(), "were chosen so that") {
		t.Errorf("got %v, %v", v, err)
	}
}

func TestHostileCountsAllocateLittle(t *testing.T) {
	const size = 64 << 10
	hostile := make(effect.Payload, 0, size)
	for range effect.MaxDepth { // each level claims all that is left
		left := uint64(size - len(hostile) - 4)
		hostile = append(hostile, 0x09, byte(left)|0x80, byte(left>>7)|0x80, byte(left>>14), 0)
	}
	hostile = append(hostile, make([]byte, size-len(hostile))...)
	var before, after goruntime.MemStats
	goruntime.ReadMemStats(&before)
	_, err := hostile.Value()
	goruntime.ReadMemStats(&after)
	if err == nil {
		t.Fatal("decoded")
	}
	if spent := after.TotalAlloc - before.TotalAlloc; spent > 256*size {
		t.Errorf("decoding %d hostile bytes allocated %d", size, spent)
	}
}

func FuzzDecode(f *testing.F) {
	for _, seed := range []string{"00", "03d804", "040109010000000000000000", "0604c3a900ff", "080200080102", "0902016203020161090000",
		"0a03696e74", "0b036b657900", "0c070206047374" + "6f7000", "0803080300"} {
		raw, err := hex.DecodeString(seed)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		v, err := effect.Payload(raw).Value()
		if err != nil {
			return
		}
		p, err := effect.EncodeOutput(v)
		if err != nil {
			t.Fatalf("decoded %s, which cannot be encoded: %v", v, err)
		}
		// The two kinds with later knowledge may grow: a contract's canonical text, a record's new
		// fields. Everything else has one spelling.
		if !bytes.Equal(p, raw) && !bytes.ContainsAny(raw, "\x0a\x0c") && len(raw) > 0 {
			t.Fatalf("%x was decoded and encoded as %x", raw, []byte(p))
		}
		checkRoundTrip(t, p)
	})
}
