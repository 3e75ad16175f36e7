package engine

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"starling/lang"
	"starling/lang/effect"
	"starling/runtime/run"
)

// source is the bundle of a script that is unlike all others by its number.
func source(t *testing.T, n int) func() ([]byte, error) {
	t.Helper()
	text := fmt.Sprintf("def main():\n    return %d\n", n)
	b, err := lang.Read("n.star", func(string) ([]byte, error) { return []byte(text), nil }, nil)
	if err != nil {
		t.Fatal(err)
	}
	return func() ([]byte, error) { return b.Encode(), nil }
}

// Of many who ask at once one reads, and all get the same; one who waits for its bundle holds up
// nobody who asks for another.
func TestProgramsAreMadeOnceAndApart(t *testing.T) {
	p := programs{env: &effect.Environment{}}
	var reads atomic.Int32
	begun, goOn := make(chan struct{}), make(chan struct{})
	slow := func() ([]byte, error) {
		if reads.Add(1) == 1 {
			close(begun)
		}
		<-goOn
		return source(t, 1)()
	}
	var all sync.WaitGroup
	var got [20]*run.Program
	for i := range got {
		all.Go(func() { got[i], _ = p.of("slow", slow) })
	}
	<-begun
	if other, err := p.of("other", source(t, 2)); other == nil || err != nil {
		t.Errorf("another program, meanwhile: %v, %v", other, err)
	}
	close(goOn)
	all.Wait()
	for _, made := range got {
		if made == nil || made != got[0] {
			t.Fatalf("one got %p, another %p", got[0], made)
		}
	}
	if n := reads.Load(); n != 1 {
		t.Errorf("the bundle was read %d times", n)
	}
}

func TestProgramsForgetTheOneNotAskedForLongest(t *testing.T) {
	p := programs{env: &effect.Environment{}}
	read := map[int]int{}
	ask := func(n int) {
		made, err := p.of(fmt.Sprint(n), func() ([]byte, error) { read[n]++; return source(t, n)() })
		if made == nil || err != nil {
			t.Fatal(err)
		}
	}
	for n := range maxRecent {
		ask(n)
	}
	ask(0)
	ask(maxRecent) // 1 is the oldest now
	ask(0)
	ask(2)
	ask(1)
	if read[0] != 1 || read[1] != 2 || read[2] != 1 || len(p.made.made) != maxRecent {
		t.Errorf("0 was read %d times, 1 %d and 2 %d; %d are kept", read[0], read[1], read[2], len(p.made.made))
	}
}

func TestProgramsTryAgainWhatFailed(t *testing.T) {
	p := programs{env: &effect.Environment{}}
	broken := errors.New("broken")
	if _, err := p.of("x", func() ([]byte, error) { return nil, broken }); err != broken {
		t.Errorf("got %v", err)
	}
	func() {
		defer func() {
			if text := fmt.Sprint(recover()); !strings.Contains(text, "boom") {
				t.Errorf("recovered %s", text)
			}
		}()
		p.of("x", func() ([]byte, error) { panic("boom") })
	}()
	if made, err := p.of("x", source(t, 1)); made == nil || err != nil {
		t.Errorf("the third time: %v, %v", made, err)
	}
}
