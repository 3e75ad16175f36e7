package lang_test

import (
	"io/fs"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"runtime/debug"
	"slices"
	"testing"

	"go.starlark.net/syntax"

	"starling/lang"
	"starling/lang/check"
	"starling/lang/diagnostic"
	"starling/stdlib"
)

// identifiers are those of a text by offset, and their words.
func identifiers(text []byte) (at []int, words []string) {
	f, err := lang.FileOptions().Parse("x.star", text, 0)
	if err != nil {
		return nil, nil
	}
	syntax.Walk(f, func(n syntax.Node) bool {
		id, ok := n.(*syntax.Ident)
		if !ok {
			return true
		}
		from := diagnostic.Offset(string(text), int(id.NamePos.Line), int(id.NamePos.Col))
		if string(text[from:min(len(text), from+len(id.Name))]) == id.Name && !slices.Contains(at, from) {
			at, words = append(at, from), append(words, id.Name)
		}
		return true
	})
	return at, words
}

// TestCheckOutlivesSwappedNames checks the scripts of this repository with a few names exchanged
// for others of the same file, as they are while somebody types: whatever it says, it comes to an
// end. A stack that overflows ends the process.
func TestCheckOutlivesSwappedNames(t *testing.T) {
	defer debug.SetMaxStack(debug.SetMaxStack(64 << 20))
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	rounds := 1
	if !testing.Short() {
		rounds = 3
	}
	for _, folder := range []string{"../scripts", "../testdata/stories"} {
		err := filepath.WalkDir(folder, func(name string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || path.Ext(name) != ".star" {
				return err
			}
			text, err := os.ReadFile(name)
			if err != nil {
				return err
			}
			for range rounds {
				checkSwapped(t, random, filepath.Dir(name), text)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// checkSwapped checks a text of a folder in which one to four names have become others of it.
func checkSwapped(t *testing.T, random *rand.Rand, folder string, text []byte) {
	t.Helper()
	for range 1 + random.IntN(4) {
		at, words := identifiers(text)
		if len(at) == 0 {
			return
		}
		i, word := random.IntN(len(at)), words[random.IntN(len(words))]
		text = slices.Concat(text[:at[i]], []byte(word), text[at[i]+len(words[i]):])
	}
	defer func() {
		if err := recover(); err != nil {
			t.Fatalf("%v\n%s\n%s", err, text, debug.Stack())
		}
	}()
	read := func(name string) ([]byte, error) {
		if name == "swapped.star" {
			return text, nil
		}
		return os.ReadFile(filepath.Join(folder, filepath.FromSlash(name)))
	}
	b, err := lang.Read("swapped.star", read, stdlib.Library)
	if err == nil {
		lang.Check(b, environment(), check.Project{})
	}
}
