package stdlib

import (
	"errors"
	"io"
	"iter"
	"regexp"
	"regexp/syntax"
	"strings"
	"sync"
	"unicode/utf8"

	"starling/lang/effect"
)

// One match takes time in proportion to the text and the pattern, but finding all of them may not:
// after `.*b|a` has failed to find its b it begins again one letter later, which is quadratic. Go's
// FindAll cannot be stopped and does not say what it read. So matches are found one by one from a
// reader that counts, and a call that reads too much fails, at the same letter on every machine. A
// match that begins later must still see the letter before it, for \b and ^: the pattern for those
// reads that letter first.

// Bounds of patterns and of the work of one call.
const (
	MaxPattern = 1000    // bytes
	maxWork    = 1 << 27 // letters read times instructions of the pattern
	maxKept    = 128     // patterns whose programs are kept
	smallProg  = 2000    // instructions up to which a program is kept
)

// pattern is a compiled expression. It never changes.
type pattern struct {
	first    *regexp.Regexp // as written
	next     *regexp.Regexp // reads one letter, then finds a match behind it
	anchored func() *regexp.Regexp
	letters  int // that one call may read
	kept     bool
}

// patterns are those that were used, by their text. It may be shared by goroutines.
type patterns struct {
	mu   sync.Mutex
	made map[string]*pattern
}

// of compiles the argument pattern.
func (ps *patterns) of(c *effect.Call) (*pattern, error) {
	text := c.Text("pattern", "")
	ps.mu.Lock()
	defer ps.mu.Unlock()
	if p := ps.made[text]; p != nil {
		return p, nil
	}
	p, err := compilePattern(c, text)
	if err != nil || !p.kept {
		return p, err
	}
	if len(ps.made) >= maxKept {
		clear(ps.made)
	}
	ps.made[text] = p
	return p, nil
}

func compilePattern(c *effect.Call, text string) (*pattern, error) {
	if len(text) > MaxPattern {
		return nil, wrong(c, "pattern", "got %d bytes, want at most %d", len(text), MaxPattern)
	}
	tree, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return nil, wrong(c, "pattern", "%s", strings.TrimPrefix(patternError(err), "error parsing regexp: "))
	}
	program, err := syntax.Compile(tree.Simplify())
	if err != nil {
		return nil, wrong(c, "pattern", "%w", err)
	}
	return &pattern{
		first:    regexp.MustCompile(text),
		next:     regexp.MustCompile(`\A(?s:.)(?s:.*?)(` + text + `)`),
		anchored: sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\A(?:` + text + `)`) }),
		letters:  maxWork / len(program.Inst),
		kept:     len(program.Inst) <= smallProg,
	}, nil
}

// patternError is what is wrong, with what to do about the usual wishes that RE2 cannot grant.
func patternError(err error) string {
	var e *syntax.Error
	if errors.As(err, &e) && (strings.HasPrefix(e.Expr, "(?=") || strings.HasPrefix(e.Expr, "(?!") || strings.HasPrefix(e.Expr, "(?<")) {
		return err.Error() + ": RE2 has no look-around; match more and take a group"
	}
	return err.Error()
}

// reading finds matches in a text.
type reading struct {
	p    *pattern
	text string
	pos  int
	left int // letters that may still be read
}

func (p *pattern) reading(text string) *reading { return &reading{p: p, text: text, left: p.letters} }

// ReadRune is for package regexp.
func (r *reading) ReadRune() (rune, int, error) {
	if r.pos >= len(r.text) || r.left <= 0 {
		return 0, 0, io.EOF
	}
	r.left--
	letter, size := utf8.DecodeRuneInString(r.text[r.pos:])
	r.pos += size
	return letter, size, nil
}

// patternShift is how many letters read times instructions are a step, as a power of two.
const patternShift = 4

// err tells whether the text was read to where it had to be, and has what was read charged.
func (r *reading) err(c *effect.Call) error {
	instructions := int64(maxWork / max(1, r.p.letters))
	c.Steps += instructions + instructions*int64(r.p.letters-r.left)>>patternShift
	if r.left > 0 {
		return nil
	}
	return effect.Errorf(effect.KindLimit, "%s: the matches cannot be found in %d steps: the text has %d bytes; anchor the pattern or cut the text",
		c.Builtin.FullName, int64(maxWork), len(r.text))
}

// find is the first match of an expression from a place on, as regexp's submatch indices.
func (r *reading) find(expr *regexp.Regexp, from int) []int {
	r.pos = from
	loc := expr.FindReaderSubmatchIndex(r)
	if r.left <= 0 {
		return nil
	}
	for i := range loc {
		if loc[i] >= 0 {
			loc[i] += from
		}
	}
	return loc
}

// after is the first match that begins at or behind a place other than the beginning of the text.
func (r *reading) after(place int) []int {
	_, size := utf8.DecodeLastRuneInString(r.text[:place])
	if loc := r.find(r.p.next, place-size); loc != nil {
		return loc[2:] // without the whole, which includes what was skipped
	}
	return nil
}

// all goes through the matches that do not overlap, at most so many of them unless most is 0. As in
// package regexp, an empty match that touches the one before does not count.
func (r *reading) all(most int) iter.Seq[[]int] {
	return func(yield func([]int) bool) {
		end := -1 // of the last match
		loc := r.find(r.p.first, 0)
		for n := 0; loc != nil && (most == 0 || n < most); {
			if loc[1] > loc[0] || loc[0] != end {
				end = loc[1]
				n++
				if !yield(loc) {
					return
				}
			}
			from := loc[1]
			if loc[1] == loc[0] {
				_, size := utf8.DecodeRuneInString(r.text[from:])
				from += size
				if size == 0 {
					return
				}
			}
			if from == 0 {
				return
			}
			loc = r.after(from)
		}
	}
}

// exactFrom is the size of a result from which its bound is found by counting the matches.
const exactFrom = 1 << 20

// size bounds what a call makes of a text: a match has a list's element, texts for its groups, and
// for re.sub the replacement.
func (p *pattern) size(c *effect.Call, text string) (int64, error) {
	groups := int64(p.first.NumSubexp() + 1)
	each, fixed := 40+groups*40, int64(len(text))+100
	if i := len(c.Builtin.Params); i > 3 { // re.sub: a group's texts are no longer than the text together
		each = int64(len(c.Text("repl", "")))
		fixed += int64(strings.Count(c.Text("repl", ""), `\`)) * int64(len(text))
	}
	if bound := fixed + each*int64(len(text)+1); bound <= exactFrom || c.Builtin.Result == "tuple|None" {
		return min(bound, fixed+each), nil
	}
	n := int64(0)
	r := p.reading(text)
	for range r.all(0) {
		n++
	}
	return fixed + each*n, r.err(c)
}
