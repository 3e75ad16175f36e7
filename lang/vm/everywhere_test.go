package vm_test

import (
	"bytes"
	"flag"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.starlark.net/syntax"

	"starling/lang/effect"
	"starling/lang/vm"
)

var (
	everywhere = flag.Bool("everywhere", false, "TestEverywhere saves before every instruction, not before some")
	seed       = flag.Uint64("seed", 0, "of the places where TestEverywhere saves; 0 takes one from the clock")
)

// TestEverywhere saves machines where they never rest: before an instruction it is written down,
// read back into a fresh machine, which must be written down to the same bytes, and goes on from
// there. Whatever a program can be seen to do (results, globals, output, errors with their
// positions, steps) must be what it does when nobody stops it, in code without breaks.
//
// It stops at random places of each program, drawn with a seed that it prints; they lie the farther
// apart the longer the program runs and the more it holds. Before every instruction of every
// program, and before every n-th where the machine takes n times 64 KB, so that a state that grows
// does not take quadratic time:
//
//	go test ./lang/vm -run Everywhere -everywhere -timeout 6h
func TestEverywhere(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine, for long: the gate plays it without the race detector")
	}
	if *seed == 0 {
		*seed = uint64(time.Now().UnixNano())
	}
	all := &saver{nested: map[string]int{}}
	for _, e := range exhibits(t) {
		t.Run(e.name, func(t *testing.T) {
			want := e.play(t, nil)
			if strings.Contains(want, "reported:") {
				t.Errorf("it fails when nobody stops it:\n%s", want)
			}
			s := &saver{rng: rand.New(rand.NewPCG(*seed, uint64(crc32.ChecksumIEEE([]byte(e.name))))), nested: map[string]int{}}
			begin := time.Now()
			if got := e.play(t, s); got != want {
				t.Errorf("-seed %d: stopped on the way it goes\n%s\nwant\n%s", *seed, got, want)
			}
			if *everywhere {
				t.Logf("%d snapshots, %d bytes on average, %v", s.stops, s.bytes/max(1, s.stops), time.Since(begin).Round(time.Millisecond))
			}
			all.add(s)
		})
	}
	t.Logf("-seed %d: %d snapshots; instructions inside Go functions that call back, where nothing can stop: %v", *seed, all.stops, all.nested)
	for name := range all.nested {
		if !slices.Contains(callBack, name) {
			t.Errorf("nothing could stop inside %s, which should be able to wait", name)
		}
	}
}

// callBack are the Go functions that call a script's function before they return, in these
// programs. None is part of the product: its own natives that do so are frames.
var callBack = []string{"apply"}

// large is the size from which snapshots are taken more rarely, in bytes.
const large = 64 << 10

// saver stops machines and replaces them by what their bytes say. A nil saver lets them be.
type saver struct {
	rng    *rand.Rand
	forced bool // the slice in progress ends because it was stopped

	passed, next, stops, bytes int            // instructions so far, and that of the next stop
	size                       int            // of the newest snapshot
	nested                     map[string]int // instructions passed inside Go functions that call back
}

func (s *saver) add(o *saver) {
	s.stops += o.stops
	for name, n := range o.nested {
		s.nested[name] += n
	}
}

// watch has the machine stopped.
func (s *saver) watch(m *vm.Machine) {
	if s == nil {
		return
	}
	m.StopBefore(func(nested string) bool {
		if nested != "" {
			s.nested[nested]++
			return false
		}
		s.passed++
		if s.forced = s.passed > s.next; !s.forced {
			return false
		}
		if s.next = s.passed + s.size/large; !*everywhere {
			s.next = s.passed + s.rng.IntN(1+s.passed/8*(1+s.size/large))
		}
		return s.forced
	})
}

// renew takes the place of a machine that has yielded: its copy, if it was stopped for that.
// yielded says that the machine itself wanted to.
func (s *saver) renew(t *testing.T, img *vm.Image, m *vm.Machine, limits vm.Limits) (next *vm.Machine, yielded bool) {
	if s == nil || !s.forced {
		return m, true
	}
	s.forced = false
	b, err := m.ExactSnapshot(snapshotKey)
	if err != nil {
		t.Fatal(err)
	}
	next, err = img.Restore(b, snapshotKey)
	if err != nil {
		t.Fatal(err)
	}
	next.SetLimits(limits)
	if c, err := next.ExactSnapshot(snapshotKey); err != nil || !bytes.Equal(b, c) {
		t.Fatalf("the copy is written down otherwise: %v\n% x\n% x", err, b, c)
	}
	s.watch(next)
	s.stops, s.bytes, s.size = s.stops+1, s.bytes+len(b), len(b)
	return next, false
}

// exhibit is something that can be played, and what can be seen of it.
type exhibit struct {
	name string
	play func(t *testing.T, s *saver) string
}

// exhibits are the reference's tests of the language and our own, the workloads that are measured,
// and the transcripts of machines, among which are the scripts worth copying.
func exhibits(t *testing.T) []exhibit {
	var list []exhibit
	dir := referenceDir(t)
	plain, broken := everywhereLibrary(t, dir, false), everywhereLibrary(t, dir, true)
	of := func(s *saver) *testLibrary {
		if s == nil {
			return plain
		}
		return broken
	}
	add := func(kind string, c chunk, opts syntax.FileOptions) {
		name := fmt.Sprintf("%s/%s:%d", kind, filepath.Base(c.file), c.line)
		list = append(list, exhibit{name, func(t *testing.T, s *saver) string { return of(s).play(t, c.file, c.text, opts, s) }})
	}
	for _, name := range conformanceFiles {
		for _, c := range readChunks(t, filepath.Join(dir, "starlark", "testdata", name+".star")) {
			add("conformance", c, c.options())
		}
	}
	for _, file := range glob(t, "../../testdata/lang/*.star") {
		for _, c := range readChunks(t, file) {
			add("lang", c, product)
		}
	}
	for _, w := range workloads {
		add("workload", chunk{file: w.name, text: `load("json.star", "json")` + w.text + "result = run()\n"}, product)
	}
	for _, file := range glob(t, "../../testdata/machine/*.txt") {
		list = append(list, exhibit{"machine/" + filepath.Base(file), func(t *testing.T, s *saver) string { return playAll(t, file, s) }})
	}
	return list
}

func glob(t *testing.T, pattern string) []string {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("nothing matches %s: %v", pattern, err)
	}
	return files
}

// everywhereLibrary is the library of the conformance tests, with a catch that can be stopped: it
// is written in the language.
func everywhereLibrary(t *testing.T, dir string, breaks bool) *testLibrary {
	lib := newTestLibrary(t, dir, breaks)
	lib.predeclared["attempt"] = vm.Natives()["attempt"]
	for i, m := range lib.modules {
		if m.Name == "assert.star" {
			lib.modules[i] = lib.mustCompile(t, m.Name, readText(t, filepath.Join(dir, "starlarktest", m.Name))+catching)
		}
	}
	return lib
}

// catching stands at the end of assert.star.
const catching = `
def catch(fn):
    result = attempt(fn)
    return None if result.ok else result.error.message
`

// play runs a program and tells what can be seen of it.
func (lib *testLibrary) play(t *testing.T, name, text string, opts syntax.FileOptions, s *saver) string {
	var out strings.Builder
	lib.report = func(text string) { fmt.Fprintln(&out, "reported:", text) }
	code, err := lib.compile(name, text, opts)
	if err != nil {
		t.Fatal(err)
	}
	img, err := vm.Load(append(slices.Clone(lib.modules), code), &effect.Environment{Names: lib.predeclared, Codecs: testCodecs()})
	if err != nil {
		t.Fatal(err)
	}
	m, err := img.Start(nil)
	if err != nil {
		t.Fatal(err)
	}
	limits := vm.Limits{Frames: 100_000}
	m.SetLimits(limits)
	s.watch(m)
	stop := m.Run(nothingToAsk)
	for ; stop.Status == vm.Yielded; stop = m.Run(nothingToAsk) {
		m, _ = s.renew(t, img, m, limits)
	}
	if e := stop.Cause(); e != nil {
		fmt.Fprintln(&out, e.Backtrace())
	}
	globals := m.Globals()
	for _, name := range globals.Keys() {
		fmt.Fprintf(&out, "%s = %v\n", name, globals[name])
	}
	fmt.Fprintf(&out, "%d steps\n", m.Steps())
	return out.String()
}

// playAll plays a transcript of testdata/machine. It leaves out where slices ended: what is stopped
// yields no more of itself.
func playAll(t *testing.T, file string, s *saver) string {
	var out strings.Builder
	p := &player{t: t, names: machineNames(), saver: s, quiet: true}
	for _, par := range paragraphs(readText(t, file)) {
		if par.command != "" {
			fmt.Fprintf(&out, "%s\n%s", par.command, p.play(par))
		}
		if p.m != nil && par.command != "" {
			fmt.Fprintf(&out, "%d steps\n", p.m.Steps())
		}
	}
	return out.String()
}

// TestExamplesArePlayed: every script worth copying has its part in a transcript, but for those
// that are short and load a library, which are told as stories of cmd/starling.
func TestExamplesArePlayed(t *testing.T) {
	played := readText(t, "../../testdata/machine/scripts.txt")
	for _, file := range glob(t, "../../scripts/*.star") {
		name := filepath.Base(file)
		if strings.HasSuffix(name, "_agents.star") || strings.HasSuffix(name, "_test.star") {
			continue
		}
		if !strings.Contains(played, " "+name) && !strings.Contains(readText(t, file), `load("@std/`) {
			t.Errorf("testdata/machine/scripts.txt does not play %s", name)
		}
	}
}
