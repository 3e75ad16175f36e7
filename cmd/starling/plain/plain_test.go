package plain

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"unicode"
)

func TestText(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{"Grüße, 世界\n\tx\u00a0y\n", "Grüße, 世界\n\tx\u00a0y\n"},
		{"\x1b[31mred\x1b]0;title\a", "\ufffd[31mred\ufffd]0;title\ufffd"},
		{"paid\rowes", "paid\ufffdowes"},
		{"a\u202eb\u0085c\x7f", "a\ufffdb\ufffdc\ufffd"},
		{"\xff", "\ufffd"},
		{"👩\u200d💻 می\u200cخواهم", "👩\u200d💻 می\u200cخواهم"},
	} {
		var b strings.Builder
		n, err := Output{&b}.Write([]byte(test.text))
		if err != nil || n != len(test.text) || b.String() != test.want {
			t.Errorf("%q: got %q, %d, %v; want %q", test.text, b.String(), n, err, test.want)
		}
	}
}

// Whatever stands in a document, what is written means the same and has no rune without a shape.
func TestJSONMeansTheSame(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	for range 2000 {
		text := make([]rune, random.IntN(40))
		for i := range text {
			most := []int32{0x20, 0x100, 0x2100, unicode.MaxRune}[random.IntN(4)]
			text[i] = random.Int32N(most + 1)
		}
		meant := map[string]any{string(text): []any{string(text), 1.5}}
		var b strings.Builder
		if err := json.NewEncoder(Output{&b}.JSON()).Encode(meant); err != nil {
			t.Fatal(err)
		}
		var read, want map[string]any
		plain, err := json.Marshal(meant)
		if err == nil {
			err = json.Unmarshal(plain, &want)
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal([]byte(b.String()), &read); err != nil || !reflect.DeepEqual(read, want) {
			t.Fatalf("%q was written as %s: %v", string(text), b.String(), err)
		}
		if strings.ContainsFunc(b.String(), func(r rune) bool { return !shaped(r) }) {
			t.Fatalf("%q was written as %q", string(text), b.String())
		}
	}
}

// once takes one write, and no second one.
type once struct{ said strings.Builder }

var errNoRoom = errors.New("no room")

func (o *once) Write(text []byte) (int, error) {
	if o.said.Len() > 0 {
		return 0, errNoRoom
	}
	return o.said.Write(text)
}

// The first error stays, also where the next write would be taken: what is there has no gaps.
func TestSinkRemembersItsFirstError(t *testing.T) {
	to := new(once)
	out := Output{To: &Sink{To: to}}
	fmt.Fprint(out, "one")
	if err := out.Lost(); err != nil {
		t.Errorf("after a write that was taken: %v", err)
	}
	fmt.Fprint(out.JSON(), "two")
	to.said.Reset()
	fmt.Fprint(out.Raw(), "three")
	if err := out.Lost(); !errors.Is(err, errNoRoom) || to.said.Len() > 0 {
		t.Errorf("lost: %v, want %v; written behind it: %q", err, errNoRoom, to.said.String())
	}
	if _, is := out.File(); is {
		t.Error("it is no file")
	}
}
