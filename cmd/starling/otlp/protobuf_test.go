package otlp

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
)

// shown is a message as its fields stand in it, read by the official package for the wire.
func shown(t *testing.T, b []byte) string {
	t.Helper()
	var out strings.Builder
	for len(b) > 0 {
		n, kind, size := protowire.ConsumeTag(b)
		if size < 0 {
			return fmt.Sprintf("%q", b)
		}
		b = b[size:]
		if size = protowire.ConsumeFieldValue(n, kind, b); size < 0 {
			t.Fatalf("the value of field %d: %v", n, protowire.ParseError(size))
		}
		switch kind {
		case protowire.VarintType:
			v, _ := protowire.ConsumeVarint(b)
			fmt.Fprintf(&out, "%d=%d ", n, v)
		case protowire.Fixed64Type:
			v, _ := protowire.ConsumeFixed64(b)
			fmt.Fprintf(&out, "%d=%x ", n, v)
		case protowire.BytesType:
			v, _ := protowire.ConsumeBytes(b)
			fmt.Fprintf(&out, "%d=%s ", n, hex.EncodeToString(v))
		default:
			t.Fatalf("field %d has the kind %d", n, kind)
		}
		b = b[size:]
	}
	return strings.TrimSpace(out.String())
}

// TestBinary: the numbers and kinds of fields are those of OTLP's .proto files.
func TestBinary(t *testing.T) {
	empty, n := "", Int(-1)
	for name, c := range map[string]struct {
		document any
		want     string
	}{
		"a span": {&Span{TraceID: "0102", SpanID: "03", Parent: "04", Name: "n", Kind: Client, Start: "16", End: "17", Status: Status{Failed}},
			"1=0102 2=03 4=04 5=6e 6=3 7=10 8=11 15=1802"},
		"a span at the top":       {&Span{TraceID: "0102", SpanID: "03", Name: "n", Start: "16", End: "17"}, "1=0102 2=03 5=6e 7=10 8=11 15="},
		"a text that is empty":    {&Attribute{"k", Value{Text: &empty}}, "1=6b 2=0a00"},
		"a number below 0":        {&Value{Int: &n}, "3=18446744073709551615"},
		"a text that is no UTF-8": {&Scope{Name: "a\xff"}, "1=" + hex.EncodeToString([]byte("a\uFFFD"))},
		"a gauge that is 0":       {&Metric{Name: "m", Gauge: &Gauge{[]Point{{At: "1"}}}}, "1=6d 5=0a12190100000000000000210000000000000000"},
		"a sum":                   {&Sum{Temporality: Cumulative, Monotonic: true, Points: []Point{{Start: "1", At: "2", Value: 1}}}, fmt.Sprintf("1=11%s19%s21%s 2=2 3=1", little(1), little(2), little(math.Float64bits(1)))},
		"a spread": {&Spread{Start: "1", At: "2", Count: "3", Sum: 4, Counts: []string{"1", "2"}, Bounds: []float64{1}},
			fmt.Sprintf("2=1 3=2 4=3 5=%x 6=%s%s 7=%s", math.Float64bits(4), little(1), little(2), little(math.Float64bits(1)))},
		"a request": {&Spans{[]ResourceSpans{{Scopes: []ScopeSpans{{Spans: []Span{{Name: "n", Start: "1", End: "2"}}}}}}}, "1=0a00121b0a0012172a016e39" + little(1) + "41" + little(2) + "7a00"},
	} {
		b, err := Binary(c.document)
		if err != nil {
			t.Fatal(err)
		}
		if got := shown(t, b); got != c.want {
			t.Errorf("%s: got %s, want %s", name, got, c.want)
		}
	}
	if _, err := Binary(&Span{TraceID: "xyz"}); err == nil {
		t.Error("takes an id that is no hexadecimal number")
	}
}

// little is a number of 64 bits as the wire has it.
func little(v uint64) string { return hex.EncodeToString(protowire.AppendFixed64(nil, v)) }

// TestJSON: what is a number of 64 bits is a text there, and an id hexadecimal digits.
func TestJSON(t *testing.T) {
	got, err := json.Marshal(&Span{TraceID: "0102", SpanID: "03", Name: "n", Start: "16", End: "17", Attributes: []Attribute{Whole("k", 1<<60)}})
	const want = `{"traceId":"0102","spanId":"03","name":"n","kind":0,"startTimeUnixNano":"16","endTimeUnixNano":"17","attributes":[{"key":"k","value":{"intValue":"1152921504606846976"}}],"status":{}}`
	if err != nil || string(got) != want {
		t.Errorf("got %s, %v", got, err)
	}
}
