package mutant

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"starling/cmd/starling/coverage"
	"starling/cmd/starling/junit"
	"starling/cmd/starling/plain"
	"starling/cmd/starling/table"
	"starling/lang/diagnostic"
	"starling/lang/mutate"
	"starling/runtime"
)

// Document is what test --mutate prints with --json.
type Document struct {
	Schema string `json:"schema"`
	Seed   uint64 `json:"seed,omitempty"` // with --sample
	counts
	Files       []fileDocument   `json:"files"`
	Diagnostics diagnostic.List  `json:"diagnostics"` // marks that do not hold
	Error       *runtime.Refusal `json:"error"`       // null if the marks hold, and enough was noticed
}

// counts says what became of how many mutants.
type counts struct {
	Total      int     `json:"total"`
	Noticed    int     `json:"noticed"`
	TimedOut   int     `json:"timed_out"`
	Survived   int     `json:"survived"`
	NotReached int     `json:"not_reached"`
	Equivalent int     `json:"equivalent"`
	Invalid    int     `json:"invalid"`
	Percent    float64 `json:"percent"` // noticed or timed out of all but the invalid, rounded down
}

type fileDocument struct {
	File string `json:"file"`
	counts
	Mutants []mutantDocument `json:"mutants"` // in the order of the text
}

type mutantDocument struct {
	Line    int         `json:"line"`
	Column  int         `json:"column"`
	Kind    mutate.Kind `json:"kind"`
	Outcome outcome     `json:"outcome"`
	Test    string      `json:"test,omitempty"`   // that has noticed it
	Reason  string      `json:"reason,omitempty"` // why it is equivalent
	Diff    string      `json:"diff"`             // lines behind "-" and "+"
}

func (n *counts) add(o outcome) {
	n.Total++
	*map[outcome]*int{noticed: &n.Noticed, timedOut: &n.TimedOut, survived: &n.Survived,
		notReached: &n.NotReached, equivalent: &n.Equivalent, invalid: &n.Invalid}[o]++
	n.Percent = coverage.Percent(n.Noticed+n.TimedOut, n.Total-n.Invalid)
}

// Wrong is the report on marks and texts for which nothing was tried.
func Wrong(wrong diagnostic.List) *Document {
	d := &Document{Schema: runtime.Schema, Files: []fileDocument{}, Diagnostics: wrong}
	d.conclude()
	return d
}

// Report is what became of all mutants. The error is that of one that could not be tried.
func (f *Flags) Report(targets []*Target) (*Document, error) {
	d := &Document{Schema: runtime.Schema, Files: []fileDocument{}, Diagnostics: diagnostic.List{}}
	if f.sample > 0 {
		d.Seed = f.seed
	}
	for _, t := range targets {
		d.Diagnostics = append(d.Diagnostics, t.mark()...)
		file := fileDocument{File: t.name, Mutants: []mutantDocument{}}
		for _, m := range t.trials {
			if m.fault != nil {
				return nil, m.fault
			}
			file.add(m.outcome)
			d.add(m.outcome)
			file.Mutants = append(file.Mutants, mutantDocument{m.Line, m.Column, m.Kind, m.outcome, m.test,
				m.reason, strings.Join(t.diff(m), "\n")})
		}
		d.Files = append(d.Files, file)
	}
	if d.Percent < f.least {
		d.Error = runtime.Refuse(runtime.ErrBelowLeast, "",
			"%.1f %% of the mutants were noticed, want at least %v %%", d.Percent, f.least)
	}
	d.conclude()
	return d, nil
}

// conclude sets the error: that of a check where a mark is wrong, else that of too few that were
// noticed.
func (d *Document) conclude() {
	if n := len(d.Diagnostics); n > 0 {
		said := table.Counted(n, "wrong mark") + " of mutants"
		if len(d.Files) == 0 {
			said = table.Counted(n, "error") + "; no mutant was tried"
		}
		d.Error = runtime.Refusef(runtime.ErrCheckFailed, "%s", said)
	}
}

// greatestShare is how many mutants of a file there are for each that may be marked.
const greatestShare = 20

// mark makes survivors that are marked equivalent, and finds the marks that do not hold: those that
// speak of none, and too many. Mutants that were not drawn may be what a mark speaks of.
func (t *Target) mark() (wrong diagnostic.List) {
	marked, valid := 0, 0
	used := make([]bool, len(t.marks))
	for _, m := range t.trials {
		if m.outcome != invalid {
			valid++
		}
		for i, k := range t.marks {
			if m.outcome == survived && k.Covers(&m.Mutant) {
				m.outcome, m.reason, used[i] = equivalent, k.Reason, true
				marked++
			}
		}
	}
	if t.drawn {
		return nil
	}
	for i, k := range t.marks {
		if !used[i] {
			wrong = append(wrong, t.problem(k.At, "no mutant survives that this mark speaks of",
				"tests notice all of them: take the mark away"))
		}
	}
	if marked*greatestShare > valid {
		last := t.marks[len(t.marks)-1]
		said := fmt.Sprintf("%d of %d mutants of the file are marked as equivalent, want at most one in %d",
			marked, valid, greatestShare)
		wrong = append(wrong, t.problem(last.At, said, "write tests that notice them"))
	}
	return wrong
}

func (t *Target) problem(line int, message, hint string) diagnostic.Diagnostic {
	text := string(t.source)
	from := diagnostic.Offset(text, line, 1)
	rest, _, _ := strings.Cut(text[from:], "\n")
	at := from + max(0, strings.LastIndex(rest, "#"))
	d := diagnostic.Diagnostic{Kind: "mutate", Message: message, Hint: hint}
	return d.At(t.name, text, at, from+len(rest))
}

// diff lists the lines that a mutant changes, as they are behind "-" and as they become behind "+".
func (t *Target) diff(m *trial) []string {
	before := strings.Split(string(t.source), "\n")
	after := strings.Split(string(m.Apply(t.source)), "\n")
	last := m.Line + strings.Count(m.Before, "\n")
	var out []string
	for _, line := range plain.Diff(before[m.Line-1:last], after[m.Line-1:last-len(before)+len(after)]) {
		if !strings.HasPrefix(line, "  ") && line != "+ " {
			out = append(out, strings.TrimSuffix(line, "\r"))
		}
	}
	return out
}

// said are the words of outcomes for people.
func (o outcome) said() string { return strings.ReplaceAll(string(o), "_", " ") }

// Print tells people of the mutants that nobody has noticed, or with all of each, and of each file
// and of marks that do not hold.
func (d *Document) Print(out io.Writer, all bool) {
	defer fmt.Fprint(out, d.Diagnostics.Render())
	if len(d.Files) == 0 {
		return
	}
	for _, f := range d.Files {
		for _, m := range f.Mutants {
			if all || m.Outcome == survived || m.Outcome == notReached || m.Outcome == equivalent {
				m.print(out, f.File)
			}
		}
	}
	w := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	defer w.Flush()
	fmt.Fprintln(w, "FILE\tNOTICED\tTIMED OUT\tSURVIVED\tNOT REACHED\tEQUIVALENT\tINVALID\t%")
	for _, f := range d.Files {
		f.print(w, f.File)
	}
	if len(d.Files) > 1 {
		d.print(w, "all")
	}
}

func (n *counts) print(w *tabwriter.Writer, name string) {
	share := "-"
	if n.Total > n.Invalid {
		share = fmt.Sprintf("%.1f", n.Percent)
	}
	fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%d\t%d\t%d\t%s\n", name,
		n.Noticed, n.TimedOut, n.Survived, n.NotReached, n.Equivalent, n.Invalid, share)
}

func (m *mutantDocument) print(out io.Writer, file string) {
	about := ""
	switch {
	case m.Test != "":
		about = ", by " + m.Test
	case m.Reason != "":
		about = ", " + m.Reason
	}
	fmt.Fprintf(out, "%s  %s:%d:%d: %s%s\n", m.Outcome.said(), file, m.Line, m.Column, m.Kind, about)
	for line := range strings.SplitSeq(m.Diff, "\n") {
		fmt.Fprintf(out, "  %s\n", line)
	}
}

// WriteJUnit writes to a file a suite for each file and a case for each mutant, which fails where
// nobody has noticed it.
func WriteJUnit(path string, targets []*Target) error {
	var all junit.Suites
	for _, t := range targets {
		s := junit.Suite{Name: t.name, Tests: len(t.trials)}
		var took time.Duration
		for _, m := range t.trials {
			diff := strings.Join(t.diff(m), "\n")
			k := junit.Case{Name: fmt.Sprintf("%d:%d %s", m.Line, m.Column, m.Kind), Class: t.name,
				File: t.name, Line: m.Line, Time: junit.Seconds(m.took), Output: diff}
			took += m.took
			switch m.outcome {
			case survived, notReached:
				s.Failures++
				k.Failure = &junit.Fault{Type: string(m.outcome), Message: m.outcome.said(), Text: diff}
			case equivalent, invalid:
				s.Skipped++
				k.Skipped = &junit.Fault{Type: string(m.outcome), Message: cmp.Or(m.reason, m.outcome.said())}
			}
			s.Cases = append(s.Cases, k)
		}
		s.Time = junit.Seconds(took)
		all.Suites = append(all.Suites, s)
	}
	return all.Write(path)
}
