package window_test

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"go.starlark.net/starlark"

	"starling/lang/contract"
	"starling/stdlib/window"
)

// disk is files by path.
type disk map[string]string

func (d disk) files() window.Files {
	return window.Files{Paths: slices.Sorted(maps.Keys(d)), Read: func(path string, _ int) ([]byte, error) {
		if text, ok := d[path]; ok {
			return []byte(text), nil
		}
		return nil, &fs.PathError{Op: "open", Path: path, Err: fs.ErrNotExist}
	}}
}

func written(t *testing.T, v starlark.Value) string {
	t.Helper()
	text, err := contract.ToJSON(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func numbered(n int) string {
	var b strings.Builder
	for i := 1; i <= n; i++ {
		fmt.Fprintf(&b, "line %d\n", i)
	}
	return b.String()
}

// S2-12: the map and the files; what cannot be read is named; the estimate is four characters a
// token.
func TestPack(t *testing.T) {
	d := disk{"README.md": "hello\n", "src/a.go": "package a\n", "src/b.go": "package b\n", "logo.png": "\x89PNG\x00"}
	for range 2 {
		v, err := window.Pack(d.files(), window.Order{Paths: []string{"src/*.go", "src", "logo.png", "new.go"}, Budget: 1000})
		if err != nil {
			t.Fatal(err)
		}
		const want = `{"map":["README.md","logo.png","src/a.go","src/b.go"],` +
			`"excerpts":[{"path":"src/a.go","first":1,"last":1,"lines":1,"text":"package a\n"},{"path":"src/b.go","first":1,"last":1,"lines":1,"text":"package b\n"}],` +
			`"left_out":[{"path":"logo.png","reason":"it is not text"},{"path":"new.go","reason":"file does not exist"}],"tokens":83}`
		if got := written(t, v); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

// What is cut says which lines are there; a word keeps the lines around it; what a short file
// leaves goes to the long ones.
func TestPackCuts(t *testing.T) {
	d := disk{"long.txt": numbered(500), "short.txt": "all of it\n", "wide.txt": strings.Repeat("x", 5000) + "\n" + numbered(200)}
	v, err := window.Pack(d.files(), window.Order{Paths: []string{"long.txt", "short.txt", "wide.txt"}, Queries: []string{"LINE 250"}, Budget: 700})
	if err != nil {
		t.Fatal(err)
	}
	got := written(t, v)
	for _, want := range []string{`"first":247,"last":253,"lines":500,"text":"line 247\nline 248`, `{"path":"short.txt","first":1,"last":1,"lines":1,"text":"all of it\n"}`,
		`{"path":"long.txt","first":1,"last":`, `xxx… [4801 more characters]\nline 1\n`} {
		if !strings.Contains(got, want) {
			t.Errorf("%s\nis not in %s", want, got)
		}
	}
	if n, _ := window.Tokens(v); n > 700 || n < 600 {
		t.Errorf("it takes %d tokens of 700", n)
	}
}

// A folder is closed where the map would be long.
func TestPackClosesFolders(t *testing.T) {
	d := disk{"main.go": "package main\n"}
	for i := range 300 {
		d[fmt.Sprintf("vendor/deep/%03d.go", i)] = ""
		d[fmt.Sprintf("web/%d/index.js", i%3)] = ""
	}
	v, err := window.Pack(d.files(), window.Order{Paths: []string{"main.go"}, Budget: 300})
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"map":["main.go","vendor/deep/ (300 files)","web/0/index.js","web/1/index.js","web/2/index.js"]`
	if got := written(t, v); !strings.HasPrefix(got, want) {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// Over budget with the least of each file is an error that says how much it would take, and that
// much is enough.
func TestPackOverBudget(t *testing.T) {
	d := disk{}
	for i := range 20 {
		d[fmt.Sprintf("%02d.txt", i)] = numbered(100)
	}
	order := window.Order{Paths: []string{"."}, Budget: 500}
	_, err := window.Pack(d.files(), order)
	var over *window.OverBudget
	if !errors.As(err, &over) || over.Budget != 500 || over.Tokens < 1000 {
		t.Fatalf("got %v", err)
	}
	if want := fmt.Sprintf("the map and the least of 20 files take about %d tokens, and the budget is 500", over.Tokens); err.Error() != want {
		t.Errorf("got %q, want %q", err, want)
	}
	order.Budget = over.Tokens + 200 // with a larger budget the map opens
	if _, err := window.Pack(d.files(), order); err != nil {
		t.Error(err)
	}
}

// Whatever the files and the budget: never above it, the same bytes twice, and the excerpts are
// what the files say.
func FuzzPack(f *testing.F) {
	f.Add("a\nb\n", strings.Repeat("é\t\"\n", 300), "b", 400)
	f.Add("", "\x00", "x", 50)
	f.Add(strings.Repeat("<&>", 2000), numbered(3000), "7", 1000)
	f.Fuzz(func(t *testing.T, one, two, query string, budget int) {
		d := disk{"a/one.txt": one, "two.txt": two, "b/c/d/three.txt": one + two}
		order := window.Order{Paths: []string{"**", "absent"}, Budget: budget&0xffff + 1}
		if query != "" {
			order.Queries = []string{query}
		}
		v, err := window.Pack(d.files(), order)
		var over *window.OverBudget
		if errors.As(err, &over) && over.Tokens > order.Budget {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		n, err := window.Tokens(v)
		if err != nil || n > order.Budget {
			t.Fatalf("%d tokens of %d, %v", n, order.Budget, err)
		}
		again, _ := window.Pack(d.files(), order)
		if written(t, again) != written(t, v) {
			t.Fatal("the same gives other bytes")
		}
		checkExcerpts(t, d, v)
	})
}

func checkExcerpts(t *testing.T, d disk, v *starlark.Dict) {
	t.Helper()
	excerpts, _, _ := v.Get(starlark.String("excerpts"))
	for e := range starlark.Elements(excerpts.(*starlark.List)) {
		field := func(name string) starlark.Value { v, _, _ := e.(*starlark.Dict).Get(starlark.String(name)); return v }
		path, _ := starlark.AsString(field("path"))
		text, _ := starlark.AsString(field("text"))
		first, _ := starlark.AsInt32(field("first"))
		last, _ := starlark.AsInt32(field("last"))
		lines := slices.Collect(strings.Lines(d[path]))
		if first == 0 {
			if text != "" {
				t.Fatalf("%s: got %q of no lines", path, text)
			}
			continue
		}
		of := strings.Join(lines[first-1:last], "")
		if text != of && !strings.Contains(text, " more characters]\n") {
			t.Fatalf("%s:%d-%d: got %q, want %q", path, first, last, text, of)
		}
	}
}

// cycles is the state of a run after a number of cycles, with replies that are long.
func cycles(n, size int) *starlark.Dict {
	var history []starlark.Value
	for i := range n {
		d := new(starlark.Dict)
		for k, v := range map[string]starlark.Value{"cycle": starlark.MakeInt(i)} {
			_ = d.SetKey(starlark.String(k), v)
		}
		_ = d.SetKey(starlark.String("output"), starlark.String(strings.Repeat("reply of the builder. ", size/22)))
		history = append(history, d)
	}
	outputs := new(starlark.Dict)
	judge := new(starlark.Dict)
	_ = judge.SetKey(starlark.String("summary"), starlark.String("two findings"))
	_ = judge.SetKey(starlark.String("findings"), starlark.NewList([]starlark.Value{starlark.String(strings.Repeat("f", size))}))
	_ = outputs.SetKey(starlark.String("judge"), judge)
	_ = outputs.SetKey(starlark.String("radar"), starlark.String("ok"))
	state := new(starlark.Dict)
	_ = state.SetKey(starlark.String("goal"), starlark.String("fix it"))
	_ = state.SetKey(starlark.String("history"), starlark.NewList(history))
	_ = state.SetKey(starlark.String("agent_outputs"), outputs)
	return state
}

// S4-34, A19: 60,000 tokens in six cycles come to fewer than 32,000, with the last two entries and
// links to the full text; the same gives the same.
func TestTrim(t *testing.T) {
	state := cycles(6, 35_000)
	if n, err := window.Tokens(state); err != nil || n < 58_000 || n > 64_000 {
		t.Fatalf("the state has %d tokens, %v", n, err)
	}
	var before string
	for range 2 {
		v, full, err := window.Trim(state, 32_000, 2)
		if err != nil {
			t.Fatal(err)
		}
		if string(full) != written(t, state) {
			t.Error("the full text is not the state")
		}
		got := written(t, v)
		if before != "" && got != before {
			t.Error("the same state was trimmed to other bytes")
		}
		before = got
		if n, _ := window.Tokens(v); n > 32_000 {
			t.Errorf("it has %d tokens", n)
		}
		for _, want := range []string{`{"goal":"fix it","history":[{"cycle":4,"output":{"summary":"reply of the builder. reply`, `"path":"history[4].output"}},{"cycle":5,`,
			`"agent_outputs":{"judge":{"summary":"two findings","tokens":8761,"artifact":"`, `"path":"agent_outputs.judge"},"radar":"ok"}`, `"history":4,"outputs":3}}`} {
			if !strings.Contains(got, want) {
				t.Errorf("%s\nis not in %s", want, got)
			}
		}
		if strings.Contains(got, `"cycle":3`) || !utf8.ValidString(got) {
			t.Errorf("got %s", got)
		}
		// What was trimmed once stays as it is.
		again, full, err := window.Trim(v, 32_000, 2)
		if err != nil || full != nil || written(t, again) != got {
			t.Errorf("trimmed twice: %v, %v", again, err)
		}
	}
}

// What is too much even then is an error with the amount, and nothing is cut on the quiet.
func TestTrimOverBudget(t *testing.T) {
	state := cycles(6, 2000)
	_ = state.SetKey(starlark.String("goal"), starlark.String(strings.Repeat("g", 8000)))
	_, full, err := window.Trim(state, 1000, 2)
	var over *window.OverBudget
	if !errors.As(err, &over) || over.Tokens < 2000 || full != nil {
		t.Fatalf("got %v", err)
	}
	if want := fmt.Sprintf("the context with 2 entries of history and summaries in place of 3 replies take about %d tokens, and the budget is 1000", over.Tokens); err.Error() != want {
		t.Errorf("got %q, want %q", err, want)
	}
}
