package check

import (
	"encoding/json"
	"net/url"

	"starling/lang/diagnostic"
)

// SARIF gives findings in the form that code hosts and editors read: a log of SARIF 2.1.0,
// https://docs.oasis-open.org/sarif/sarif/v2.1.0/. Names of files are relative to the project,
// columns count code points. A rule has no helpUri: it would have to be an address, and what is
// there to be said stands in help.
func SARIF(found diagnostic.List) json.RawMessage {
	text, err := json.Marshal(sarif(found))
	if err != nil {
		panic("check: " + err.Error()) // strings and numbers
	}
	return text
}

type sarifLog struct {
	Schema  string     `json:"$schema"`
	Version string     `json:"version"`
	Runs    []sarifRun `json:"runs"`
}

type sarifRun struct {
	Tool       sarifTool     `json:"tool"`
	ColumnKind string        `json:"columnKind"`
	Results    []sarifResult `json:"results"`
}

type sarifTool struct {
	Driver sarifDriver `json:"driver"`
}

type sarifDriver struct {
	Name  string      `json:"name"`
	Rules []sarifRule `json:"rules"`
}

type sarifRule struct {
	ID               string    `json:"id"`
	ShortDescription sarifText `json:"shortDescription"`
	Help             sarifHelp `json:"help"`
}

type sarifHelp struct {
	Text     string `json:"text"`
	Markdown string `json:"markdown"`
}

type sarifText struct {
	Text string `json:"text"`
}

type sarifResult struct {
	RuleID    string          `json:"ruleId"`
	Level     string          `json:"level"`
	Message   sarifText       `json:"message"`
	Locations []sarifLocation `json:"locations"`
	Fixes     []sarifFix      `json:"fixes,omitempty"`
}

type sarifFix struct {
	Description sarifText     `json:"description"`
	Changes     []sarifChange `json:"artifactChanges"`
}

type sarifChange struct {
	ArtifactLocation sarifArtifact      `json:"artifactLocation"`
	Replacements     []sarifReplacement `json:"replacements"`
}

type sarifReplacement struct {
	DeletedRegion   sarifRange `json:"deletedRegion"`
	InsertedContent sarifText  `json:"insertedContent"`
}

type sarifRange struct {
	StartLine   int `json:"startLine"`
	StartColumn int `json:"startColumn"`
	EndLine     int `json:"endLine"`
	EndColumn   int `json:"endColumn"`
}

type sarifLocation struct {
	PhysicalLocation sarifPlace `json:"physicalLocation"`
}

type sarifPlace struct {
	ArtifactLocation sarifArtifact `json:"artifactLocation"`
	Region           *sarifRegion  `json:"region,omitempty"` // nil for a file as a whole
}

type sarifArtifact struct {
	URI       string `json:"uri"`
	URIBaseID string `json:"uriBaseId"`
}

type sarifRegion struct {
	StartLine   int `json:"startLine"`
	StartColumn int `json:"startColumn"`
	EndColumn   int `json:"endColumn"`
}

// sarif makes a log of one run of check.
func sarif(found diagnostic.List) sarifLog {
	run := sarifRun{Tool: sarifTool{sarifDriver{Name: "starling", Rules: []sarifRule{}}}, ColumnKind: "unicodeCodePoints", Results: []sarifResult{}}
	for _, r := range Rules() {
		run.Tool.Driver.Rules = append(run.Tool.Driver.Rules, sarifRule{r.Kind, sarifText{r.Doc}, sarifHelp{r.Page(), r.Page()}})
	}
	for _, d := range found {
		run.Results = append(run.Results, sarifResult{RuleID: d.Kind, Level: d.Severity.String(), Message: sarifText{said(d)},
			Locations: []sarifLocation{{sarifPlaceOf(d)}}, Fixes: sarifFixes(d)})
	}
	return sarifLog{Schema: "https://json.schemastore.org/sarif-2.1.0.json", Version: "2.1.0", Runs: []sarifRun{run}}
}

// sarifFixes is what mends a finding, if that is certain.
func sarifFixes(d diagnostic.Diagnostic) []sarifFix {
	if d.Fix == (diagnostic.Edit{}) {
		return nil
	}
	e := d.Fix
	replacement := sarifReplacement{sarifRange{e.Line, e.Col, e.EndLine, e.EndCol}, sarifText{e.Text}}
	return []sarifFix{{sarifText{"starling check --fix"}, []sarifChange{{sarifPlaceOf(d).ArtifactLocation, []sarifReplacement{replacement}}}}}
}

// said is what a diagnostic says, without its place.
func said(d diagnostic.Diagnostic) string {
	return diagnostic.Diagnostic{Message: d.Message, Path: d.Path, Got: d.Got, Want: d.Want, Hint: d.Hint}.Error()
}

func sarifPlaceOf(d diagnostic.Diagnostic) sarifPlace {
	place := sarifPlace{ArtifactLocation: sarifArtifact{URI: (&url.URL{Path: d.File}).String(), URIBaseID: "%SRCROOT%"}}
	if d.Line > 0 && d.Col > 0 {
		place.Region = &sarifRegion{StartLine: d.Line, StartColumn: d.Col, EndColumn: max(d.EndCol, d.Col+1)}
	}
	return place
}
