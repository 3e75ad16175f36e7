package measure_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/boyter/scc/v3/processor"

	"starling/stdlib/measure"
)

var update = flag.Bool("update", false, "write languages.json anew, from the scc of go.mod")

var sccTables = sync.OnceFunc(processor.ProcessConstants)

// scc is what scc itself says of a file.
func scc(name string, content []byte) (c measure.Code, ok bool) {
	sccTables()
	possible, ending := processor.DetectLanguage(path.Base(name))
	if len(possible) == 0 {
		return c, false
	}
	if possible[0] == processor.SheBang {
		language, err := processor.DetectSheBang(string(content))
		if err != nil {
			return c, false
		}
		possible = []string{language}
	}
	possible = slices.Sorted(slices.Values(possible))     // they come in the order of a map
	content = measure.WithoutQuotes(possible[0], content) // scc is wrong about quotes in docstrings
	job := &processor.FileJob{Filename: path.Base(name), Extension: ending, Content: content, Bytes: int64(len(content))}
	job.Language = processor.DetermineLanguage(job.Filename, possible[0], possible, content)
	if processor.LanguageFeatures[job.Language].ComplexityCheckMask == 0 {
		return c, false
	}
	processor.CountStats(job)
	return measure.Code{Language: job.Language, Code: int(job.Code), Comments: int(job.Comment), Blank: int(job.Blank), Complexity: int(job.Complexity)}, !job.Binary
}

func asSCC(t *testing.T, name string, content []byte) {
	t.Helper()
	want, wantOK := scc(name, content)
	if got, ok := measure.MeasureCode(name, content); got != want || ok != wantOK {
		t.Errorf("%s: got %v, %v, scc says %v, %v:\n%.500q", name, got, ok, want, wantOK, content)
	}
}

// TestFilesAsSCC: every file of the standard library's smaller half and of this repository counts
// as it counts for scc.
func TestFilesAsSCC(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine, for long: the gate plays it without the race detector")
	}
	out, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	goroot := strings.TrimSpace(string(out))
	for _, root := range []string{"../..", filepath.Join(goroot, "src", "runtime"), filepath.Join(goroot, "misc")} {
		n := 0
		err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() {
				return err
			}
			content, err := os.ReadFile(p)
			if err != nil || len(content) > 1<<18 {
				return err
			}
			n++
			asSCC(t, p, content)
			return nil
		})
		if err != nil || n == 0 {
			t.Errorf("%s: %d files, %v", root, n, err)
		}
	}
}

// TestTextsAsSCC: texts made of the tokens of each language, in any order, count as for scc.
func TestTextsAsSCC(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for name, l := range sccLanguages(t) {
		pieces := append([]string{"\n", "\n", " ", "\t", "x", "\\", "\"", "'", "\r\n", "é", "\x00"}, l.ComplexityChecks...)
		pieces = append(append(pieces, l.LineComment...), l.Keywords...)
		for _, b := range l.MultiLine {
			pieces = append(pieces, b...)
		}
		for _, q := range l.Quotes {
			pieces = append(pieces, q.Start, q.End)
		}
		files := slices.Clone(l.FileNames)
		for _, x := range l.Extensions {
			files = append(files, "a."+x, "a.b."+x, "."+x)
		}
		for _, p := range l.SheBangs {
			pieces = append(pieces, "#!/usr/bin/env "+p+"\n")
			asSCC(t, "script", []byte("#! /usr/bin/"+p+" -x\nif x\n"))
			asSCC(t, "script", []byte("#!/usr/bin/env "+p))
		}
		for range 40 {
			var text bytes.Buffer
			for range random.IntN(60) {
				text.WriteString(pieces[random.IntN(len(pieces))])
			}
			for _, f := range files {
				asSCC(t, f, text.Bytes())
			}
		}
		if t.Failed() {
			t.Fatalf("of %s", name)
		}
	}
}

// sccLanguages is scc's own table, as its source has it.
func sccLanguages(t *testing.T) map[string]processor.Language {
	t.Helper()
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/boyter/scc/v3").Output()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(out)), "languages.json"))
	if err != nil {
		t.Fatal(err)
	}
	var read map[string]processor.Language
	if err := json.Unmarshal(text, &read); err != nil {
		t.Fatal(err)
	}
	return read
}

// TestLanguagesAreThoseOfSCC: languages.json is the table of the scc that go.mod names, a language
// a line and without what is empty.
func TestLanguagesAreThoseOfSCC(t *testing.T) {
	want := sccLanguages(t)
	if *update {
		if err := os.WriteFile("languages.json", languageLines(t, want), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile("languages.json")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(text, languageLines(t, want)) {
		t.Error("languages.json is not scc's table any more; write it with -update")
	}
}

func languageLines(t *testing.T, all map[string]processor.Language) []byte {
	t.Helper()
	var b bytes.Buffer
	for i, name := range slices.Sorted(maps.Keys(all)) {
		fields := map[string]any{}
		v := reflect.ValueOf(all[name])
		for j := range v.NumField() {
			if f := v.Field(j); f.Kind() == reflect.Slice && f.Len() > 0 || f.Kind() == reflect.Bool && f.Bool() {
				fields[v.Type().Field(j).Tag.Get("json")] = f.Interface()
			}
		}
		delete(fields, "extensionFile")
		b.WriteString(map[bool]string{true: "{\n", false: ",\n"}[i == 0] + marshalled(t, name) + ": " + marshalled(t, fields))
	}
	return append(b.Bytes(), "\n}\n"...)
}

func marshalled(t *testing.T, v any) string {
	t.Helper()
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(b.String())
}
