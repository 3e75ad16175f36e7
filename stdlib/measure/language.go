package measure

import (
	"bytes"
	"cmp"
	_ "embed"
	"encoding/json"
	"path"
	"slices"
	"strings"
	"sync"
)

// languagesJSON is scc's table of languages, github.com/boyter/scc (MIT, Ben Boyter). A test holds
// it against the scc of go.mod, and writes it with -update.
//
//go:embed languages.json
var languagesJSON []byte

// language is how a language is known, and how its lines are read.
type language struct {
	name string

	Extensions []string `json:"extensions"`
	FileNames  []string `json:"filenames"`
	SheBangs   []string `json:"shebangs"` // programs that execute it
	Keywords   []string `json:"keywords"` // that tell it from others of its extension

	Branches []string    `json:"complexitychecks"`
	Comments []string    `json:"line_comment"`
	Blocks   [][2]string `json:"multi_line"` // comments that begin and end
	Nested   bool        `json:"nestedmultiline"`
	Quotes   []quote     `json:"quotes"`

	tokens func() *tokens
}

// quote is what begins and ends a text.
type quote struct {
	Start, End   string
	IgnoreEscape bool // a backslash in it is a backslash
	DocString    bool // it is a comment where it stands alone
}

// languageTable is what names and beginnings of files say of their language.
type languageTable struct {
	byExtension map[string][]*language
	byName      map[string]*language
	byProgram   map[string]*language
}

var languages = sync.OnceValue(func() languageTable {
	var read map[string]*language
	if err := json.Unmarshal(languagesJSON, &read); err != nil {
		panic(err) // it is part of the program, and a test reads it
	}
	t := languageTable{map[string][]*language{}, map[string]*language{}, map[string]*language{}}
	for name, l := range read {
		l.name, l.tokens = name, sync.OnceValue(func() *tokens { return newTokens(l) })
		for _, x := range l.Extensions {
			t.byExtension[x] = append(t.byExtension[x], l)
		}
		for _, n := range l.FileNames {
			t.byName[n] = l
		}
		for _, p := range l.SheBangs {
			t.byProgram[p] = l
		}
	}
	for _, l := range t.byExtension {
		slices.SortFunc(l, func(a, b *language) int { return strings.Compare(a.name, b.name) })
	}
	return t
})

// of is the language of a file, nil for none that is known.
func (t languageTable) of(name string, content []byte) *language {
	dots, low := strings.Count(name, "."), strings.ToLower(name)
	if dots == 0 || name[0] == '.' && dots == 1 {
		if l := t.byName[low]; l != nil {
			return l
		}
		return t.byProgram[sheBang(content)]
	}
	possible := t.byExtension[low]
	if possible == nil {
		low = endings(low)
		possible = t.byExtension[low]
	}
	if possible == nil { // .d.ts is .ts
		possible = t.byExtension[endings(low)]
	}
	return guess(possible, content)
}

// endings are the last two of a name, without the first dot: d.ts of a.d.ts.
func endings(name string) string {
	last := path.Ext(name)
	if last == "" || strings.LastIndex(name, ".") == 0 {
		return name
	}
	return strings.TrimPrefix(path.Ext(strings.TrimSuffix(name, last))+last, ".")
}

// sheBang is the program that is named in the first line of a script, "" for none.
func sheBang(content []byte) string {
	line, _, _ := strings.Cut(string(content[:min(len(content), maxSheBang)]), "\n")
	_, program, _ := strings.Cut(line, "/")
	words := strings.FieldsFunc("/"+program, func(r rune) bool { return r < 0x80 && isBlank(byte(r)) })
	switch name := words[0][strings.LastIndexByte(words[0], '/')+1:]; {
	case !strings.HasPrefix(line, "#!"):
		return ""
	case name == "env" && len(words) > 1:
		return words[1]
	default:
		return name
	}
}

const (
	maxSheBang = 4096   // bytes of a first line in which a program is looked for
	maxGuess   = 20_000 // bytes of a file in which words are looked for
	sureWords  = 3      // that a file must have to be of another language than the usual one
)

// guess is the language of several that have an extension whose words are in the content. One
// without words of its own is the usual one.
func guess(possible []*language, content []byte) *language {
	switch len(possible) {
	case 0:
		return nil
	case 1:
		return possible[0]
	}
	content = content[:min(len(content), maxGuess)]
	words := func(l *language) (n int) {
		for _, w := range l.Keywords {
			if bytes.Contains(content, []byte(w)) {
				n++
			}
		}
		return n
	}
	likely := slices.MaxFunc(possible, func(a, b *language) int { return cmp.Compare(words(a), words(b)) })
	if words(likely) < sureWords {
		for _, l := range slices.Backward(possible) {
			if len(l.Keywords) == 0 {
				return l
			}
		}
	}
	return likely
}
