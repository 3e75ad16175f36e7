// Package annotation marks lines of the source for services that show what is wrong beside it.
package annotation

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"starling/lang/diagnostic"
)

// GitHub is the form that GitHub's runners read from the output of a step, a line for each mark:
//
//	::error file=review_test.star,line=12,col=5,title=test_publish::got 1, want 2
const GitHub = "github"

// Write marks where each diagnostic first stands. Files are named relative to folder, or to the
// current one where it is empty.
func Write(out io.Writer, folder, title string, list diagnostic.List) {
	for i, d := range list {
		if d.Severity == diagnostic.Note || i > 0 && d.File == "" {
			continue
		}
		command := "error"
		if d.Severity == diagnostic.Warning {
			command = "warning"
		}
		fields := "title=" + property(title)
		if d.File != "" {
			fields = fmt.Sprintf("file=%s,line=%d,col=%d,%s", property(name(folder, d.File)), max(d.Line, 1), max(d.Col, 1), fields)
		}
		fmt.Fprintf(out, "::%s %s::%s\n", command, fields, data(said(d)))
	}
}

// said is what a diagnostic says, without its place.
func said(d diagnostic.Diagnostic) string {
	d.File, d.Line, d.Col = "", 0, 0
	return d.Error()
}

// name is the path of a file as the runner sees it: from the folder in which the step runs.
func name(folder, file string) string {
	here, err := os.Getwd()
	if err != nil || folder == "" {
		return filepath.ToSlash(file)
	}
	path, err := filepath.Rel(here, filepath.Join(folder, file))
	if err != nil {
		return filepath.ToSlash(file)
	}
	return filepath.ToSlash(path)
}

// data escapes a message, and property a field, as the runner takes them apart.
func data(s string) string {
	return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A").Replace(s)
}

func property(s string) string {
	return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C").Replace(s)
}
