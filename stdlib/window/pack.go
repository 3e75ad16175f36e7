package window

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"go.starlark.net/starlark"

	"starling/stdlib/jail"
)

const (
	maxFile  = 1 << 20  // bytes of a file that is read
	maxRead  = 64 << 20 // bytes of all that are
	mapShare = 4        // the map has at most one part in so many of the budget
	least    = 400      // characters that each file has, frame not counted, whatever the others need
)

// Files are those that a pack is made from.
type Files struct {
	Paths []string                                     // of all, sorted, with slashes
	Read  func(path string, limit int) ([]byte, error) // an error is told in the pack, and leaves the file out
}

// Order says what a pack is to hold.
type Order struct {
	Paths   []string // of files and folders, and patterns as [jail.Match] has them; in order of importance
	Queries []string // where a file is cut, the lines around these words are kept, whatever their case
	Budget  int      // in tokens, see [Tokens]
}

// Pack gives a dict of map, the paths of all files, with folders closed where it would be long;
// excerpts, [{path, first, last, lines, text}]; left_out, [{path, reason}]; and tokens, what it
// takes. A file that fits its share of the budget is whole; of another the excerpts say by first,
// last and lines which of its lines they are. The error is an [OverBudget] when not even the least
// of each file fits, or says which pattern matches nothing.
func Pack(files Files, o Order) (*starlark.Dict, error) {
	p := &packing{files: files, budget: o.Budget * characters, queries: lower(o.Queries)}
	if err := p.choose(o.Paths); err != nil {
		return nil, err
	}
	lines := treeMap(files.Paths, p.budget/mapShare)
	room := p.budget - length(p.result(lines))
	if needs := p.needs(); needs > room {
		return nil, &OverBudget{tokens(p.budget - room + needs), o.Budget, fmt.Sprintf("the map and the least of %d files", len(p.parts))}
	}
	p.fill(room)
	return p.result(lines), nil
}

func lower(words []string) []string {
	var out []string
	for _, w := range words {
		out = append(out, strings.ToLower(w))
	}
	return out
}

// packing is a pack that is being made.
type packing struct {
	files   Files
	budget  int // in characters
	queries []string
	read    int
	parts   []*part
	leftOut []starlark.Value
}

// part is a file of the pack.
type part struct {
	path     string
	lines    []string // with their ends
	frame    int      // characters of an excerpt beside its text
	whole    int      // characters of an excerpt that is the whole file
	excerpts []starlark.Value
}

// choose reads the files that are meant, each once.
func (p *packing) choose(paths []string) error {
	seen := map[string]bool{}
	for _, pattern := range paths {
		for _, path := range p.meant(pattern) {
			if seen[path] {
				continue
			}
			seen[path] = true
			if err := p.open(path); err != nil {
				return err
			}
		}
	}
	return nil
}

// meant lists the files of a path or pattern. One that names nothing known stands for itself:
// reading says whether it is there.
func (p *packing) meant(pattern string) []string {
	folder := strings.TrimSuffix(pattern, "/") + "/"
	var found []string
	for _, path := range p.files.Paths {
		if pattern == "." || strings.HasPrefix(path, folder) || jail.Match(pattern, path) {
			found = append(found, path)
		}
	}
	if len(found) == 0 {
		return []string{pattern}
	}
	return found
}

func (p *packing) open(path string) error {
	content, err := p.files.Read(path, maxFile)
	if p.read += len(content); p.read > maxRead {
		return fmt.Errorf("the files have more than %d bytes; pass fewer paths", maxRead)
	}
	reason := ""
	var known *jail.Error
	if errors.As(err, &known) {
		err = known.Err // the path stands beside it
	}
	switch {
	case err != nil:
		reason = jail.Reason(err)
	case !utf8.Valid(content) || slices.Contains(content, 0):
		reason = "it is not text"
	default:
		p.parts = append(p.parts, newPart(path, string(content)))
		return nil
	}
	p.leftOut = append(p.leftOut, record("path", starlark.String(path), "reason", starlark.String(reason)))
	return nil
}

func newPart(path, text string) *part {
	f := &part{path: path, lines: slices.Collect(strings.Lines(text))}
	// The ints of a part of a file are no longer than its number of lines, and a comma stands
	// between two excerpts.
	n := len(f.lines)
	f.frame = length(f.excerpt(n, n, "")) + 1
	f.whole = length(f.excerpt(min(1, n), n, text)) + 1
	return f
}

func (f *part) excerpt(first, last int, text string) *starlark.Dict {
	return record("path", starlark.String(f.path), "first", starlark.MakeInt(first), "last", starlark.MakeInt(last), "lines", starlark.MakeInt(len(f.lines)),
		"text", starlark.String(text))
}

// needs is what all files take when each that is longer has only the least.
func (p *packing) needs() int {
	n := 0
	for _, f := range p.parts {
		n += min(f.whole, f.frame+least)
	}
	return n
}

// fill gives each file an equal share of the room, and what short ones leave of theirs to the
// longer.
func (p *packing) fill(room int) {
	order := slices.SortedStableFunc(slices.Values(p.parts), func(a, b *part) int { return cmp.Compare(a.whole, b.whole) })
	for i, f := range order {
		share := room / (len(order) - i)
		if f.whole <= share {
			f.excerpts = []starlark.Value{f.excerpt(min(1, len(f.lines)), len(f.lines), strings.Join(f.lines, ""))}
		} else {
			f.cut(share, p.queries)
		}
		for _, e := range f.excerpts {
			room -= length(e) + 1
		}
	}
}

// result has as many digits for tokens as there can be while it is being filled.
func (p *packing) result(lines []string) *starlark.Dict {
	shown := make([]starlark.Value, len(lines))
	for i, l := range lines {
		shown[i] = starlark.String(l)
	}
	var excerpts []starlark.Value
	for _, f := range p.parts {
		excerpts = append(excerpts, f.excerpts...)
	}
	d := record("map", list(shown), "excerpts", list(excerpts), "left_out", list(p.leftOut), "tokens", starlark.MakeInt(p.budget))
	return record("map", list(shown), "excerpts", list(excerpts), "left_out", list(p.leftOut), "tokens", starlark.MakeInt(tokens(length(d))))
}
