package lang_test

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"starling/lang"
	"starling/lang/check"
	"starling/lang/diagnostic"
	"starling/lang/vm"
	"starling/stdlib"
)

// inferred are the kinds of findings that follow from types.
var inferred = []string{"bad_operand", "bad_index", "missing_key", "unhashable", "not_iterable", "not_callable", "bad_unpack", "no_truth", "frozen",
	"broken_contract", "cannot_leave", "never_equal", "maybe_none", "unread_choice", "unread_reply", "untyped_reply", "untyped_input", "endless_asking",
	"nothing_kept", "unknown_attribute", "bad_type", "bad_duration", "bad_format", "too_many_arguments", "missing_argument", "unused_value",
	"lost_change", "unassigned", "strip_letters", "busy_loop", "bad_pipeline", "text_order"}

// Nothing is said of the types of scripts that people use: the examples, the library, its tests,
// the stories.
func TestNoFalseAlarm(t *testing.T) {
	lines := 0
	for _, folder := range []string{"../scripts", "../stdlib", "../testdata/stories"} {
		err := filepath.WalkDir(folder, func(name string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || path.Ext(name) != ".star" {
				return err
			}
			lines += alarms(t, folder, filepath.ToSlash(strings.TrimPrefix(name, folder+string(filepath.Separator))), nil)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	const least = 8_000
	if lines < least {
		t.Errorf("looked at %d lines, want at least %d", lines, least)
	}
}

// Who has no time for types is told what stands in the text all the same.
func TestUntyped(t *testing.T) {
	b, err := lang.Read("main.star", files{"main.star": "def main():\n    n = 1\n    return 1 + \"\"\n"}.read, nil)
	if err != nil {
		t.Fatal(err)
	}
	list := lang.CheckUntyped(b, specEnvironment(), check.Project{})
	if len(list) != 1 || list[0].Kind != "unused_local" {
		t.Errorf("got %v, want the variable that nobody reads alone", list)
	}
}

// mistakes are the scripts of sessions that are about what check refuses.
var mistakes = []string{"wrong.star", "mistake.star", "pair.star", "broken.star"}

// Of the scripts of sessions only those are said to fail that do.
func TestNoFalseAlarmInSessions(t *testing.T) {
	sessions, err := filepath.Glob("../testdata/cli/*.txtar")
	if err != nil || len(sessions) < 100 {
		t.Fatalf("%d sessions: %v", len(sessions), err)
	}
	for _, session := range sessions {
		a, err := txtar.ParseFile(session)
		if err != nil {
			t.Fatal(err)
		}
		all := files{}
		for _, f := range a.Files {
			all[f.Name] = string(f.Data)
		}
		if strings.HasPrefix(filepath.Base(session), "check_") {
			continue
		}
		t.Run(filepath.Base(session), func(t *testing.T) {
			for name := range all {
				if path.Ext(name) == ".star" && !slices.Contains(mistakes, path.Base(name)) {
					alarms(t, "", name, all)
				}
			}
		})
	}
}

// alarms reports what is said of the types of a script, and gives its number of lines.
func alarms(t *testing.T, folder, name string, all files) int {
	t.Helper()
	read := all.read
	if all == nil {
		read = func(name string) ([]byte, error) { return os.ReadFile(filepath.Join(folder, filepath.FromSlash(name))) }
	}
	b, err := lang.Read(name, read, stdlib.Library)
	var list diagnostic.List
	if errors.As(err, &list) {
		if all == nil {
			t.Errorf("%v", list)
		}
		return 0 // a session about that
	}
	text, _ := read(name)
	env := stdlib.Environment(stdlib.Options{Natives: vm.Natives(), Tests: strings.HasSuffix(name, "_test.star")})
	for _, d := range lang.Check(b, env, check.Project{}) {
		if slices.Contains(inferred, d.Kind) && !(all != nil && d.Severity == diagnostic.Warning) {
			t.Errorf("%s", d.Render())
		}
	}
	return strings.Count(string(text), "\n")
}
