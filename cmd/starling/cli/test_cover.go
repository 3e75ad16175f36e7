package cli

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"starling/lang/compile"
)

// coverFlags are the flags of test that say what is told of what the tests reach. Each asks for it.
type coverFlags struct {
	table bool
	lines bool
	lcov  string
}

func (f *coverFlags) wanted() bool { return f.table || f.lines || f.lcov != "" }

// covered is what all tests together have reached of one file.
type covered struct {
	name   string
	path   string // on the disk
	marks  []compile.Mark
	counts []uint32 // of each mark
}

// coverDocument is what test --cover --json says of one file.
type coverDocument struct {
	File     string      `json:"file"`
	Lines    coverShare  `json:"lines"`
	Branches coverShare  `json:"branches"`
	Missed   []coverMiss `json:"missed"` // in the order of the text
}

// coverShare is how many of how many were reached.
type coverShare struct {
	Reached int     `json:"reached"`
	Total   int     `json:"total"`
	Percent float64 `json:"percent"` // rounded down to a tenth; 100 where there are none
}

func (s *coverShare) add(reached bool) {
	s.Total++
	if reached {
		s.Reached++
	}
	s.Percent = percent(s.Reached, s.Total)
}

func (s *coverShare) join(other coverShare) {
	s.Reached, s.Total = s.Reached+other.Reached, s.Total+other.Total
	s.Percent = percent(s.Reached, s.Total)
}

// percent is rounded down to a tenth; of nothing it is 100.
func percent(part, whole int) float64 {
	if whole == 0 {
		return 100
	}
	return math.Floor(float64(part)*1000/float64(whole)) / 10
}

// coverMiss is a line whose statements no test has begun, or a way that no test has taken from a
// decision.
type coverMiss struct {
	Line int    `json:"line"`
	Way  string `json:"way,omitempty"` // of the decision in the line, none for the line itself

	after int // the line with statements before it, none for a way
}

// coverage gathers what all files of tests have reached, by the files that they are about.
func coverage(files []*testFile) []*covered {
	all := map[string]*covered{}
	for _, f := range files {
		if f.suite == nil {
			continue
		}
		for _, s := range f.suite.Subjects() {
			path := filepath.Join(f.root, filepath.FromSlash(s.Name))
			c := all[path]
			if c == nil {
				c = &covered{name: s.Name, path: path, marks: s.Marks, counts: make([]uint32, len(s.Marks))}
				all[path] = c
			}
			for _, of := range f.coverage {
				for i, n := range of.Of(s) {
					c.counts[i] += n
				}
			}
		}
	}
	byPath := func(a, b *covered) int { return cmp.Compare(a.path, b.path) }
	return slices.SortedFunc(maps.Values(all), byPath)
}

// lines lists the lines in which statements begin, with how often the one was begun that was begun
// most often.
func (c *covered) lines() (lines []int, counts map[int]uint32) {
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
func (c *covered) branches() []branch {
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

func (c *covered) document() coverDocument {
	none := coverShare{Percent: 100}
	d := coverDocument{File: c.name, Lines: none, Branches: none, Missed: []coverMiss{}}
	lines, counts := c.lines()
	before := -1
	for _, line := range lines {
		d.Lines.add(counts[line] > 0)
		if counts[line] == 0 {
			d.Missed = append(d.Missed, coverMiss{Line: line, after: before})
		}
		before = line
	}
	for _, b := range c.branches() {
		d.Branches.add(b.count > 0)
		if b.count == 0 && b.met {
			d.Missed = append(d.Missed, coverMiss{Line: b.line, Way: b.way.String()})
		}
	}
	slices.SortStableFunc(d.Missed, func(a, b coverMiss) int { return cmp.Compare(a.Line, b.Line) })
	return d
}

// missed is what was missed in words: lines that follow each other without one between that was
// reached stand together, and of a line that was reached its ways.
func (d *coverDocument) missed() string {
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

// printCoverage tells people of each file how much was reached, and with lines what was not.
func (c *call) printCoverage(documents []coverDocument, lines bool) {
	w := tabwriter.NewWriter(c.stdout, 0, 8, 2, ' ', 0)
	fmt.Fprintln(w, "FILE\tLINES\t\tBRANCHES")
	var all coverDocument
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
			c.print("%s: no test reaches %s", d.File, missed)
		}
	}
}

func (s *coverShare) String() string {
	return fmt.Sprintf("%d of %d\t%.1f %%", s.Reached, s.Total, s.Percent)
}

// writeLCOV writes a tracefile as geninfo(1) of lcov describes it.
func writeLCOV(path string, all []*covered) error {
	var b strings.Builder
	for _, c := range all {
		fmt.Fprintf(&b, "TN:\nSF:%s\n", c.path)
		var share coverShare
		for _, way := range c.branches() {
			taken := "-"
			if way.met {
				taken = fmt.Sprint(way.count)
			}
			fmt.Fprintf(&b, "BRDA:%d,%d,%d,%s\n", way.line, way.block, way.number, taken)
			share.add(way.count > 0)
		}
		fmt.Fprintf(&b, "BRF:%d\nBRH:%d\n", share.Total, share.Reached)
		share = coverShare{}
		lines, counts := c.lines()
		for _, line := range lines {
			fmt.Fprintf(&b, "DA:%d,%d\n", line, counts[line])
			share.add(counts[line] > 0)
		}
		fmt.Fprintf(&b, "LF:%d\nLH:%d\nend_of_record\n", share.Total, share.Reached)
	}
	return os.WriteFile(path, []byte(b.String()), 0o644)
}
