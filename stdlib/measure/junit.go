package measure

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
)

// JUnit's XML has no owner. This reads what the schemas of Ant and Surefire have in common
// (https://github.com/windyroad/JUnit-Schema,
// https://maven.apache.org/surefire/maven-surefire-plugin/xsd/surefire-test-report.xsd), and what
// pytest, Gradle, jest-junit and node write.

// junitRun reads element by element.
type junitRun struct {
	*tally
	suites []junitSuite
	root   bool
}

type junitSuite struct {
	name  string
	cases int
	fault bool
}

// readJUnit reads a testsuites or testsuite element. A test with an error has failed; one that was
// tried again and passed has passed, and so says Surefire too. A suite that tells of errors and
// names no test has failed.
func readJUnit(text string, t *tally) error {
	d := decoder(text)
	r := junitRun{tally: t}
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
			err = r.begin(d, e)
		case xml.EndElement:
			r.end()
		}
		if err != nil {
			return err
		}
	}
	if !r.root {
		return unreadable("there is no element testsuite")
	}
	return nil
}

func (r *junitRun) begin(d *xml.Decoder, e xml.StartElement) error {
	name := e.Name.Local
	switch {
	case !r.root && name != "testsuites" && name != "testsuite":
		return unreadable("the element is %s, want testsuites", tidy(name))
	case name == "testsuites", name == "testsuite":
		if r.root = true; len(r.suites) >= maxDepth {
			return unreadable("suites are more than %d deep", maxDepth)
		}
		fault := attribute(e, "errors") != "" && strings.Trim(attribute(e, "errors"), "0") != ""
		r.suites = append(r.suites, junitSuite{name: attribute(e, "name"), fault: fault})
		return nil
	case name == "testcase":
		return r.testcase(d, e)
	}
	return skip(d)
}

func (r *junitRun) end() {
	s := r.suites[len(r.suites)-1]
	r.suites = r.suites[:len(r.suites)-1]
	if len(r.suites) > 0 {
		r.suites[len(r.suites)-1].cases += s.cases
	}
	if s.fault && s.cases == 0 {
		r.add(s.name+" (suite)", failed)
	}
}

func (r *junitRun) testcase(d *xml.Decoder, e xml.StartElement) error {
	o := passed
	for {
		token, err := d.Token()
		if err != nil {
			return unreadable("%v", err)
		}
		if _, ended := token.(xml.EndElement); ended {
			break
		}
		child, ok := token.(xml.StartElement)
		if !ok {
			continue
		}
		switch child.Name.Local {
		case "failure", "error":
			if o != skipped { // node writes both of a test that is expected to fail
				o = failed
			}
		case "skipped":
			o = skipped
		}
		if err := skip(d); err != nil {
			return err
		}
	}
	r.suites[len(r.suites)-1].cases++
	r.add(r.id(attribute(e, "classname"), attribute(e, "name")), o)
	return nil
}

// id is class and name. Where the class says nothing, as with node, the suites around stand for it.
func (r *junitRun) id(class, name string) string {
	if class != "" && class != "test" {
		return class + "." + name
	}
	var parts []string
	for _, s := range r.suites {
		if s.name != "" {
			parts = append(parts, s.name)
		}
	}
	return strings.Join(append(parts, name), " > ")
}

// decoder reads XML without any document type: entities of one's own are an error, by default.
func decoder(text string) *xml.Decoder {
	d := xml.NewDecoder(strings.NewReader(text))
	d.CharsetReader = func(charset string, input io.Reader) (io.Reader, error) {
		switch strings.ToLower(charset) {
		case "us-ascii", "ascii":
			return input, nil
		case "iso-8859-1", "latin1", "windows-1252":
			return latin1(input)
		}
		return nil, errors.New("the encoding " + tidy(charset) + " is not known")
	}
	return d
}

// latin1 makes UTF-8 of a text with a byte for each character.
func latin1(input io.Reader) (io.Reader, error) {
	text, err := io.ReadAll(input)
	var b strings.Builder
	for _, c := range text {
		b.WriteRune(rune(c))
	}
	return strings.NewReader(b.String()), err
}

// skip passes over what is in the element that has begun. It counts depth where xml.Decoder.Skip
// would call itself.
func skip(d *xml.Decoder) error {
	for depth := 1; depth > 0; {
		token, err := d.Token()
		if err != nil {
			return unreadable("%v", err)
		}
		switch token.(type) {
		case xml.StartElement:
			depth++
		case xml.EndElement:
			depth--
		}
	}
	return nil
}

func attribute(e xml.StartElement, name string) string {
	for _, a := range e.Attr {
		if a.Name.Local == name && a.Name.Space == "" {
			return a.Value
		}
	}
	return ""
}
