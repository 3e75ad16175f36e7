package cli

import (
	"cmp"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"starling/cmd/starling/coverage"
	"starling/cmd/starling/junit"
	"starling/cmd/starling/plain"
	"starling/lang/diagnostic"
	"starling/lang/mutate"
	"starling/runtime"
)

// mutateDocument is what test --mutate prints with --json.
type mutateDocument struct {
	Schema string `json:"schema"`
	Seed   uint64 `json:"seed,omitempty"` // with --sample
	mutantCounts
	Files       []mutatedFileDocument `json:"files"`
	Diagnostics diagnostic.List       `json:"diagnostics"` // marks that do not hold
	Error       *runtime.Refusal      `json:"error"`       // null if the marks hold, and enough was noticed
}

// mutantCounts says what became of how many mutants.
type mutantCounts struct {
	Total      int     `json:"total"`
	Noticed    int     `json:"noticed"`
	TimedOut   int     `json:"timed_out"`
	Survived   int     `json:"survived"`
	NotReached int     `json:"not_reached"`
	Equivalent int     `json:"equivalent"`
	Invalid    int     `json:"invalid"`
	Percent    float64 `json:"percent"` // noticed or timed out of all but the invalid, rounded down
}

type mutatedFileDocument struct {
	File string `json:"file"`
	mutantCounts
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

func (n *mutantCounts) add(o outcome) {
	n.Total++
	*map[outcome]*int{noticed: &n.Noticed, timedOut: &n.TimedOut, survived: &n.Survived,
		notReached: &n.NotReached, equivalent: &n.Equivalent, invalid: &n.Invalid}[o]++
	n.Percent = coverage.Percent(n.Noticed+n.TimedOut, n.Total-n.Invalid)
}

// green tells whether all tests could be played, some were, and all have passed.
func green(files []*testFile) bool {
	played := 0
	for _, f := range files {
		if f.fault != nil || f.suite == nil {
			return false
		}
		for _, r := range f.results {
			if played++; !r.Passed {
				return false
			}
		}
	}
	return played > 0
}

// answerMarks reports what is wrong with marks and texts before anything is tried. Another error is
// given back.
func (c *call) answerMarks(err error) error {
	wrong := diagnosticsOf(err)
	if len(wrong) == 0 {
		return err
	}
	d := mutateDocument{Schema: runtime.Schema, Files: []mutatedFileDocument{}, Diagnostics: wrong}
	return c.concludeMutate(&d)
}

// answerMutate reports on all mutants.
func (c *call) answerMutate(targets []*target, v *testVerb) error {
	d := mutateDocument{Schema: runtime.Schema, Files: []mutatedFileDocument{},
		Diagnostics: diagnostic.List{}}
	if v.mutate.sample > 0 {
		d.Seed = v.mutate.seed
	}
	for _, t := range targets {
		d.Diagnostics = append(d.Diagnostics, t.mark()...)
		file := mutatedFileDocument{File: t.name, Mutants: []mutantDocument{}}
		for _, m := range t.trials {
			if m.fault != nil {
				return m.fault
			}
			file.add(m.outcome)
			d.add(m.outcome)
			file.Mutants = append(file.Mutants, mutantDocument{m.Line, m.Column, m.Kind, m.outcome, m.test,
				m.reason, strings.Join(t.diff(m), "\n")})
		}
		d.Files = append(d.Files, file)
	}
	if d.Percent < v.mutate.least {
		d.Error = runtime.Refuse(runtime.ErrBelowLeast, "",
			"%.1f %% of the mutants were noticed, want at least %v %%", d.Percent, v.mutate.least)
	}
	if err := writeJUnitMutants(v.junit, targets); err != nil {
		return usage("", "test: --junit: %v", err)
	}
	if !c.json {
		c.printMutants(&d, v.verbose)
	}
	return c.concludeMutate(&d)
}

// concludeMutate ends a report, and sets the exit code: that of a check where a mark is wrong, else
// that of too few that were noticed.
func (c *call) concludeMutate(d *mutateDocument) error {
	if n := len(d.Diagnostics); n > 0 {
		said := counted(n, "wrong mark") + " of mutants"
		if len(d.Files) == 0 {
			said = counted(n, "error") + "; no mutant was tried"
		}
		d.Error = runtime.Refusef(runtime.ErrCheckFailed, "%s", said)
	}
	if d.Error != nil {
		c.code = d.Error.Kind.ExitCode()
	}
	if c.json {
		return c.answerJSON(d)
	}
	fmt.Fprint(c.stdout, d.Diagnostics.Render())
	if d.Error != nil {
		c.notice("error: %s", d.Error.Message)
	}
	return nil
}

// greatestShare is how many mutants of a file there are for each that may be marked.
const greatestShare = 20

// mark makes survivors that are marked equivalent, and finds the marks that do not hold: those that
// speak of none, and too many. Mutants that were not drawn may be what a mark speaks of.
func (t *target) mark() (wrong diagnostic.List) {
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

func (t *target) problem(line int, message, hint string) diagnostic.Diagnostic {
	text := string(t.source)
	from := diagnostic.Offset(text, line, 1)
	rest, _, _ := strings.Cut(text[from:], "\n")
	at := from + max(0, strings.LastIndex(rest, "#"))
	d := diagnostic.Diagnostic{Kind: "mutate", Message: message, Hint: hint}
	return d.At(t.name, text, at, from+len(rest))
}

// diff lists the lines that a mutant changes, as they are behind "-" and as they become behind "+".
func (t *target) diff(m *trial) []string {
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

// printMutants tells people of the mutants that nobody has noticed, or with all of each, and of
// each file.
func (c *call) printMutants(d *mutateDocument, all bool) {
	for _, f := range d.Files {
		for _, m := range f.Mutants {
			if all || m.Outcome == survived || m.Outcome == notReached || m.Outcome == equivalent {
				c.printMutant(f.File, &m)
			}
		}
	}
	w := tabwriter.NewWriter(c.stdout, 0, 8, 2, ' ', 0)
	defer w.Flush()
	fmt.Fprintln(w, "FILE\tNOTICED\tTIMED OUT\tSURVIVED\tNOT REACHED\tEQUIVALENT\tINVALID\t%")
	for _, f := range d.Files {
		f.print(w, f.File)
	}
	if len(d.Files) > 1 {
		d.print(w, "all")
	}
}

func (n *mutantCounts) print(w *tabwriter.Writer, name string) {
	share := "-"
	if n.Total > n.Invalid {
		share = fmt.Sprintf("%.1f", n.Percent)
	}
	fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%d\t%d\t%d\t%s\n", name,
		n.Noticed, n.TimedOut, n.Survived, n.NotReached, n.Equivalent, n.Invalid, share)
}

func (c *call) printMutant(file string, m *mutantDocument) {
	about := ""
	switch {
	case m.Test != "":
		about = ", by " + m.Test
	case m.Reason != "":
		about = ", " + m.Reason
	}
	c.print("%s  %s:%d:%d: %s%s", m.Outcome.said(), file, m.Line, m.Column, m.Kind, about)
	for line := range strings.SplitSeq(m.Diff, "\n") {
		c.print("  %s", line)
	}
}

// writeJUnitMutants writes a suite for each file and a case for each mutant, which fails where
// nobody has noticed it.
func writeJUnitMutants(path string, targets []*target) error {
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
