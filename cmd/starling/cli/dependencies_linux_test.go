package cli

import (
	"cmp"
	"debug/elf"
	"debug/gosym"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// What is heavy is listed in dependencies.md even if go.mod does not name it.
const (
	heavyMB      = 1.0
	heavySeconds = 5.0
	tolerance    = 0.15 // the program of this test is a little larger than the one that was measured
)

// dependency is a row of dependencies.md: a module, or a package of the standard library.
type dependency struct {
	mb, seconds float64
	reason      string
}

// dependencyRow is a row as it is written.
var dependencyRow = regexp.MustCompile("(?m)^\\| `([^`]+)` \\| ([0-9.]+) \\| ([0-9.]+) \\| (.*) \\|$")

// TestDependencies: dependencies.md has every module that go.mod asks for and all that is heavy,
// each with its reason, and sizes that are still true. Compile seconds depend on the machine and
// are not compared. Measure anew, which compiles everything once:
//
//	go test ./cmd/starling/cli -run TestDependencies -update -timeout 20m
func TestDependencies(t *testing.T) {
	page, err := os.ReadFile("dependencies.md")
	if err != nil {
		t.Fatal(err)
	}
	listed := map[string]dependency{}
	for _, row := range dependencyRow.FindAllStringSubmatch(string(page), -1) {
		mb, _ := strconv.ParseFloat(row[2], 64)
		seconds, _ := strconv.ParseFloat(row[3], 64)
		listed[row[1]] = dependency{mb, seconds, row[4]}
	}
	direct, modules := requirements(t)
	if *update {
		listed = measureDependencies(t, direct, modules, listed)
		writeDependencies(t, string(page), listed)
	}
	for _, module := range direct {
		if _, ok := listed[module]; !ok {
			t.Errorf("go.mod asks for %s, and dependencies.md does not say why: add its row with -update", module)
		}
	}
	for name, row := range listed {
		if strings.TrimSpace(row.reason) == "" {
			t.Errorf("dependencies.md: %s has no reason", name)
		}
		if !slices.Contains(direct, name) && row.mb <= heavyMB && row.seconds <= heavySeconds {
			t.Errorf("dependencies.md: %s is not asked for by go.mod and not heavy: take its row away", name)
		}
	}
	if runtime.GOARCH != "amd64" || instrumented() {
		return // the sizes are those of another program
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	is := sharesOfFile(t, self, modules)
	for name, mb := range is {
		if row, ok := listed[name]; !ok && mb > (1+tolerance)*heavyMB {
			t.Errorf("%s brings %.1f MB into the program, and dependencies.md does not say why: use -update", name, mb)
		} else if ok && max(mb, row.mb) > heavyMB && math.Abs(mb-row.mb) > tolerance*row.mb {
			t.Errorf("%s brings %.1f MB into the program, dependencies.md says %.1f: use -update", name, mb, row.mb)
		}
	}
	for name, row := range listed {
		if _, ok := is[name]; !ok && row.mb > heavyMB {
			t.Errorf("dependencies.md: %s is not in the program any more: use -update", name)
		}
	}
}

// findsMethods is how the linker marks a function for which it keeps all exported methods.
var findsMethods = regexp.MustCompile(`(?m)-> (\S+) <ReflectMethod>$`)

// uncalled is a method that nothing calls: it is there when the linker keeps all there are.
const uncalled = "reflect.(*Value).MethodByName"

// requirements are the modules that go.mod asks for, without and with the indirect ones.
func requirements(t *testing.T) (direct, all []string) {
	t.Helper()
	out, err := exec.Command("go", "mod", "edit", "-json", "../../../go.mod").Output()
	if err != nil {
		t.Fatalf("go mod edit: %v", err)
	}
	var file struct {
		Require []struct {
			Path     string
			Indirect bool
		}
	}
	if err := json.Unmarshal(out, &file); err != nil {
		t.Fatal(err)
	}
	for _, r := range file.Require {
		all = append(all, r.Path)
		if !r.Indirect {
			direct = append(direct, r.Path)
		}
	}
	return direct, all
}

// instrumented tells whether this test is built with code that the program does not have.
func instrumented() bool {
	info, ok := debug.ReadBuildInfo()
	return !ok || testing.CoverMode() != "" || slices.ContainsFunc(info.Settings, func(s debug.BuildSetting) bool {
		return s.Key == "-race" && s.Value == "true" || s.Key == "-gcflags"
	})
}

// ownerOf is the row that a package counts for: its module, itself if it is of the standard
// library, or "" if it is of this repository.
func ownerOf(pkg string, modules []string) string {
	first, _, _ := strings.Cut(pkg, "/")
	switch {
	case first == "starling" || first == "main" || first == "":
		return ""
	case !strings.Contains(first, "."):
		return pkg
	}
	best := ""
	for _, m := range modules {
		if (pkg == m || strings.HasPrefix(pkg, m+"/")) && len(m) > len(best) {
			best = m
		}
	}
	return best
}

// sharesOfFile says what part of a program's file is whose, in MB: the file without its symbols,
// shared out by machine code. That is read from the table of functions, which a stripped file has.
func sharesOfFile(t *testing.T, program string, modules []string) map[string]float64 {
	t.Helper()
	file, err := elf.Open(program)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	table, err := file.Section(".gopclntab").Data()
	if err != nil {
		t.Fatal(err)
	}
	functions, err := gosym.NewTable(nil, gosym.NewLineTable(table, file.Section(".text").Addr))
	if err != nil {
		t.Fatal(err)
	}
	if functions.LookupFunc(uncalled) != nil {
		t.Errorf("the linker keeps all exported methods, 3.5 MB: a package looks for methods by names it cannot know; -update says which")
	}
	var size, code uint64
	for _, section := range file.Sections {
		if section.Flags&elf.SHF_ALLOC != 0 && section.Type != elf.SHT_NOBITS {
			size += section.FileSize
		}
	}
	bytes := map[string]uint64{}
	for _, f := range functions.Funcs {
		code += f.End - f.Entry
		pkg := strings.ReplaceAll(f.PackageName(), "%2e", ".")
		bytes[ownerOf(pkg, modules)] += f.End - f.Entry
	}
	delete(bytes, "")
	mb := map[string]float64{}
	for name, n := range bytes {
		mb[name] = float64(n) / float64(code) * float64(size) / 1e6
	}
	return mb
}

// measureDependencies builds the program with an empty cache, and says what is to be listed;
// reasons stay as they are.
func measureDependencies(t *testing.T, direct, modules []string, old map[string]dependency) map[string]dependency {
	t.Helper()
	folder := t.TempDir()
	program, graph := filepath.Join(folder, "starling"), filepath.Join(folder, "graph.json")
	build := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w -dumpdep", "-debug-actiongraph="+graph, "-o", program, "..")
	build.Env = append(os.Environ(), "GOCACHE="+filepath.Join(folder, "cache"))
	out, err := build.CombinedOutput()
	if err != nil {
		t.Fatalf("go build: %v\n%.4000s", err, out)
	}
	if m := findsMethods.FindSubmatch(out); m != nil { // of what the linker found needed, and why
		t.Errorf("%s looks for methods by names that the linker cannot know: it keeps all there are", m[1])
	}
	text, err := os.ReadFile(graph)
	if err != nil {
		t.Fatal(err)
	}
	var actions []struct {
		Mode, Package   string
		CmdUser, CmdSys float64 // nanoseconds
	}
	if err := json.Unmarshal(text, &actions); err != nil {
		t.Fatal(err)
	}
	mb, seconds := sharesOfFile(t, program, modules), map[string]float64{}
	for _, a := range actions {
		if a.Mode == "build" {
			seconds[ownerOf(a.Package, modules)] += (a.CmdUser + a.CmdSys) / 1e9
		}
	}
	delete(seconds, "")
	rows := map[string]dependency{}
	for _, name := range direct {
		rows[name] = dependency{mb[name], seconds[name], old[name].reason}
	}
	for name := range seconds {
		if mb[name] > heavyMB || seconds[name] > heavySeconds {
			rows[name] = dependency{mb[name], seconds[name], old[name].reason}
		}
	}
	return rows
}

// writeDependencies writes the page anew, the heaviest first.
func writeDependencies(t *testing.T, page string, rows map[string]dependency) {
	t.Helper()
	var names []string
	for name := range rows {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int {
		hundredths := func(name string) float64 { return math.Round(100 * rows[name].mb) }
		return cmp.Or(cmp.Compare(hundredths(b), hundredths(a)), strings.Compare(a, b))
	})
	head, _, _ := strings.Cut(page, "|---|")
	var b strings.Builder
	b.WriteString(head + "|---|--:|--:|---|\n")
	for _, name := range names {
		fmt.Fprintf(&b, "| `%s` | %.2f | %.1f | %s |\n", name, rows[name].mb, rows[name].seconds, rows[name].reason)
	}
	if err := os.WriteFile("dependencies.md", []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}
