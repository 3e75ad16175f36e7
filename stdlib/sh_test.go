package stdlib_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"starling/stdlib/process"
	"starling/stdlib/project"
)

func TestMain(m *testing.M) {
	process.GuardMain(os.Args)
	os.Exit(m.Run())
}

const shellProject = `[sh]
allow = ["sh", "bash", "cat", "./tool.sh", "nosuch"]
env = ["SH_KEY"]
`

func newShell(t *testing.T) *workplace {
	w := newWorkplace(t)
	w.settings.ProjectFile, w.settings.Project = filepath.Join(w.dir, project.Name), []byte(shellProject)
	w.env = map[string]string{"SH_KEY": "sesame-open"}
	if err := os.WriteFile(filepath.Join(w.dir, "tool.sh"), []byte("#!/bin/sh\necho \"tool $*\"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(w.dir, "sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	return w
}

var seconds = regexp.MustCompile(`seconds = [0-9.e-]+`)

func TestCommands(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir()) // where others may be at work
	w := newShell(t)
	for _, c := range []struct{ call, want string }{
		{`sh.run(["sh", "-c", "echo $1 $X; cat; echo err >&2; exit 3", "-", "a b"], env = {"X": "*"}, stdin = "in")`,
			`Completed(ok = False, code = 3, signal = "", text = "a b sub tool.sh\nin", stderr = "err\n", truncated = False, seconds = S)`},
		{`sh.run(("./tool.sh", "$HOME", "*"), dir = "sub")`,
			`Completed(ok = True, code = 0, signal = "", text = "tool $HOME *\n", stderr = "", truncated = False, seconds = S)`},
		{`sh.run(["sh", "-c", "pwd -P | sed s,.*/,,; kill -KILL $$"], dir = "sub")`,
			`Completed(ok = False, code = -1, signal = "SIGKILL", text = "sub\n", stderr = "", truncated = False, seconds = S)`},
		{`sh.run(["sh", "-c", "echo $SH_KEY; ls .starling | wc -l; ls $HOME | wc -l"])`,
			`Completed(ok = True, code = 0, signal = "", text = "[SH_KEY]\n0\n0\n", stderr = "", truncated = False, seconds = S)`},
		{`sh.run(["true"])`, `denied {"program": "true", "reason": "not_allowed"} sh.run: the program "true" is not allowed; the project allows sh, bash, cat, ` +
			`./tool.sh, nosuch; add it to allow under [sh] in starling.toml`},
		{`sh.run(["/bin/sh"])`, `denied {"program": "/bin/sh", "reason": "not_allowed"} sh.run: the program "/bin/sh" is not allowed; the project allows sh, bash, cat, ` +
			`./tool.sh, nosuch; add it to allow under [sh] in starling.toml`},
	} {
		if got := seconds.ReplaceAllString(said(w.perform(t, c.call)), "seconds = S"); got != c.want {
			t.Errorf("%s\ngot  %s\nwant %s", c.call, got, c.want)
		}
	}
	if r := w.perform(t, `sh.run(["nosuch"])`); r.Err == nil || r.Err.Kind != "unavailable" || !strings.Contains(r.Err.Message, "program not found") {
		t.Errorf("got %s", said(r))
	}
	if left, _ := filepath.Glob(filepath.Join(os.TempDir(), "starling-????????????????????????")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// A value that the end of standard error begins in the middle of is hidden as a whole.
func TestValuesAtTheCut(t *testing.T) {
	w := newShell(t)
	w.env["SH_KEY"] = "sesame-key-12345"
	for _, more := range []int{1, 5, 9, 14} {
		call := fmt.Sprintf(`sh.run(["sh", "-c", "(printf '%%s' $SH_KEY; yes xxx | head -c %d) >&2"])`, 64<<10-16+more)
		r := w.perform(t, call)
		for name, kept := range map[string]string{"value": said(r), "stderr.txt": string(r.Blobs["stderr.txt"])} {
			if strings.Contains(kept, "12345") || !strings.Contains(kept, "]xxx") {
				t.Errorf("%d bytes more than are kept: %s has %.100s", more, name, kept)
			}
		}
	}
}

// What is long is cut for the script and kept whole as an artifact; what is endless is ended.
func TestLongOutput(t *testing.T) {
	w := newShell(t)
	r := w.perform(t, `sh.run(["sh", "-c", "head -c 400000 /dev/zero | tr '\\0' x; echo end"])`)
	if r.Err != nil || len(r.Blobs["stdout.txt"]) != 400004 || !strings.Contains(r.Value.String(), `end\n", stderr = "", truncated = True`) {
		t.Errorf("got %.200s, %d bytes", said(r), len(r.Blobs["stdout.txt"]))
	}
	r = w.perform(t, `sh.run(["cat", "/dev/zero"])`)
	if got, want := said(r), "effect None sh.run: cat: it wrote more than 2097152 bytes to standard output"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// A command that is not allowed, a path that leads out and a deadline are told apart.
func TestEndedCommand(t *testing.T) {
	w := newShell(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	w.ctx = passing{ctx, make(chan struct{})}
	started := filepath.Join(w.dir, "started")
	go func() {
		for {
			if _, err := os.Stat(started); err == nil {
				close(w.ctx.(passing).done)
				return
			}
		}
	}()
	defer cancel(nil)
	r := w.perform(t, `sh.run(["sh", "-c", "echo partial; touch started; sleep 1000"])`)
	if want := "timeout None sh.run: sh: it had not ended before its deadline; it and all that it started were ended"; said(r) != want {
		t.Errorf("got  %s\nwant %s", said(r), want)
	}
	if got := string(r.Blobs["stdout.txt"]); got != "partial\n" {
		t.Errorf("got %q of its output", got)
	}
	if err := os.Symlink("/", filepath.Join(w.dir, "root")); err != nil {
		t.Fatal(err)
	}
	w.ctx = nil
	r = w.perform(t, `sh.run(["cat"], dir = "root/etc")`)
	if want := `denied {"path": "root/etc", "reason": "outside"} sh.run: root/etc: it leads out of the workspace`; said(r) != want {
		t.Errorf("got  %s\nwant %s", said(r), want)
	}
}

func TestGrantedCommands(t *testing.T) {
	for text, want := range map[string]string{"": "denied", "[grants.news]\nprograms = ['cat']": "", "[grants.news]\nprograms = ['sh']": "denied"} {
		w := newShell(t)
		w.settings.Grant, w.settings.Project = "news", []byte(shellProject+text)
		got := ""
		if r := w.perform(t, `sh.run(["cat"])`); r.Err != nil {
			got = string(r.Err.Kind)
		}
		if got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}
