// Package junit writes the report of tests that build servers read. It has no standard; this is the
// part that all of them understand.
package junit

import (
	"encoding/xml"
	"fmt"
	"os"
	"time"

	"starling/lang/diagnostic"
)

// Suites is a report: the tests of several files.
type Suites struct {
	XMLName xml.Name `xml:"testsuites"`
	Suites  []Suite  `xml:"testsuite"`
}

// Suite is the tests of one file.
type Suite struct {
	Name     string `xml:"name,attr"`
	Tests    int    `xml:"tests,attr"`
	Failures int    `xml:"failures,attr"`
	Errors   int    `xml:"errors,attr"`
	Skipped  int    `xml:"skipped,attr,omitempty"`
	Time     string `xml:"time,attr"`
	Cases    []Case `xml:"testcase"`
}

// Case is one test.
type Case struct {
	Name    string `xml:"name,attr"`
	Class   string `xml:"classname,attr"`
	File    string `xml:"file,attr"`
	Line    int    `xml:"line,attr,omitempty"`
	Time    string `xml:"time,attr"`
	Failure *Fault `xml:"failure"`
	Error   *Fault `xml:"error"`
	Skipped *Fault `xml:"skipped"`
	Output  string `xml:"system-out,omitempty"`
}

// Fault is why a test has not passed.
type Fault struct {
	Type    string `xml:"type,attr,omitempty"` // limit, where the test was ended by a bound
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

// FaultOf is the fault that findings are, nil for none.
func FaultOf(list diagnostic.List) *Fault {
	if len(list) == 0 {
		return nil
	}
	return &Fault{Message: list[0].Error(), Text: list.Render()}
}

// Write writes a report, unless path is "".
func (all *Suites) Write(path string) error {
	if path == "" {
		return nil
	}
	text, err := xml.MarshalIndent(all, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append([]byte(xml.Header), append(text, '\n')...), 0o644)
}

// Seconds is a duration as the report has it.
func Seconds(d time.Duration) string { return fmt.Sprintf("%.3f", d.Seconds()) }
