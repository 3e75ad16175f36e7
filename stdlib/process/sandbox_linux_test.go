package process_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"

	"starling/stdlib/process"
	"starling/stdlib/sandbox"
)

// probeMain tries the probes that it is given the names of, and says what came of each.
func probeMain(task string) {
	var t probeTask
	if err := json.Unmarshal([]byte(task), &t); err != nil {
		panic(err)
	}
	came := map[string]string{}
	for _, p := range probes() {
		if slices.Contains(t.Names, p.name) {
			came[p.name] = cameOf(p, t.Scene)
		}
	}
	json.NewEncoder(os.Stdout).Encode(came)
	os.Exit(0)
}

func cameOf(p probe, s scene) (word string) {
	defer func() {
		if fault := recover(); fault != nil {
			word = fmt.Sprint(fault)
		}
	}()
	return came(p.try(s))
}

type probeTask struct {
	Scene scene
	Names []string
}

// newScene makes what the probes try to get at.
func newScene(t *testing.T) scene {
	t.Helper()
	top := t.TempDir()
	shown, err := os.MkdirTemp("/var/tmp", "starling-probe-") // in /tmp a FIFO could be written to, as in the workspace
	must(t, err)
	t.Cleanup(func() { os.RemoveAll(shown) })
	s := scene{Work: filepath.Join(top, "work"), Outside: filepath.Join(top, "outside"), Shown: shown, Memory: 0x57A0000 + os.Getpid()%0xFFFF,
		Name: "starling-probe-" + strconv.Itoa(os.Getpid()), Queue: "starling-probe-" + strconv.Itoa(os.Getpid())}
	s.Home = filepath.Join(top, "home")
	must(t, errors.Join(os.MkdirAll(filepath.Join(s.Home, ".ssh"), 0o700), os.WriteFile(filepath.Join(s.Home, "probe"), []byte("untouched"), 0o600)))
	s.Path = filepath.Join(s.Outside, "socket")
	for _, dir := range []string{s.Work, s.Outside, s.work("store"), s.work(".git"), s.work(".git/hooks")} {
		must(t, os.Mkdir(dir, 0o755))
	}
	for _, file := range []string{s.work("f"), s.work("starling.toml"), s.work(".git/config"), s.work(".git/HEAD"), s.work(".git/index"), s.work(".git/hooks/pre-commit"), s.work("store/key"),
		s.outside("f"), filepath.Join(s.Shown, "f")} {
		must(t, os.WriteFile(file, []byte("untouched"), 0o644))
	}
	must(t, os.WriteFile(s.outside("program"), []byte("#!/bin/sh\n"), 0o755))
	must(t, unix.Mkfifo(s.outside("fifo"), 0o600))
	must(t, unix.Mkfifo(filepath.Join(s.Shown, "fifo"), 0o600))
	s.listen(t)
	s.share(t)
	victim := exec.Command("/bin/sleep", "1000")
	must(t, victim.Start())
	t.Cleanup(func() { victim.Process.Kill(); victim.Wait() })
	s.Victim = victim.Process.Pid
	terminal, side, err := pty.Open()
	must(t, err)
	t.Cleanup(func() { terminal.Close(); side.Close() })
	s.PTY = side.Name()
	return s
}

// listen opens the sockets, and readers of the FIFOs: without one nobody may write.
func (s *scene) listen(t *testing.T) {
	for _, path := range []string{s.Path, filepath.Join(s.Shown, "socket"), "@" + s.Name} {
		l, err := net.Listen("unix", path)
		must(t, err)
		t.Cleanup(func() { l.Close() })
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	t.Cleanup(func() { l.Close() })
	s.Port = l.Addr().(*net.TCPAddr).Port
	for _, path := range []string{s.outside("fifo"), filepath.Join(s.Shown, "fifo")} {
		r, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
		must(t, err)
		t.Cleanup(func() { r.Close() })
	}
}

// share makes the memory, semaphores and messages of the machine.
func (s *scene) share(t *testing.T) {
	id, err := unix.SysvShmGet(s.Memory, 16, unix.IPC_CREAT|0o600)
	must(t, err)
	t.Cleanup(func() { unix.SysvShmCtl(id, unix.IPC_RMID, nil) })
	semaphores, _, errno := syscall.Syscall(unix.SYS_SEMGET, uintptr(s.Memory), 1, unix.IPC_CREAT|0o600)
	if errno != 0 {
		t.Fatal(errno)
	}
	t.Cleanup(func() { call(unix.SYS_SEMCTL, semaphores, 0, unix.IPC_RMID) })
	messages, _, errno := syscall.Syscall(unix.SYS_MSGGET, uintptr(s.Memory), unix.IPC_CREAT|0o600, 0)
	if errno != 0 {
		t.Fatal(errno)
	}
	t.Cleanup(func() { call(unix.SYS_MSGCTL, messages, unix.IPC_RMID, 0) })
	must(t, ignoring(unix.ENOSYS, call(unix.SYS_MQ_OPEN, text(s.Queue), unix.O_RDWR|unix.O_CREAT, 0o600, uintptr(unsafe.Pointer(nil)))))
	t.Cleanup(func() { call(unix.SYS_MQ_UNLINK, text(s.Queue)) })
	s.Shm = "/dev/shm/" + s.Name
	must(t, os.WriteFile(s.Shm, []byte("untouched"), 0o600))
	t.Cleanup(func() { os.Remove(s.Shm) })
}

func ignoring(what, err error) error {
	if errors.Is(err, what) {
		return nil
	}
	return err
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// policy is that of a command in the scene.
func (s scene) policy(t *testing.T) sandbox.Policy {
	self, err := os.Executable()
	must(t, err)
	return sandbox.Policy{Read: append(sandbox.System(), self, s.Shown), Write: []string{s.Work}, Hide: []string{s.work("store")},
		Protect: []string{s.work("starling.toml"), s.work(".git/config"), s.work(".git/hooks"), s.work(".git/commondir")}}
}

// prints is what must be as it was: the contents, rights, owners and times of what lies outside.
func (s scene) prints(t *testing.T) string {
	var b strings.Builder
	for _, path := range []string{s.outside("f"), s.outside("program"), s.outside("fifo"), s.Outside, filepath.Join(s.Shown, "f"), s.Shown, s.work("starling.toml"), s.work(".git/config"),
		s.work(".git/hooks"), s.work(".git/hooks/pre-commit"), s.work("store"), s.work("store/key"), s.Shm, "/dev/null", "/etc/passwd", "/etc", "/usr"} {
		var i unix.Stat_t
		must(t, unix.Lstat(path, &i))
		content := ""
		if i.Mode&unix.S_IFMT == unix.S_IFREG {
			bytes, _ := os.ReadFile(path)
			content = string(bytes)
		}
		fmt.Fprintln(&b, path, i.Mode, i.Uid, i.Gid, i.Nlink, i.Mtim, content)
	}
	for _, setting := range []string{"core_pattern", "hostname"} {
		content, err := os.ReadFile("/proc/sys/kernel/" + setting)
		must(t, err)
		fmt.Fprintln(&b, setting, string(content))
	}
	return b.String()
}

// probe runs the probes with a claim and compares what came with what must.
func (s scene) probe(t *testing.T, p sandbox.Policy, claim func(probe) string) process.Result {
	t.Helper()
	self, err := os.Executable()
	must(t, err)
	task := probeTask{Scene: s}
	wants := map[string]string{}
	for _, p := range probes() {
		if want := claim(p); want != "" {
			if wants[p.name] != "" {
				t.Errorf("there are two probes %q", p.name)
			}
			wants[p.name], task.Names = want, append(task.Names, p.name)
		}
	}
	text, err := json.Marshal(task)
	must(t, err)
	before := s.prints(t)
	r := run(t, process.Spec{Argv: []string{self}, Dir: s.Work, Env: []string{"PATH=/usr/bin:/bin", "TEST_PROBES=" + string(text)}, Sandbox: &p})
	var came map[string]string
	if err := json.Unmarshal(r.Stdout, &came); err != nil {
		t.Fatalf("%v: %s: %+v", err, r.Stderr, r)
	}
	for _, name := range task.Names {
		want := strings.Split(wants[name], "|")
		refused := slices.Contains(want, "refused") && strings.HasPrefix(came[name], "E")
		if !slices.Contains(want, came[name]) && !refused {
			t.Errorf("%s: %s came, want %s", name, came[name], wants[name])
		}
	}
	if after := s.prints(t); after != before {
		t.Errorf("what lies outside was\n%s\nand is\n%s", before, after)
	}
	if err := syscall.Kill(s.Victim, 0); err != nil {
		t.Errorf("the process outside: %v", err)
	}
	t.Logf("%d probes as user %d; not enforced: %q", len(task.Names), os.Getuid(), r.Lacks)
	return r
}

// What a command tries in the whole sandbox. Where the machine cannot give it, it is refused, and
// what is left must hold.
func TestProbes(t *testing.T) {
	s := newScene(t)
	p := s.policy(t)
	if refusedWhole(t, s) {
		t.Log("this machine cannot give the whole sandbox")
		probePartial(t, s)
		return
	}
	r := s.probe(t, p, func(p probe) string { return p.own })
	if len(r.Lacks) > 0 {
		t.Errorf("the whole sandbox lacks %q", r.Lacks)
	}
	if want := []string{s.work(".git/commondir.set-aside")}; !slices.Equal(r.Aside, want) {
		t.Errorf("set aside were %q, want %q", r.Aside, want)
	}
}

// refusedWhole tells whether this machine cannot give the whole sandbox, and then wants that to be
// said.
func refusedWhole(t *testing.T, s scene) bool {
	t.Helper()
	p := s.policy(t)
	spec := sh("true")
	spec.Dir, spec.Sandbox = s.Work, &p
	r, err := process.Run(t.Context(), spec)
	if err == nil && r.ExitCode == 0 {
		return false
	}
	if !errors.Is(err, process.ErrSandbox) {
		t.Fatalf("got %+v, %v, want it to run or ErrSandbox", r, err)
	}
	return true
}

// The same as another user.
func TestProbesAsAnotherUser(t *testing.T) {
	if os.Getuid() != 0 {
		t.Log("this is another user already: see TestProbes")
		return
	}
	const user = 1234
	dir := t.TempDir()
	must(t, os.Chmod(filepath.Dir(dir), 0o755))
	must(t, os.Chown(dir, user, user))
	self := copyOfSelf(t, dir)
	cmd := exec.Command(self, "-test.run", "^TestProbes$", "-test.v")
	cmd.Dir, cmd.Env = dir, []string{"HOME=" + dir, "TMPDIR=" + dir, "PATH=/usr/bin:/bin"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: user, Gid: user}}
	wantProbes(t, cmd)
}

// copyOfSelf puts this program where other users may execute it.
func copyOfSelf(t *testing.T, dir string) string {
	self, err := os.Open("/proc/self/exe")
	must(t, err)
	defer self.Close()
	path := filepath.Join(dir, "probes.test")
	out, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o755)
	must(t, err)
	_, err = io.Copy(out, self)
	must(t, errors.Join(err, out.Close()))
	return path
}

func wantProbes(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "probes as user") {
		t.Errorf("%v\n%s", err, out)
	}
	t.Logf("%s", out)
}

// Without user namespaces the whole sandbox is refused, and the partial one keeps what it claims. A
// user namespace in which there may be no further ones stands for a machine that allows none.
func TestProbesWithoutNamespaces(t *testing.T) {
	self, err := os.Executable()
	must(t, err)
	cmd := exec.Command(self, "-test.run", "^TestProbesPartial$", "-test.v")
	cmd.Env = append(os.Environ(), "TEST_NAMESPACES=none")
	cmd.SysProcAttr = ownUsers()
	if err := cmd.Start(); err != nil {
		t.Logf("this machine allows none (%v): see TestProbes", err)
		return
	}
	cmd.Process.Kill()
	cmd.Wait()
	again := exec.Command(cmd.Path, cmd.Args[1:]...)
	again.Env, again.SysProcAttr = cmd.Env, ownUsers()
	wantProbes(t, again)
}

// ownUsers are the attributes of a process that is root in a namespace of its own.
func ownUsers() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER, UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}}
}

// TestProbesPartial is for TestProbesWithoutNamespaces, which runs it where there are none.
func TestProbesPartial(t *testing.T) {
	if os.Getenv("TEST_NAMESPACES") == "" {
		return
	}
	must(t, os.WriteFile("/proc/sys/user/max_user_namespaces", []byte("0"), 0))
	s := newScene(t)
	if !refusedWhole(t, s) {
		t.Error("the whole sandbox was not refused")
	}
	probePartial(t, s)
}

func probePartial(t *testing.T, s scene) {
	t.Helper()
	p := s.policy(t)
	p.Partial = true
	r := s.probe(t, p, func(p probe) string { return p.bare })
	for _, want := range []string{"processes outside can be seen", "rights, owners, times and attributes of files outside can be changed", "is neither hidden nor protected", "of the network only TCP is closed"} {
		if !strings.Contains(strings.Join(r.Lacks, "\n"), want) {
			t.Errorf("not enforced is %q, want %q said", r.Lacks, want)
		}
	}
}
