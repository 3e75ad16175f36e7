package window

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"unicode/utf8"

	"go.starlark.net/starlark"

	"starling/lang/contract"
)

const maxSummary = 240 // characters

// Trim gives the state of a long run within a budget of tokens. What fits stays as it is. Otherwise
// only the last entries of the list history stay, keep of them, and what agents have replied (the
// value of each key output, and the entries of each outputs and agent_outputs, wherever they stand)
// is replaced by {summary, tokens, artifact, path}. Under trimmed the result says {artifact,
// history, outputs}: how many entries and replies are only in full, which is the whole of v as
// JSON, and by whose SHA-256 all of these refer to it. full is nil when nothing was changed. The
// error is an [OverBudget] when that is still too much, or says what JSON cannot say.
func Trim(v *starlark.Dict, budget, keep int) (trimmed *starlark.Dict, full []byte, err error) {
	text, err := contract.ToJSON(v)
	if err != nil {
		return nil, nil, err
	}
	if tokens(utf8.RuneCount(text)) <= budget {
		return v, nil, nil
	}
	sum := sha256.Sum256(text)
	t := &trimming{hash: starlark.String(hex.EncodeToString(sum[:]))}
	trimmed = t.state(v, keep)
	if n, err := Tokens(trimmed); err != nil || n > budget {
		return nil, nil, &OverBudget{n, budget, fmt.Sprintf("the context with %d entries of history and summaries in place of %d replies", t.kept, t.outputs)}
	}
	return trimmed, text, nil
}

// trimming is one call of Trim.
type trimming struct {
	hash    starlark.String
	kept    int // entries of history
	outputs int // that were replaced
}

func (t *trimming) state(v *starlark.Dict, keep int) *starlark.Dict {
	out := new(starlark.Dict)
	dropped := 0
	for k, value := range v.Entries() {
		name, _ := starlark.AsString(k)
		from := 0
		if history, ok := value.(*starlark.List); ok && name == "history" {
			from = max(history.Len()-keep, 0)
			dropped, t.kept = from, history.Len()-from
		}
		set(out, k, t.field(name, value, name, from))
	}
	set(out, starlark.String("trimmed"), record("artifact", t.hash, "history", starlark.MakeInt(dropped), "outputs", starlark.MakeInt(t.outputs)))
	return out
}

// field is the value of a key. Of a list only the elements from an index on are taken.
func (t *trimming) field(name string, v starlark.Value, path string, from int) starlark.Value {
	switch name {
	case "output":
		return t.summary(v, path)
	case "outputs", "agent_outputs":
		return each(v, path, from, func(_ string, v starlark.Value, path string) starlark.Value { return t.summary(v, path) })
	}
	return each(v, path, from, func(name string, v starlark.Value, path string) starlark.Value { return t.field(name, v, path, 0) })
}

// each makes a dict or list of what fn makes of the values in it. What is neither stays.
func each(v starlark.Value, path string, from int, fn func(name string, v starlark.Value, path string) starlark.Value) starlark.Value {
	switch v := v.(type) {
	case *starlark.Dict:
		out := starlark.NewDict(v.Len())
		for k, value := range v.Entries() {
			name, _ := starlark.AsString(k)
			set(out, k, fn(name, value, path+"."+name))
		}
		return out
	case *starlark.List:
		out := make([]starlark.Value, 0, v.Len()-from)
		for i := from; i < v.Len(); i++ {
			out = append(out, fn("", v.Index(i), fmt.Sprintf("%s[%d]", path, i)))
		}
		return list(out)
	}
	return v
}

// summary stands for a reply, unless it takes no less.
func (t *trimming) summary(v starlark.Value, path string) starlark.Value {
	text, err := contract.ToJSON(v)
	if err != nil {
		return v // ToJSON of all there is has seen it before
	}
	s := record("summary", starlark.String(gist(v, string(text))), "tokens", starlark.MakeInt(tokens(utf8.RuneCount(text))), "artifact", t.hash, "path", starlark.String(path))
	if length(s) >= utf8.RuneCount(text) {
		return v
	}
	t.outputs++
	return s
}

// gist is what a reply says of itself, or how it begins.
func gist(v starlark.Value, text string) string {
	if s, ok := starlark.AsString(v); ok {
		text = s
	}
	if d, ok := v.(*starlark.Dict); ok {
		if said, found, _ := d.Get(starlark.String("summary")); found {
			if s, ok := starlark.AsString(said); ok {
				text = s
			}
		}
	}
	text = strings.Join(strings.Fields(text), " ")
	if utf8.RuneCountInString(text) <= maxSummary {
		return text
	}
	return string([]rune(text)[:maxSummary-1]) + "…"
}

func set(d *starlark.Dict, k, v starlark.Value) {
	if err := d.SetKey(k, v); err != nil {
		panic("window: " + err.Error()) // the dict is fresh, and the key was one before
	}
}
