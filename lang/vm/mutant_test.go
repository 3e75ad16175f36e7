package vm

import (
	"bytes"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"runtime/metrics"
	"slices"
	"strings"
	"testing"
	"time"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"starling/lang/compile"
	"starling/lang/contract"
	"starling/lang/effect"
)

var (
	mutants    = flag.Int("mutants", 12_000, "how many damaged snapshots TestMutants tries")
	mutantSeed = flag.Uint64("mutantseed", 0, "of TestMutants; 0 takes one from the clock")
)

var mutantKey = []byte("the key that authenticates mutants")

// mutantScripts are scripts that rest in every kind of frame, with every kind of value at hand.
var mutantScripts = []string{`
def work(n):
    return rest() if n < 3 else parallel([rest], isolation = "worktree")
def decide(conflict):
    rest()
    return conflict["options"][-2]
def main():
    return [parallel(work, over = [1, 2, 3], isolation = "worktree", on_conflict = how) for how in [decide, "sequential"]]
`, `
load("lib.star", "table", "names", "adder", "pair")
def f(n, *, must, may = [1]):
    return rest() if n == 0 else f(n - 1, must = must, may = may) + n
def main():
    mine = {"table": table, "own": [names, None, True, -5, 1 << 80, 0.5, b"ab", "a text of some length", pair]}
    add = adder(3)
    x = f(2, must = mine)
    mine["own"].append(add(x))
    return mine["own"][9], adder(rest())(4)
`, `
def main():
    l = [3, 1, 2]
    s = sorted(l, key = lambda x: -x * rest(), reverse = True)
    m = max([1, 2], key = lambda x: rest())
    n = min("b".elems(), "cd".codepoints(), key = lambda x: len(list(x)) + rest())
    return s, m, list(n)
`, `
def work(i, scale = 1):
    a = attempt(lambda: [rest() for _ in range(2)][i])
    if i == 2:
        fail("no", rest())
    return a
def main():
    a = parallel([(work, 0), (work, 1), (work, 2)], limit = 2, on_error = "collect")
    b = parallel(lambda k, v: v + rest(), over = {"x": 1, "y y": 2}, wait = "any")
    c = attempt(parallel, [(work, 2), (work, 0)])
    more = {"a": rest}
    def adds(n):
        more[str(n)] = (work, 0)
        return rest()
    more["b"] = (adds, 1)
    d = parallel(more, grow = True), parallel(adds, over = [2], grow = True)
    return a, b, c, d, attempt(rest, 1, x = 2)
`, `
def main():
    cyc = [1]
    cyc.append({"me": cyc, (1, ("k", main)): set([1, "two", (3, 4)])})
    t = ()
    for _ in range(30):
        t = (t, t)
    def count(box = [0]):
        def up(by = 1):
            box[0] += by + len(cyc)
            return box[0]
        return up, lambda: box
    up, look = count()
    app, get, split = cyc.append, cyc[1].get, "a,b".split
    rest()
    app(up(by = 2))
    later = [len(get("me")), split(","), look(), list(range(9)).index(rest() + rest() - 2)]
    if later:
        maybe = t
    return len(later), len(maybe[0][0])
`, `
def over(x, n):
    out = []
    for e in x:
        for i in forever():
            out.append(e)
            rest()
            if i >= n:
                break
    return out
def main():
    frozen = (1, [2])
    return [over({"a": 1, "b": 2}, 1), over(set([3, 1]), 0), over(range(10, 0, -3)[1:3], 0), over("hé".codepoints(), 0), over(b"xy".elems(), 0), over((7, frozen), 0),
            {k: [rest() for _ in (1, 2)] for k in [1, 2]}, over([[]], 2), "%s %s" % (rest(), "x".join([str(rest())]))]
`, `
def heard(event):
    seen.append(event)
    rest()
    return None
seen = []
def main():
    def cb(e):
        rest()
        return None
    h = handle()
    both = parallel([lambda: h.decision(), lambda: h.decision(), lambda: listen(on = cb)], on_error = "collect")
    return both, listen(on = cb), h.decision()
`, `
total = []
def add(x):
    total.append(x)
    return rest()
limit = args.get("limit", 3)
for i in range(limit):
    add([i, args])
    while len(total) < i:
        total.append(rest())
result = [add(x) for x in total[:2]]
`, `
def main():
    a, b = stamp(5), stamp(5)
    s = secret("token").wrap("Bearer {}")
    c = [shape("{a: int}"), shape("{a: int}"), box((a, [b])), box(box(stamp(7))), box]
    both = {a: 1, (stamp(8), "x"): 2}
    call = box([]).get
    rest()
    return both[b], c[2].get() == (b, [a]), str(c[0]), s.wrap, call(rest())
`, `
def main():
    big = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40,
           41, 42, 43, 44, 45, 46, 47, 48, 49, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59, 60, 61, 62, 63, 64, 65, 66, rest(), {"a": rest(), "b": (rest(), 2)}]
    n = 0
    for x in big:
        n += 1
        if n % 30 == 0:
            n += rest()
    return dict(a = rest(), **{"b": rest()}), max(*[rest(), 2]), n
`}

const mutantLibrary = `
table = {"x": [1, 2], "f": lambda x: x}
names = ["a", "b"]
pair = (table, (names, table))
def adder(n, base = [0]):
    def add(x):
        return x + n + len(base)
    return add
`

// stamp is a value without identity that needs a codec.
type stamp struct{ n int }

func (stamp) String() string          { return "stamp" }
func (stamp) Type() string            { return "stamp" }
func (stamp) Freeze()                 {}
func (stamp) Truth() starlark.Bool    { return true }
func (s stamp) Hash() (uint32, error) { return uint32(s.n), nil }

// box is a value with identity, a part and a method.
type box struct{ v starlark.Value }

func (*box) String() string        { return "box" }
func (*box) Type() string          { return "box" }
func (b *box) Freeze()             { b.v.Freeze() }
func (*box) Truth() starlark.Bool  { return true }
func (*box) Hash() (uint32, error) { return 0, errors.New("unhashable: box") }
func (*box) AttrNames() []string   { return []string{"get"} }
func (b *box) Attr(name string) (starlark.Value, error) {
	if name != "get" {
		return nil, nil
	}
	return starlark.NewBuiltin("get", func(_ *starlark.Thread, b *starlark.Builtin, _ starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
		return b.Receiver().(*box).v, nil
	}).BindReceiver(b), nil
}

var mutantCodecs = []effect.Codec{{
	Type: "stamp",
	Parts: func(v starlark.Value) ([]starlark.Value, error) {
		return []starlark.Value{starlark.MakeInt(v.(stamp).n)}, nil
	},
	Make: func(parts []starlark.Value) (starlark.Value, error) {
		if len(parts) != 1 {
			return nil, errors.New("a stamp has one part")
		}
		n, err := starlark.AsInt32(parts[0])
		return stamp{n}, err
	},
}, {
	Type:  "box",
	Parts: func(v starlark.Value) ([]starlark.Value, error) { return []starlark.Value{v.(*box).v}, nil },
	Make: func(parts []starlark.Value) (starlark.Value, error) {
		if len(parts) != 1 {
			return nil, errors.New("a box has one part")
		}
		return &box{parts[0]}, nil
	},
}}

func pureBuiltin(name string, arg string, make func(v starlark.Value) (starlark.Value, error)) *effect.Builtin {
	return &effect.Builtin{FullName: name, Params: []effect.Param{{Name: arg}}, Pure: func(c *effect.Call) (starlark.Value, error) { return make(c.Get(arg)) }}
}

func mutantNames() starlark.StringDict {
	names := Natives()
	request := func(kind string, class effect.Class) func(c *effect.Call) (*effect.Request, error) {
		return func(c *effect.Call) (*effect.Request, error) {
			r := &effect.Request{Kind: kind, Name: kind, Class: class, Args: effect.MustEncode(starlark.None)}
			if on, ok := c.Get("on").(starlark.Callable); ok {
				r.OnEvent = on
			}
			return r, nil
		}
	}
	on := []effect.Param{{Name: "on", Default: "None"}}
	names["rest"] = &effect.Builtin{FullName: "rest", Class: effect.Waiting, Params: on, Request: request("rest", effect.Waiting)}
	names["listen"] = &effect.Builtin{FullName: "listen", Class: effect.Waiting, Params: on, Request: request("listen", effect.Waiting)}
	names["handle"] = &effect.Builtin{FullName: "handle", Class: effect.Open, Params: on, Request: request("handle", effect.Open)}
	names["stamp"] = pureBuiltin("stamp", "n", func(v starlark.Value) (starlark.Value, error) {
		n, err := starlark.AsInt32(v)
		return stamp{n}, err
	})
	names["secret"] = pureBuiltin("secret", "name", func(v starlark.Value) (starlark.Value, error) {
		name, _ := starlark.AsString(v)
		return &effect.Secret{Name: name}, nil
	})
	names["shape"] = pureBuiltin("shape", "text", func(v starlark.Value) (starlark.Value, error) {
		text, _ := starlark.AsString(v)
		return contract.Parse("shape", text)
	})
	names["box"] = pureBuiltin("box", "v", func(v starlark.Value) (starlark.Value, error) { return &box{v}, nil })
	return names
}

// mutantImages loads the scripts, plain first, then compiled with breaks.
func mutantImages(t testing.TB) []*Image {
	t.Helper()
	env := &effect.Environment{Names: mutantNames(), Codecs: mutantCodecs, Behaviour: 7}
	opts := syntax.FileOptions{Set: true, While: true, TopLevelControl: true, GlobalReassign: true, Recursion: true}
	var images []*Image
	for _, breaks := range []bool{false, true} {
		for _, text := range mutantScripts {
			var code []*compile.Module
			for _, src := range []compile.Source{{Name: "lib.star", Text: []byte(mutantLibrary)}, {Name: "main.star", Text: []byte(text)}} {
				src.Options, src.Breaks = opts, breaks
				src.Predeclared = func(name string) bool { return env.Names.Has(name) || name == argsName }
				m, err := compile.Compile(src)
				if err != nil {
					t.Fatal(err)
				}
				code = append(code, m)
			}
			img, err := Load(code, env)
			if err != nil {
				t.Fatal(err)
			}
			images = append(images, img)
		}
	}
	return images
}

// seedling is a snapshot of an image.
type seedling struct {
	image int
	bytes []byte
}

// seedlings plays each script to its end and writes it down at every stop; with breaks, before some
// instructions too.
func seedlings(t testing.TB, images []*Image) []seedling {
	t.Helper()
	var seeds []seedling
	for i, img := range images {
		exact := i >= len(images)/2
		m, err := img.Start(nil)
		if err != nil {
			t.Fatal(err)
		}
		passed := 0
		m.pause = func() bool { passed++; return m.callee == nil && passed%(7+i) == 0 }
		last := Stop{Status: Waiting}
		for n := 0; last.Status == Waiting || last.Status == Yielded; n++ {
			if n > 2000 {
				t.Fatalf("script %d does not end", i)
			}
			if b, err := m.snapshot(mutantKey, exact); err != nil {
				t.Fatal(err)
			} else if n < 60 {
				seeds = append(seeds, seedling{i, b})
			}
			if last.Status == Waiting && n > 0 {
				settleSome(m, n)
			}
			last = m.Run(nil)
		}
		if last.Status == Failed {
			t.Fatalf("script %d: %v", i, last.Err)
		}
	}
	return seeds
}

// settleSome hands in an event here and there, and the outcome of the first step that is waited
// for; a failure now and then.
func settleSome(m *Machine, n int) {
	steps := sortedKeys(m.waits)
	if len(steps) == 0 {
		return
	}
	step := steps[n%len(steps)]
	if m.Hears(step) && n%3 > 0 {
		m.Event(step, effect.MustEncode(starlark.String("event")))
		return
	}
	m.Settle(step, effect.Outcome{Value: effect.MustEncode(someOutcome(step, n))})
}

// someOutcome is what a step may come to: the trees of isolated branches are of some commit, and
// one changes what another changes.
func someOutcome(step string, n int) starlark.Value {
	field := func(d *starlark.Dict, key string, v starlark.Value) *starlark.Dict {
		_ = d.SetKey(starlark.String(key), v)
		return d
	}
	switch {
	case strings.Contains(step, "workspace.close"):
		files := starlark.NewList([]starlark.Value{starlark.String("a"), starlark.String(fmt.Sprint("b/", n))})
		return field(field(new(starlark.Dict), "commit", starlark.String("made")), "files", files)
	case strings.Contains(step, "workspace.compare"):
		return field(new(starlark.Dict), "merges", starlark.Bool(n%2 == 0))
	case strings.Contains(step, "workspace."):
		return starlark.String(fmt.Sprint("commit ", n))
	}
	return starlark.MakeInt(n%5 + 1)
}

// seal makes a payload a snapshot of the image: header, program and MAC are right.
func seal(img *Image, payload []byte, exact bool) []byte {
	b := make([]byte, headerSize+macSize, headerSize+macSize+len(img.identity)+len(payload))
	copy(b, snapshotMagic)
	binary.BigEndian.PutUint16(b[4:], snapshotFormat)
	if b[6] = img.main.code.Generator; exact {
		b[7] = flagExact
	}
	binary.BigEndian.PutUint32(b[8:], img.env.Behaviour)
	b = append(append(b, img.identity[:]...), payload...)
	binary.BigEndian.PutUint32(b[12:], uint32(len(b)-headerSize-macSize))
	copy(b[headerSize:], authenticate(mutantKey, b))
	return b
}

const sealed = headerSize + macSize + 16

// Reading a snapshot may allocate so much for each of its bytes, and so much in any case.
const (
	allocPerByte = 160
	allocAlways  = 1 << 20
)

// probe is what every snapshot must stand, whatever is in it: it is refused, or it is a machine
// that can be written down, read back, and run under limits. It tells whether it was taken.
func probe(img *Image, b []byte, exact bool) (taken bool, err error) {
	before := allocated()
	m, err := img.Restore(b, mutantKey)
	if grown := allocated() - before; grown > uint64(allocAlways+allocPerByte*len(b)) {
		return err == nil, fmt.Errorf("reading %d bytes allocated %d", len(b), grown)
	}
	if err != nil {
		if strings.Contains(err.Error(), "runtime error") || strings.Contains(err.Error(), "interface conversion") {
			return false, fmt.Errorf("reading panics: %w", err)
		}
		return false, nil
	}
	first, err := m.snapshot(mutantKey, exact)
	if err != nil {
		return true, fmt.Errorf("what was read cannot be written: %w", err)
	}
	n, err := img.Restore(first, mutantKey)
	if err != nil {
		return true, fmt.Errorf("what was written cannot be read: %w", err)
	}
	if second, err := n.snapshot(mutantKey, exact); err != nil || !bytes.Equal(first, second) {
		return true, fmt.Errorf("it is written otherwise the second time: %v", err)
	}
	return true, run(n)
}

// run lets a machine go on for a while; what it comes to is its own affair.
func run(m *Machine) error {
	m.SetLimits(Limits{Frames: 60, Branches: 40, Steps: 20_000, Memory: 4 << 20})
	for n := range 12 {
		stop := m.Run(nil)
		if stop.Status == Done || stop.Status == Failed {
			return nil
		}
		if _, err := m.snapshot(mutantKey, true); err != nil && !strings.Contains(err.Error(), "cannot be written down") {
			return err
		}
		if stop.Status == Waiting {
			settleSome(m, n)
		}
	}
	return nil
}

var allocSample = []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}

// allocated is how much this process has allocated in all, to a few pages.
func allocated() uint64 {
	metrics.Read(allocSample)
	return allocSample[0].Value.Uint64()
}

// FuzzRestore damages snapshots as go test -fuzz does, and makes their MACs right again.
func FuzzRestore(f *testing.F) {
	images := mutantImages(f)
	for _, s := range seedlings(f, images) {
		f.Add(uint8(s.image), s.bytes[sealed:])
	}
	f.Fuzz(func(t *testing.T, image uint8, payload []byte) {
		n := int(image) % len(images)
		exact := n >= len(images)/2
		if _, err := probe(images[n], seal(images[n], payload, exact), exact); err != nil {
			t.Fatal(err)
		}
	})
}

// TestMutants damages snapshots where it hurts: values are replaced by other values, numbers by
// their neighbours and by huge ones, parts by parts of other snapshots.
//
//	go test ./lang/vm -run Mutants -mutants 10000000 -timeout 6h
func TestMutants(t *testing.T) {
	if *mutantSeed == 0 {
		*mutantSeed = uint64(time.Now().UnixNano())
	}
	images := mutantImages(t)
	seeds := seedlings(t, images)
	for _, s := range seeds {
		exact := s.image >= len(images)/2
		b := seal(images[s.image], s.bytes[sealed:], exact)
		if ok, err := safely(images[s.image], b, exact); !ok || err != nil || !bytes.Equal(b, s.bytes) {
			t.Fatalf("an undamaged snapshot of script %d: taken %v, %v, sealed as it was %v", s.image, ok, err, bytes.Equal(b, s.bytes))
		}
	}
	rng := rand.New(rand.NewPCG(*mutantSeed, 0))
	taken := 0
	for i := range *mutants {
		s := seeds[rng.IntN(len(seeds))]
		payload := mutate(rng, s.bytes[sealed:], seeds[rng.IntN(len(seeds))].bytes[sealed:])
		exact := s.image >= len(images)/2
		ok, err := safely(images[s.image], seal(images[s.image], payload, exact), exact)
		if err != nil {
			t.Fatalf("-mutantseed %d, mutant %d of %d of script %d: %v\n%x", *mutantSeed, i, *mutants, s.image, err, payload)
		}
		if ok {
			taken++
		}
	}
	t.Logf("-mutantseed %d: %d mutants of %d snapshots, %d taken, all sound", *mutantSeed, *mutants, len(seeds), taken)
}

// safely is probe with panics as errors.
func safely(img *Image, b []byte, exact bool) (taken bool, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	return probe(img, b, exact)
}

// mutate makes up to three changes.
func mutate(rng *rand.Rand, b, other []byte) []byte {
	b = slices.Clone(b)
	for range 1 + rng.IntN(3) {
		if len(b) < 8 {
			return b
		}
		at := rng.IntN(len(b))
		switch rng.IntN(9) {
		case 0: // a value or a number becomes another
			b[at] = byte(rng.IntN(256))
		case 1: // ... its neighbour
			b[at] += byte(rng.IntN(3)) - 1
		case 2: // ... one of the rarer tags
			b[at] = byte(rng.IntN(int(tagObject) + 1))
		case 3: // ... an object
			b[at] = tagSmallObject + byte(rng.IntN(24))
		case 4: // ... a small int
			b[at] = tagSmallInt + byte(rng.IntN(4))
		case 5: // a byte more, a byte less
			if rng.IntN(2) == 0 {
				b = slices.Delete(b, at, at+1)
			} else {
				b = slices.Insert(b, at, byte(rng.IntN(256)))
			}
		case 6: // a number becomes huge
			b = slices.Replace(b, at, at+1, binary.AppendUvarint(nil, rng.Uint64()>>rng.IntN(64))...)
		case 7: // two parts change places
			n := 1 + rng.IntN(3)
			if to := rng.IntN(len(b)); at+n <= to && to+n <= len(b) {
				for i := range n {
					b[at+i], b[to+i] = b[to+i], b[at+i]
				}
			}
		case 8: // a part of another snapshot
			n := min(1+rng.IntN(6), len(b)-at)
			if from := rng.IntN(len(other)); from+n <= len(other) {
				copy(b[at:at+n], other[from:from+n])
			}
		}
	}
	return b
}
