package git

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"starling/stdlib/process"
	"starling/stdlib/sandbox"
)

// shell runs the commands of git for a repository, one after another, in one sh under one guard and
// in one sandbox: to make these takes ten times as long as most commands of git do. It is there
// from the first command until it is closed, and holds the lock of the step meanwhile. One that was
// ended is followed by another, and one that was closed may serve the next request: see [Keeper].
//
// Commands go to its standard input, exit codes come back as lines. What a command reads and writes
// is in files, in a folder within git's own if that can be. The folder of an owner that was killed
// is removed by the next shell.
type shell struct {
	of  *Repository // as which it is confined
	now *session    // nil when there is none
}

// session is a shell that was started.
type session struct {
	made   making
	folder string      // within git's own, if that can be
	apart  string      // where no sandbox reaches that may change the repository
	locks  [2]*os.File // of these folders
	files  [3]*os.File // what a command reads and writes; open throughout, so that it is theirs whatever stands under their names

	config  *configuration      // nil until it is read
	private map[string]*private // by git's own folders of working trees

	commands *io.PipeWriter
	codes    chan string
	child    *process.Child
	ended    chan struct{} // closed when nothing is left of it; then result is set
	result   process.Result
}

// files of a session
const (
	stdin = iota
	stdout
	stderr
)

// answer is what a command came to.
type answer struct {
	code int
	out  string
	said string // on standard error
}

// run runs a line of sh to its end. An error means that it gave no answer: then the shell is gone,
// with all that was started in it.
func (s *shell) run(ctx context.Context, line string, input []byte) (answer, error) {
	err := s.begin(ctx)
	if err != nil {
		return answer{}, err
	}
	stop := context.AfterFunc(ctx, s.now.child.Stop)
	a, err := s.now.answer(line, input)
	if stop() && err == nil {
		return a, nil
	}
	s.now.child.Stop()
	s.end()
	if ctx.Err() != nil {
		err = ctx.Err()
	}
	return answer{}, err
}

// begin starts a shell unless there is one.
func (s *shell) begin(ctx context.Context) error {
	if s.now != nil {
		select {
		case <-s.now.ended: // with the context of an earlier command
			s.end()
		default:
			return nil
		}
	}
	spec := s.spec()
	made := s.of.madeFrom(spec)
	if s.of.o.keeps() {
		if s.now = s.of.o.Keeper.take(made); s.now != nil {
			return nil
		}
		if spec.Lock != "" {
			spec.Lock = filepath.Join(filepath.Dir(spec.Lock), lockOfKept)
		}
	}
	n := &session{made: made, codes: make(chan string, 1), ended: make(chan struct{}),
		private: map[string]*private{}}
	spec.OnLine = func(line []byte, _ bool) { n.codes <- string(line) }
	spec.Stdin, n.commands = io.Pipe()
	err := process.Spec{Argv: []string{"git"}, Env: spec.Env}.Check()
	if err == nil {
		err = n.open(s.of.dir, s.temporary())
	}
	if err == nil {
		spec.Sandbox.Write = append(spec.Sandbox.Write, n.folder, n.apart)
		start := process.Start
		if s.of.o.keeps() {
			start = startKept
		}
		n.child, err = start(ctx, spec)
	}
	if err != nil {
		n.remove()
		return err
	}
	go n.watch()
	s.now = n
	n.tell("d=" + quoted(n.folder))
	return nil
}

// temporary is the folder for what no sandbox is to reach that may change the repository: that of
// temporary files, unless this is a part of the workspace, in which files come and go.
func (s *shell) temporary() string {
	dir := resolved(os.TempDir())
	if rel, err := filepath.Rel(s.of.o.Workspace, dir); err == nil && filepath.IsLocal(rel) {
		return s.of.dir
	}
	return dir
}

// place is a path in the folder of the shell, for a file that is not to outlive it.
func (s *shell) place(ctx context.Context, name string) (string, error) {
	if err := s.begin(ctx); err != nil {
		return "", err
	}
	return filepath.Join(s.now.folder, name), nil
}

// end returns when the shell is gone.
func (s *shell) end() {
	if n := s.now; n != nil {
		s.now = nil
		n.end()
		s.of.tellLacks(n)
	}
}

// close ends the shell, or leaves it to the next request.
func (s *shell) close() {
	n := s.now
	if n == nil || !s.of.o.keeps() || n.clean() != nil {
		s.end()
		return
	}
	s.now = nil
	s.of.o.Keeper.keep(n)
	s.of.tellLacks(n)
}

func (r *Repository) tellLacks(n *session) {
	for _, lack := range n.child.Lacks() {
		r.warn("the sandbox of git is not whole: %s", lack)
	}
}

// end returns when nothing of a session is left.
func (n *session) end() {
	n.remove()
	_ = n.commands.Close() // the end of its input
	<-n.ended
}

// spec is sh where git may be: it reads what programs need and what git is told by its user, and
// changes the working tree and git's folders.
func (s *shell) spec() process.Spec {
	r := s.of
	env := process.Environment(os.Environ(), nil, "GIT_TERMINAL_PROMPT=0", "GIT_OPTIONAL_LOCKS=0", "LC_ALL=C")
	p := &sandbox.Policy{Read: sandbox.System(), Write: []string{r.o.Workspace, r.dir, r.common}, Hide: []string{r.o.Store}, Partial: true}
	home, _ := os.UserHomeDir()
	for _, name := range []string{".gitconfig", ".config/git", ".gitignore", ".gitignore_global"} {
		p.Read = append(p.Read, filepath.Join(home, name))
	}
	if r.o.Trees != "" {
		p.Write = append(p.Write, r.o.Trees)
	}
	for i, v := range env {
		if list, ok := strings.CutPrefix(v, "PATH="); ok {
			folders := slices.DeleteFunc(filepath.SplitList(list), func(p string) bool { return !filepath.IsAbs(p) }) // "." would run what the workspace holds
			p.Read, env[i] = append(p.Read, folders...), "PATH="+strings.Join(folders, string(filepath.ListSeparator))
		}
	}
	return process.Spec{Argv: []string{"sh", "-s"}, Dir: r.o.Workspace, Env: env, Lock: r.o.Lock, Attempt: r.o.Attempt,
		Host: r.o.Host, Sandbox: p}
}

// shellFolder is what the folders of shells are called, before what sets them apart.
const shellFolder = "starling-git-"

// open makes the folders and the files in them.
func (n *session) open(dir, temporary string) (err error) {
	sweep(dir)
	sweep(temporary)
	if n.apart, err = os.MkdirTemp(temporary, shellFolder); err != nil {
		return err
	}
	if n.folder, err = os.MkdirTemp(dir, shellFolder); err != nil { // a repository that may only be read can be read
		n.folder, err = os.MkdirTemp("", shellFolder)
	}
	for i, folder := range []string{n.folder, n.apart} {
		if err == nil {
			n.locks[i], err = os.Open(folder)
		}
		if err == nil {
			err = syscall.Flock(int(n.locks[i].Fd()), syscall.LOCK_EX)
		}
	}
	for i := range n.files {
		if err == nil {
			n.files[i], err = os.OpenFile(filepath.Join(n.folder, strconv.Itoa(i)), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
		}
	}
	return err
}

// sweep removes the folders of those who were killed: nobody holds their locks. One that is empty
// may have been made just now.
func sweep(dir string) {
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if !e.IsDir() || !strings.HasPrefix(e.Name(), shellFolder) {
			continue
		}
		f, err := os.Open(filepath.Join(dir, e.Name()))
		if err != nil {
			continue
		}
		if names, _ := f.Readdirnames(1); len(names) > 0 && syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil {
			_ = os.RemoveAll(f.Name())
		}
		_ = f.Close()
	}
}

// remove undoes as much of open as was done.
func (n *session) remove() {
	for _, folder := range []string{n.folder, n.apart} {
		if folder != "" {
			_ = os.RemoveAll(folder)
		}
	}
	for _, f := range append(n.files[:], n.locks[:]...) {
		_ = f.Close() // of one that there is not, it does nothing
	}
}

// watch waits for the end.
func (n *session) watch() {
	n.result = n.child.Wait()
	_ = n.commands.Close() // nobody reads them any more
	close(n.ended)
}

// tell gives a line to the shell. Where it is not read, the shell has ended, which whoever waits
// for an answer learns.
func (n *session) tell(line string) { _, _ = io.WriteString(n.commands, line+"\n") }

// answer has a line done.
func (n *session) answer(line string, input []byte) (a answer, err error) {
	if err := n.files[stdin].Truncate(0); err != nil {
		return a, err
	}
	if _, err := n.files[stdin].WriteAt(input, 0); err != nil {
		return a, err
	}
	n.tell("{ " + line + `; } <"$d/0" >"$d/1" 2>"$d/2"; echo "$?"`)
	select {
	case code := <-n.codes:
		if a.code, err = strconv.Atoi(code); err != nil {
			return a, err
		}
	case <-n.ended:
		return a, cmp.Or(n.result.Err, fmt.Errorf("the shell that git runs in ended early (exit code %d %s)", n.result.ExitCode, n.result.Signal))
	}
	if a.out, err = n.written(stdout, maxOutput); err == nil {
		a.said, err = n.written(stderr, process.DefaultMaxStderr)
	}
	return a, err
}

// written is what a command has written.
func (n *session) written(file int, most int64) (string, error) {
	var text strings.Builder
	size, err := io.Copy(&text, io.NewSectionReader(n.files[file], 0, most+1))
	if err == nil && size > most {
		err = fmt.Errorf("it wrote more than %d bytes: %w", most, process.ErrOverLimit)
	}
	return text.String(), err
}

// quoted is a text as one word of sh.
func quoted(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }
