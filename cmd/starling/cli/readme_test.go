package cli

import (
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// The console blocks of README.md are a session that a new user types. Here they are typed, in
// order, in a folder that holds the scripts; what comes back must be what the page shows, but for
// the run's id, the user's name, how long a slow step took, and the order in which parallel
// branches report.
func TestReadmeSession(t *testing.T) {
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	page := strings.NewReplacer("go run ./cmd/starling", "starling", "local:you", "local:"+me.Username).Replace(readme(t))
	dir := t.TempDir()
	if err := os.CopyFS(filepath.Join(dir, "scripts"), os.DirFS(filepath.Join("..", "..", "..", "scripts"))); err != nil {
		t.Fatal(err)
	}
	t.Setenv("XDG_RUNTIME_DIR", dir)
	shown := runLine.FindStringSubmatch(page)[1]
	real := shown
	steps := consoleSteps(page)
	if len(steps) < 2 {
		t.Fatalf("README.md shows %d commands, want a session", len(steps))
	}
	for _, s := range steps {
		cmd := exec.Command("sh", "-c", strings.ReplaceAll(s.command, shown, real))
		cmd.Dir = dir
		got, _ := cmd.CombinedOutput() // a run that suspends exits with 3
		if m := runLine.FindStringSubmatch(string(got)); m != nil {
			real = m[1]
		}
		want := strings.ReplaceAll(s.output, shown, real)
		if !slices.Equal(sortedLines(took.ReplaceAllString(string(got), "")), sortedLines(want)) {
			t.Errorf("$ %s\ngot:\n%s\nREADME.md shows:\n%s", s.command, got, want)
		}
	}
}

// The script that README.md shows is the middle of one that anybody can run.
func TestReadmeScript(t *testing.T) {
	_, block, _ := strings.Cut(readme(t), "```python\n")
	block, _, _ = strings.Cut(block, "```")
	script, err := os.ReadFile(filepath.Join("..", "..", "..", "scripts", "fix_and_verify.star"))
	if err != nil {
		t.Fatal(err)
	}
	if block == "" || !strings.Contains(string(script), block) {
		t.Errorf("README.md shows what scripts/fix_and_verify.star does not say:\n%s", block)
	}
}

// The script of one's own that README.md shows is without a fault, and passes the test below it.
func TestReadmeOwn(t *testing.T) {
	dir := t.TempDir()
	for _, m := range namedBlock.FindAllStringSubmatch(readme(t), -1) {
		if err := os.WriteFile(filepath.Join(dir, m[2]), []byte(m[1]), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, args := range [][]string{{"check", "triage.star", "triage_test.star"}, {"test", "-v", "triage_test.star"}} {
		cmd := exec.Command("starling", args...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil || args[0] == "test" && !strings.Contains(string(out), "1 tests") {
			t.Errorf("starling %s: %v: %s", strings.Join(args, " "), err, out)
		}
	}
}

// namedBlock is a block of Python that begins with the name of its file.
var namedBlock = regexp.MustCompile("(?s)```python\n(# ([a-z_]+\\.star)\n.*?)```")

// Each row of the table of pipelines has a command, which runs as it stands there: to its
// end, or to a decision that people have to make.
func TestReadmePipelines(t *testing.T) {
	_, table, _ := strings.Cut(document(t, "docs/pipelines.md"), "| system | command |")
	table, _, _ = strings.Cut(table, "\n\n")
	rows := strings.Split(strings.TrimSpace(table), "\n")[2:]
	if len(rows) < 5 {
		t.Fatalf("docs/pipelines.md has %d pipelines, want those of the five systems", len(rows))
	}
	for i, row := range rows {
		cells := strings.Split(row, " | ")
		t.Run(strconv.Itoa(i), func(t *testing.T) {
			o := newOffice(t)
			if err := os.CopyFS(filepath.Join(o.dir, "scripts"), os.DirFS(filepath.Join("..", "..", "..", "scripts"))); err != nil {
				t.Fatal(err)
			}
			command := strings.NewReplacer("`", "", "/tmp/", o.dir+"/", "https://example.org", o.sink.server.URL).Replace(cells[1])
			cmd := exec.Command("sh", "-c", command)
			cmd.Dir, cmd.Env = o.dir, o.env
			out, _ := cmd.CombinedOutput()
			if code := cmd.ProcessState.ExitCode(); code != 0 && code != 3 || !strings.Contains(command, "starling run ") {
				t.Errorf("$ %s\nexit code %d\n%s", command, code, out)
			}
		})
	}
}

// The run of hone that must achieve its goal fails where it does not, says why, and keeps its
// report.
func TestHoneMustAchieveItsGoal(t *testing.T) {
	o := newOffice(t)
	if err := os.CopyFS(filepath.Join(o.dir, "scripts"), os.DirFS(filepath.Join("..", "..", "..", "scripts"))); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sh", "-c", `sh scripts/toy.sh toy scripts/hone*.star && cd toy &&
		echo 'def judge(req): fail("no")' > nobody.star &&
		! starling run hone.star --fake nobody.star -i 'agents:=["judge"]' -i must=true &&
		starling artifacts @last`)
	cmd.Dir, cmd.Env = o.dir, o.env
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "BLOCKED: nobody has answered: judge") || !strings.Contains(string(out), "report.json") {
		t.Errorf("%v\n%s", err, out)
	}
}

// took is how long a step has taken, which is shown when it is long.
var took = regexp.MustCompile(`(?m) \([0-9.]+m?s\)$`)

var runLine = regexp.MustCompile(`(?m)^run ([0-9a-z]{12}) `)

func readme(t *testing.T) string { return document(t, "README.md") }

// document is a page of the repository, by its path from the root.
func document(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "..", path))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// consoleStep is one command of a console block and what the page shows below it.
type consoleStep struct{ command, output string }

func consoleSteps(page string) []consoleStep {
	var steps []consoleStep
	for i, block := range strings.Split(page, "```console\n") {
		if i == 0 {
			continue
		}
		block, _, _ = strings.Cut(block, "```")
		for line := range strings.Lines(block) {
			if command, ok := strings.CutPrefix(line, "$ "); ok {
				steps = append(steps, consoleStep{command: command})
				continue
			}
			steps[len(steps)-1].output += line
		}
	}
	return steps
}

func sortedLines(s string) []string {
	return slices.Sorted(strings.Lines(s))
}
