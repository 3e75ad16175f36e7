package measure

import (
	"encoding/xml"
	"errors"
	"io"
	"math"
	"strconv"
	"strings"

	"golang.org/x/tools/cover"
)

// Coverage is how much of a project its tests have run, in per cent with two decimals. nil is
// what a report does not tell: a profile of Go knows statements alone, which count as lines.
type Coverage struct {
	Line     *float64
	Branch   *float64
	Function *float64
}

// share is how many of how many were reached.
type share struct{ hit, all float64 }

func (s *share) add(hit, all float64) { s.hit, s.all = s.hit+hit, s.all+all }

// percent is nil where there is nothing to reach.
func (s share) percent() *float64 {
	if s.all <= 0 || s.hit < 0 || s.hit > s.all {
		return nil
	}
	return part(100*s.hit/s.all, true)
}

func part(value float64, known bool) *float64 {
	if !known {
		return nil
	}
	value = math.Round(value*100) / 100
	return &value
}

// shares are those of all reports together.
type shares struct{ line, branch, function share }

// ErrNoLines is the error, also [ErrUnreadable], of reports of coverage that are whole and tell of
// no line: nothing was run, or what ran has ended before it could write, as a Go test that panics.
var ErrNoLines = unreadable("no line is told of")

// ReadCoverage reads reports that belong together, each a cover profile of Go, a tracefile of lcov,
// or XML of Cobertura or JaCoCo, and tells from its beginning which. Every report must say
// something.
func ReadCoverage(reports []Report) (*Coverage, error) {
	var s shares
	for _, r := range reports {
		text := strings.TrimPrefix(r.Text, "\ufeff")
		var err error
		switch head := strings.TrimLeft(text, " \t\r\n"); {
		case strings.HasPrefix(head, "mode:"):
			err = s.readProfile(head)
		case strings.HasPrefix(head, "TN:"), strings.HasPrefix(head, "SF:"):
			err = s.readLcov(head)
		case strings.HasPrefix(head, "<"):
			err = s.readXML(head)
		default:
			err = unreadable("it is neither a cover profile of Go, nor lcov, nor XML of Cobertura or JaCoCo")
		}
		if err != nil {
			return nil, r.fault(err)
		}
	}
	c := &Coverage{s.line.percent(), s.branch.percent(), s.function.percent()}
	if c.Line == nil {
		return nil, ErrNoLines
	}
	return c, nil
}

// readProfile reads what go test -coverprofile has written.
func (s *shares) readProfile(text string) error {
	profiles, err := cover.ParseProfilesFromReader(strings.NewReader(text))
	if err != nil {
		return unreadable("%v", err)
	}
	for _, p := range profiles {
		for _, b := range p.Blocks {
			hit := 0
			if b.Count > 0 {
				hit = b.NumStmt
			}
			s.line.add(float64(hit), float64(b.NumStmt))
		}
	}
	return nil
}

// readLcov reads a tracefile (man geninfo, "TRACEFILE FORMAT"). Lines and branches are counted by
// their records, not by the sums that follow them, which some producers leave out.
func (s *shares) readLcov(text string) error {
	sums := map[string]float64{}
	ended := true
	for line := range strings.Lines(text) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		switch key {
		case "SF":
			ended = false
		case "DA":
			s.line.add(lcovHit(value, 1), 1)
		case "BRDA":
			s.branch.add(lcovHit(value, 3), 1)
		case "FNF", "FNH":
			n, err := strconv.ParseUint(value, 10, 32)
			if err != nil {
				return unreadable("%s:%s is no number", key, tidy(value))
			}
			sums[key] += float64(n)
		case "end_of_record":
			ended = true
		}
	}
	if !ended {
		return unreadable("it is cut: there is no end_of_record")
	}
	s.function.add(sums["FNH"], sums["FNF"])
	return nil
}

// lcovHit is 1 where the n-th field of a record is a count above 0.
func lcovHit(value string, n int) float64 {
	fields := strings.SplitN(value, ",", n+2)
	if len(fields) <= n {
		return 0
	}
	count, err := strconv.ParseFloat(fields[n], 64)
	if err != nil || count <= 0 {
		return 0 // "-" is a branch that was never come to
	}
	return 1
}

// readXML reads a coverage element of Cobertura or a report element of JaCoCo.
func (s *shares) readXML(text string) error {
	d := decoder(text)
	var take func(e xml.StartElement, depth int) error
	depth := 0
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return unreadable("%v", err)
		}
		switch e := token.(type) {
		case xml.StartElement:
			if take == nil {
				take, err = s.root(e)
			} else {
				err = take(e, depth)
			}
			depth++
		case xml.EndElement:
			depth--
		}
		if err != nil {
			return err
		}
	}
	if take == nil {
		return unreadable("it is empty")
	}
	return nil
}

// root tells by the first element how those within it are taken, by how deep they are.
func (s *shares) root(e xml.StartElement) (func(e xml.StartElement, depth int) error, error) {
	switch e.Name.Local {
	case "coverage":
		if !s.totals(e) {
			return nil, unreadable("coverage has neither lines-valid nor line-rate")
		}
		return s.cobertura, nil
	case "report":
		return s.jacoco, nil
	}
	return nil, unreadable("the element is %s, want coverage (Cobertura) or report (JaCoCo)", tidy(e.Name.Local))
}

// cobertura counts the methods that were entered. The totals stand at the root
// (https://github.com/cobertura/web/blob/master/htdocs/xml/coverage-04.dtd).
func (s *shares) cobertura(e xml.StartElement, _ int) error {
	if e.Name.Local != "method" {
		return nil
	}
	hit := 0.0
	if rate, ok := rateOf(e, "line-rate"); ok && rate > 0 {
		hit = 1
	}
	s.function.add(hit, 1)
	return nil
}

// jacoco takes the counters of the whole report, which stand below its root and are the sums of all
// groups, packages and classes (https://www.jacoco.org/jacoco/trunk/coverage/report.dtd).
func (s *shares) jacoco(e xml.StartElement, depth int) error {
	of := map[string]*share{"LINE": &s.line, "BRANCH": &s.branch, "METHOD": &s.function}[attribute(e, "type")]
	if e.Name.Local != "counter" || depth != 1 || of == nil {
		return nil
	}
	missed, err1 := strconv.ParseUint(attribute(e, "missed"), 10, 32)
	covered, err2 := strconv.ParseUint(attribute(e, "covered"), 10, 32)
	if err1 != nil || err2 != nil {
		return unreadable("the counter %s says missed=%q and covered=%q, want two numbers",
			attribute(e, "type"), tidy(attribute(e, "missed")), tidy(attribute(e, "covered")))
	}
	of.add(float64(covered), float64(missed+covered))
	return nil
}

// totals takes the totals of Cobertura, or its rates where there are none.
func (s *shares) totals(e xml.StartElement) bool {
	if hit, all, ok := countsOf(e, "branches"); ok {
		s.branch.add(hit, all)
	}
	if hit, all, ok := countsOf(e, "lines"); ok {
		s.line.add(hit, all)
		return true
	}
	if rate, ok := rateOf(e, "branch-rate"); ok && s.branch.all == 0 && rate > 0 {
		s.branch.add(rate, 1)
	}
	rate, ok := rateOf(e, "line-rate")
	s.line.add(rate, 1)
	return ok
}

// countsOf reads lines-covered and lines-valid, or those of branches.
func countsOf(e xml.StartElement, of string) (hit, all float64, ok bool) {
	h, err1 := strconv.ParseUint(attribute(e, of+"-covered"), 10, 32)
	a, err2 := strconv.ParseUint(attribute(e, of+"-valid"), 10, 32)
	return float64(h), float64(a), err1 == nil && err2 == nil && h <= a
}

func rateOf(e xml.StartElement, name string) (float64, bool) {
	rate, err := strconv.ParseFloat(attribute(e, name), 64)
	return rate, err == nil && rate >= 0 && rate <= 1
}
