package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"starling/lang"
	"starling/lang/effect"
	"starling/runtime"
	"starling/stdlib"
)

// hoarders are scripts that keep what they make until their limit of memory ends them.
var hoarders = []struct{ name, script string }{
	{"a list that grows", "x = []\nfor i in forever(): x.append(i)"},
	{"a dict that grows", "x = {}\nfor i in forever(): x[i] = i"},
	{"a text doubled", "x = \"x\"\nfor i in forever(): x = x + x"},
	{"texts", "x = []\nfor i in forever(): x.append(str(i) * 10)"},
	{"parts of texts", "x = []\nfor i in forever(): x.append((\"x\" * 1000 + str(i))[-200:])"},
	{"one character of each text", "x = []\nfor i in range(2000): x.append((\"x\" * 300000 + str(i))[i])\nx = x * 100000"},
}

// TestMemoryLimitBoundsTheProcess: a script that holds as much as it may makes the process take at
// most half as much again as its limit says, beside what the process takes anyway. Where the
// collector gets no processor there can be more garbage for a moment: so one of three owners has to
// keep to it.
func TestMemoryLimitBoundsTheProcess(t *testing.T) {
	const tries = 3
	for try := 1; try <= tries; try++ {
		most, of := hoard(t)
		if most <= 1.5 {
			return
		}
		t.Logf("%s: the process took %.2f times the limit, try %d", of, most, try)
	}
	t.Errorf("each of %d owners took more than 1.5 times the limit", tries)
}

// hoard has an owner carry what holds as much as it may, and gives the most that its process took
// then, in units of the limit.
func hoard(t *testing.T) (most float64, of string) {
	t.Helper()
	const limit = 64 << 20
	s := &store{office: newOffice(t)}
	s.write("starling.toml", fmt.Sprintf("[machine]\nmemory = %d\n", limit))
	s.write("nothing.star", "x = 1")
	s.serve()
	s.cli(0, "run", "nothing.star")
	base := s.status("VmHWM:")
	for _, h := range hoarders {
		s.write("hoard.star", "def main():\n  "+strings.ReplaceAll(h.script, "\n", "\n  ")+"\n")
		s.cli(1, "run", "hoard.star")
		took := float64(s.status("VmHWM:")-base) / limit
		t.Logf("%s: %.2f times the limit", h.name, took)
		if took > most {
			most, of = took, h.name
		}
	}
	return most, of
}

// TestBombsTogether: an owner is given scripts at once that ask for more than they may have, drawn
// from all there are. Each ends by its own limit, though all of them may hold much less at once;
// other runs go on meanwhile; and the process takes at most half as much again as all may hold, and
// the one beside them that may go on in any case. One of three owners has to keep to that, as
// above.
func TestBombsTogether(t *testing.T) {
	const tries = 3
	for try := 1; try <= tries; try++ {
		took := explode(t)
		if took <= 1.5 {
			return
		}
		t.Logf("the process took %.2f times what all might hold, try %d", took, try)
	}
	t.Errorf("each of %d owners took more than 1.5 times what all might hold", tries)
}

// explode has an owner carry bombs, and gives the most that its process took, in units of what they
// may hold.
func explode(t *testing.T) (took float64) {
	t.Helper()
	const each, together, most = 16 << 20, 112 << 20, 40
	files, err := filepath.Glob("../../../testdata/bombs/*.star")
	if err != nil || len(files) < 63 {
		t.Fatalf("%d bombs are there: %v", len(files), err)
	}
	r := drawn(t)
	r.Shuffle(len(files), func(i, j int) { files[i], files[j] = files[j], files[i] })
	if !*everyCommit {
		files = files[:most]
	}
	s := &store{office: newOffice(t)}
	s.write("starling.toml", fmt.Sprintf("[owner]\nmemory = %d\n", together))
	s.serve()
	defer s.kill()
	limits := effect.Settings{Workspace: s.dir, MaxMemory: each, MaxSteps: 5_000_000}
	meanwhile := func() {
		run := s.startOne("def main(): return gate(\"g\", options = [\"yes\"]).choice\n", limits)
		if _, err := s.client.Signal(t.Context(), runtime.Signal{Kind: runtime.SignalAnswer, Run: run, Gate: "g", Choice: "yes"}); err != nil {
			t.Error(err)
		}
		s.decidedOnce(run, `"yes"`)
	}
	meanwhile()
	base := s.status("VmHWM:")

	next, ended := make(chan string, len(files)), make(chan struct{})
	for _, file := range files {
		next <- file
	}
	close(next)
	var bombs sync.WaitGroup
	for range 16 {
		bombs.Go(func() {
			for file := range next {
				s.explodes(file, limits)
			}
		})
	}
	go func() {
		bombs.Wait()
		close(ended)
	}()
	others := 0
	for over := false; !over; {
		meanwhile()
		select {
		case <-ended:
			over = true
		default:
			others++
		}
	}
	took = float64(s.status("VmHWM:")-base) / (together + each)
	t.Logf("%d bombs; %d other runs went on meanwhile; the process took %.2f times what all might hold", len(files), others, took)
	if others < 5 {
		t.Errorf("%d other runs went on while %d bombs ran", others, len(files))
	}
	return took
}

// explodes starts a bomb and wants it to end by the limit that its first line tells.
func (s *store) explodes(file string, limits effect.Settings) {
	text, err := os.ReadFile(file)
	if err != nil {
		s.t.Error(err)
		return
	}
	want, _, _ := strings.Cut(strings.TrimPrefix(string(text), "# ends: "), "\n")
	run := s.startOne(string(text), limits)
	err = s.client.Watch(s.t.Context(), runtime.WatchRequest{Run: run, Follow: true}, func(runtime.Event) error { return nil })
	r, lost := s.client.Get(s.t.Context(), run)
	switch {
	case err != nil || lost != nil:
		s.t.Errorf("%s: %v, %v", file, err, lost)
	case r.Status != runtime.Failed || r.Error == nil || !regexp.MustCompile(want).MatchString(r.Error.Message):
		s.t.Errorf("%s is %s with %+v; want an error with %q", file, r.Status, r.Error, want)
	}
}

// startOne starts a run.
func (s *store) startOne(script string, settings effect.Settings) string {
	b, err := lang.Read("main.star", func(string) ([]byte, error) { return []byte(script), nil }, stdlib.Library)
	if err != nil {
		s.t.Error(err)
		return ""
	}
	run, err := s.client.Start(s.t.Context(), runtime.StartRequest{Bundle: b.Encode(), Script: "main.star", Settings: settings})
	if err != nil {
		s.t.Error(err)
		return ""
	}
	return run.ID
}
