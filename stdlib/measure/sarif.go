package measure

import (
	"encoding/json"
	"net/url"
	"strconv"
	"strings"
)

// sarifLog is what is read of SARIF 2.1.0:
// https://docs.oasis-open.org/sarif/sarif/v2.1.0/os/sarif-v2.1.0-os.html
type sarifLog struct {
	Version string
	Runs    []sarifRun
}

type sarifRun struct {
	Tool struct {
		Driver struct {
			Name  string
			Rules []sarifRule
		}
		Extensions []struct{ Rules []sarifRule }
	}
	Invocations []struct {
		ExecutionSuccessful        *bool
		ToolExecutionNotifications []sarifNotice
	}
	Results *[]sarifResult // absent: nothing was looked for (3.14.23)
}

// sarifNotice is what a tool has met while it looked; what it could not do has the level "error"
// (3.58.6).
type sarifNotice struct {
	Level   string
	Message struct{ Text, Markdown, ID string }
}

type sarifRule struct {
	ID                   string
	DefaultConfiguration struct{ Level string }
	Properties           map[string]any
}

type sarifResult struct {
	RuleID    string
	RuleIndex *int
	Kind      string
	Level     string
	Message   struct{ Text, Markdown, ID string }
	Locations []struct {
		PhysicalLocation struct {
			ArtifactLocation struct{ URI string }
			Region           struct{ StartLine int }
		}
	}
	Suppressions  []struct{ Status string }
	BaselineState string
	Properties    map[string]any
}

// Scan is what scanners have found.
type Scan struct {
	Tools      []string
	Results    []ScanResult
	Suppressed int // results that somebody has marked as not to count
}

// ScanResult is one finding of a scanner. Severity is CRITICAL, HIGH, MEDIUM or LOW: of the
// security-severity that the rule or the result has (9, 7 and 4 are the least of the upper three,
// as with CVSS), or of its level: error, warning, note. File is "" and Line 0 where it has no
// place.
type ScanResult struct {
	Tool, Rule, Severity, File string
	Line                       int
	Message                    string
}

// maxResults bounds the results of one scan: what has more is to be looked at by people first.
const maxResults = 2000

// ReadSARIF reads logs of SARIF 2.1.0. A run that says that it did not succeed, that something
// could not be looked at, or that looked for nothing, is [ErrUnreadable]; results that are no
// failure, are unchanged by being gone ("absent") or of the level none do not count.
func ReadSARIF(reports []Report) (*Scan, error) {
	s := &Scan{Tools: []string{}, Results: []ScanResult{}}
	for _, r := range reports {
		if err := s.read(strings.TrimPrefix(r.Text, "\ufeff")); err != nil {
			return nil, r.fault(err)
		}
	}
	return s, nil
}

func (s *Scan) read(text string) error {
	var log sarifLog
	if err := json.Unmarshal([]byte(text), &log); err != nil {
		return unreadable("SARIF: %v", err)
	}
	if log.Version != "2.1.0" || len(log.Runs) == 0 {
		return unreadable("SARIF: the version is %q with %d runs, want 2.1.0 and one at least", tidy(log.Version), len(log.Runs))
	}
	for _, run := range log.Runs {
		if err := s.take(&run); err != nil {
			return err
		}
	}
	return nil
}

func (s *Scan) take(run *sarifRun) error {
	tool := tidy(run.Tool.Driver.Name)
	for _, i := range run.Invocations {
		if i.ExecutionSuccessful != nil && !*i.ExecutionSuccessful {
			return unreadable("SARIF: %s says that it did not succeed", tool)
		}
		for _, n := range i.ToolExecutionNotifications {
			if n.Level == "error" {
				said := tidy(first(n.Message.Text, n.Message.Markdown, n.Message.ID, "an error"))
				return unreadable("SARIF: %s has not looked at everything: %s", tool, said)
			}
		}
	}
	if run.Results == nil {
		return unreadable("SARIF: %s has no results: it has looked for nothing", tool)
	}
	s.Tools = append(s.Tools, tool)
	for _, r := range *run.Results {
		severity := run.severity(&r)
		switch {
		case severity == "", r.Kind != "" && r.Kind != "fail", r.BaselineState == "absent":
			continue
		case suppressed(&r):
			s.Suppressed++
			continue
		case len(s.Results) == maxResults:
			return unreadable("SARIF: there are more than %d results", maxResults)
		}
		s.Results = append(s.Results, run.result(&r, tool, severity))
	}
	return nil
}

func (run *sarifRun) result(r *sarifResult, tool, severity string) ScanResult {
	found := ScanResult{Tool: tool, Rule: tidy(run.ruleID(r)), Severity: severity, Message: tidy(first(r.Message.Text, r.Message.Markdown, r.Message.ID, run.ruleID(r)))}
	if len(r.Locations) > 0 {
		place := r.Locations[0].PhysicalLocation
		found.File, found.Line = filePath(place.ArtifactLocation.URI), max(place.Region.StartLine, 0)
	}
	const longest = 1000
	if text := []rune(found.Message); len(text) > longest {
		found.Message = string(text[:longest]) + "…"
	}
	return found
}

func first(texts ...string) string {
	for _, t := range texts {
		if strings.TrimSpace(t) != "" {
			return t
		}
	}
	return "no message"
}

// suppressed is by a suppression that is accepted, or says nothing of its status (3.35.3).
func suppressed(r *sarifResult) bool {
	for _, s := range r.Suppressions {
		if s.Status == "" || s.Status == "accepted" {
			return true
		}
	}
	return false
}

func (run *sarifRun) rule(r *sarifResult) *sarifRule {
	rules := run.Tool.Driver.Rules
	if i := r.RuleIndex; i != nil && *i >= 0 && *i < len(rules) && (r.RuleID == "" || strings.HasPrefix(r.RuleID, rules[*i].ID)) {
		return &rules[*i]
	}
	for _, e := range run.Tool.Extensions {
		rules = append(rules[:len(rules):len(rules)], e.Rules...)
	}
	for i := range rules {
		if rules[i].ID == r.RuleID {
			return &rules[i]
		}
	}
	return &sarifRule{}
}

func (run *sarifRun) ruleID(r *sarifResult) string { return first(r.RuleID, run.rule(r).ID, "no rule") }

// severity is "" for what is none.
func (run *sarifRun) severity(r *sarifResult) string {
	rule := run.rule(r)
	for _, properties := range []map[string]any{r.Properties, rule.Properties} {
		if score, ok := number(properties["security-severity"]); ok {
			return scored(score)
		}
	}
	level := r.Level
	if level == "" {
		level = rule.DefaultConfiguration.Level
	}
	switch level {
	case "none":
		return ""
	case "error":
		return "HIGH"
	case "note":
		return "LOW"
	}
	return "MEDIUM" // warning is the default (3.27.10)
}

func number(v any) (float64, bool) {
	switch v := v.(type) {
	case float64:
		return v, true
	case string:
		f, err := strconv.ParseFloat(v, 64)
		return f, err == nil
	}
	return 0, false
}

func scored(score float64) string {
	switch {
	case score >= 9:
		return "CRITICAL"
	case score >= 7:
		return "HIGH"
	case score >= 4:
		return "MEDIUM"
	}
	return "LOW"
}

// filePath is the path of a URI as it is written, without a scheme.
func filePath(uri string) string {
	uri = strings.TrimPrefix(uri, "file://")
	if path, err := url.PathUnescape(uri); err == nil {
		uri = path
	}
	return strings.TrimPrefix(tidy(uri), "./")
}
