// Package coverage is what tests of scripts reach of the lines and branches of these, as a table, a
// document and lcov's tracefile.
package coverage

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"starling/cmd/starling/suite"
	"starling/lang/compile"
)

// File is what all tests together have reached of one file.
type File struct {
	name   string
	path   string // on the disk
	marks  []compile.Mark
	counts []uint32 // of each mark
}

// Document is what test --cover --json says of one file.
type Document struct {
	File     string `json:"file"`
	Lines    Share  `json:"lines"`
	Branches Share  `json:"branches"`
	Missed   []Miss `json:"missed"` // in the order of the text
}

// Share is how many of how many were reached.
type Share struct {
	Reached int     `json:"reached"`
	Total   int     `json:"total"`
	Percent float64 `json:"percent"` // rounded down to a tenth; 100 where there are none
}

func (s *Share) add(reached bool) {
	s.Total++
	if reached {
		s.Reached++
	}
	s.Percent = Percent(s.Reached, s.Total)
}

func (s *Share) join(other Share) {
	s.Reached, s.Total = s.Reached+other.Reached, s.Total+other.Total
	s.Percent = Percent(s.Reached, s.Total)
}

// Percent is rounded down to a tenth; of nothing it is 100.
func Percent(part, whole int) float64 {
	if whole == 0 {
		return 100
	}
	return math.Floor(float64(part)*1000/float64(whole)) / 10
}

// Miss is a line whose statements no test has begun, or a way that no test has taken from a
// decision.
type Miss struct {
	Line int    `json:"line"`
	Way  string `json:"way,omitempty"` // of the decision in the line, none for the line itself

	after int // the line with statements before it, none for a way
}

// Played is a file of tests that was played.
type Played struct {
	Root     string            // the folder that names are relative to
	Suite    *suite.File       // nil if it could not be read
	Coverage []*suite.Coverage // of each result
}

// Gather puts together what all files of tests have reached, by the files that they are about.
func Gather(files []Played) []*File {
	all := map[string]*File{}
	for _, f := range files {
		if f.Suite == nil {
			continue
		}
		for _, s := range f.Suite.Subjects() {
			path := filepath.Join(f.Root, filepath.FromSlash(s.Name))
			c := all[path]
			if c == nil {
				c = &File{name: s.Name, path: path, marks: s.Marks, counts: make([]uint32, len(s.Marks))}
				all[path] = c
			}
			for _, of := range f.Coverage {
				for i, n := range of.Of(s) {
					c.counts[i] += n
				}
			}
		}
	}
	byPath := func(a, b *File) int { return cmp.Compare(a.path, b.path) }
	return slices.SortedFunc(maps.Values(all), byPath)
}

// lines lists the lines in which statements begin, with how often the one was begun that was begun
// most often.
func (c *File) lines() (lines []int, counts map[int]uint32) {
	counts = map[int]uint32{}
	for i, m := range c.marks {
		if m.Way == compile.WayNone {
			line := int(m.Line)
			counts[line] = max(counts[line], c.counts[i])
		}
	}
	return slices.Sorted(maps.Keys(counts)), counts
}

// branch is a way that a decision can take.
type branch struct {
	line, block, number int // the block is a decision's number in its line, the number a way's in that
	way                 compile.Way
	count               uint32
	met                 bool // what the decision stands in was begun
}

// branches lists the ways of all decisions, in the order of the lines.
func (c *File) branches() []branch {
	type place struct{ line, col int32 }
	numbers, blocks, inLine := map[place]int{}, map[place]int{}, map[int32]int{}
	var all []branch
	for i, m := range c.marks {
		if m.Way == compile.WayNone {
			continue
		}
		of := place{m.OfLine, m.OfCol}
		if _, known := blocks[of]; !known {
			blocks[of] = inLine[of.line]
			inLine[of.line]++
		}
		around := compile.Around(c.marks, of.line, of.col, of.line, of.col+1)
		all = append(all, branch{line: int(of.line), block: blocks[of], number: numbers[of], way: m.Way,
			count: c.counts[i], met: around < 0 || c.counts[around] > 0})
		numbers[of]++
	}
	slices.SortStableFunc(all, func(a, b branch) int {
		return cmp.Or(cmp.Compare(a.line, b.line), cmp.Compare(a.block, b.block))
	})
	return all
}

// Document says of a file what was reached.
func (c *File) Document() Document {
	none := Share{Percent: 100}
	d := Document{File: c.name, Lines: none, Branches: none, Missed: []Miss{}}
	lines, counts := c.lines()
	before := -1
	for _, line := range lines {
		d.Lines.add(counts[line] > 0)
		if counts[line] == 0 {
			d.Missed = append(d.Missed, Miss{Line: line, after: before})
		}
		before = line
	}
	for _, b := range c.branches() {
		d.Branches.add(b.count > 0)
		if b.count == 0 && b.met {
			d.Missed = append(d.Missed, Miss{Line: b.line, Way: b.way.String()})
		}
	}
	slices.SortStableFunc(d.Missed, func(a, b Miss) int { return cmp.Compare(a.Line, b.Line) })
	return d
}

// missed is what was missed in words: lines that follow each other without one between that was
// reached stand together, and of a line that was reached its ways.
func (d *Document) missed() string {
	var words []string
	for i := 0; i < len(d.Missed); i++ {
		first := i
		for d.Missed[i].Way == "" && i+1 < len(d.Missed) && d.Missed[i+1].after == d.Missed[i].Line {
			i++
		}
		switch m := d.Missed[first]; {
		case m.Way != "":
			words = append(words, fmt.Sprintf("%d %s", m.Line, m.Way))
		case i > first:
			words = append(words, fmt.Sprintf("%d-%d", m.Line, d.Missed[i].Line))
		default:
			words = append(words, fmt.Sprint(m.Line))
		}
	}
	return strings.Join(words, ", ")
}

// Print tells people of each file how much was reached, and with lines what was not.
func Print(out io.Writer, documents []Document, lines bool) {
	w := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	fmt.Fprintln(w, "FILE\tLINES\t\tBRANCHES")
	var all Document
	for _, d := range documents {
		fmt.Fprintf(w, "%s\t%s\t%s\n", d.File, &d.Lines, &d.Branches)
		all.Lines.join(d.Lines)
		all.Branches.join(d.Branches)
	}
	if len(documents) > 1 {
		fmt.Fprintf(w, "all\t%s\t%s\n", &all.Lines, &all.Branches)
	}
	w.Flush()
	for _, d := range documents {
		if missed := d.missed(); lines && missed != "" {
			fmt.Fprintf(out, "%s: no test reaches %s\n", d.File, missed)
		}
	}
}

func (s *Share) String() string {
	return fmt.Sprintf("%d of %d\t%.1f %%", s.Reached, s.Total, s.Percent)
}

// WriteLCOV writes a tracefile as geninfo(1) of lcov describes it.
func WriteLCOV(path string, all []*File) error {
	var b strings.Builder
	for _, c := range all {
		fmt.Fprintf(&b, "TN:\nSF:%s\n", c.path)
		var share Share
		for _, way := range c.branches() {
			taken := "-"
			if way.met {
				taken = fmt.Sprint(way.count)
			}
			fmt.Fprintf(&b, "BRDA:%d,%d,%d,%s\n", way.line, way.block, way.number, taken)
			share.add(way.count > 0)
		}
		fmt.Fprintf(&b, "BRF:%d\nBRH:%d\n", share.Total, share.Reached)
		share = Share{}
		lines, counts := c.lines()
		for _, line := range lines {
			fmt.Fprintf(&b, "DA:%d,%d\n", line, counts[line])
			share.add(counts[line] > 0)
		}
		fmt.Fprintf(&b, "LF:%d\nLH:%d\nend_of_record\n", share.Total, share.Reached)
	}
	return os.WriteFile(path, []byte(b.String()), 0o644)
}
