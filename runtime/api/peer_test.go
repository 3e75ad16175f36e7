package api_test

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"starling/runtime"
	"starling/runtime/api"
)

func TestAuthenticate(t *testing.T) {
	own := os.Geteuid()
	agent := func(name, run string, err error) api.Identify {
		return func(pid int) (string, string, error) {
			if pid != 42 {
				t.Errorf("asked for process %d, want 42", pid)
			}
			return name, run, err
		}
	}
	for _, c := range []struct {
		name     string
		uid      int
		identify api.Identify
		agent    string
		refused  string
	}{
		{"a process of ours", own, nil, "", ""},
		{"one that belongs to no agent", own, agent("", "", nil), "", ""},
		{"one of an agent", own, agent("bob", "r1", nil), "bob", ""},
		{"one of which it cannot be told", own, agent("", "", errors.New("no /proc")), "",
			"it cannot be told whether process 42 belongs to an agent: no /proc"},
		{"one of another user", own + 1, agent("bob", "r1", nil), "",
			"the owner of the store is user " + strconv.Itoa(own) + ", and the caller is user " + strconv.Itoa(own+1)},
	} {
		who, err := api.Authenticate(api.Peer{PID: 42, UID: c.uid}, c.identify)
		if c.refused != "" {
			if r := runtime.AsRefusal(err); r.Kind != runtime.ErrDenied || r.Message != c.refused || who != (runtime.Caller{}) {
				t.Errorf("%s: got %+v, %v; want denied %q", c.name, who, err, c.refused)
			}
			continue
		}
		if err != nil || !strings.HasPrefix(who.Name, "local:") || who.Agent != c.agent || who.Local != (c.agent == "") {
			t.Errorf("%s: got %+v, %v", c.name, who, err)
		}
	}
}

// TestKernelNamesThePeer asks the real kernel: it is this process, so its pid is what Identify is
// asked about.
func TestKernelNamesThePeer(t *testing.T) {
	asked := make(chan int, 1)
	_, path := serve(t, open(t), api.Options{Identify: func(pid int) (string, string, error) {
		select {
		case asked <- pid:
		default:
		}
		return "", "", nil
	}})
	c := dial(t, path)
	if pid := <-asked; pid != os.Getpid() {
		t.Errorf("the kernel says process %d, want %d", pid, os.Getpid())
	}
	if h := c.Hello(); h.PID != os.Getpid() || h.Protocol != api.Protocol || h.State != api.Serving {
		t.Errorf("got hello %+v", h)
	}
}

// TestStopIsForPeople checks that a process of an agent cannot end the owner, and its user can.
func TestStopIsForPeople(t *testing.T) {
	stops := make(chan string, 2)
	_, path := serve(t, open(t), api.Options{
		OnStop:   func() { stops <- "agent" },
		Identify: func(int) (string, string, error) { return "bob", "r1", nil },
	})
	_, err := api.Stop(within(t), path, "")
	if r := runtime.AsRefusal(err); r.Kind != runtime.ErrDenied || !strings.HasSuffix(r.Message, "may not stop the owner of the store: it acts for an agent") {
		t.Errorf("got %v, want denied", err)
	}
	_, path = serve(t, open(t), api.Options{OnStop: func() { stops <- "user" }})
	if _, err := api.Stop(within(t), path, ""); err != nil {
		t.Fatal(err)
	}
	if who := <-stops; who != "user" {
		t.Errorf("stopped by %s", who)
	}
}

func TestDialWithoutOwner(t *testing.T) {
	dir := t.TempDir()
	for name, path := range map[string]string{
		"no file":             filepath.Join(dir, "none"),
		"a file, no socket":   regular(t, dir),
		"nobody listens":      abandoned(t),
		"a path far too long": filepath.Join(dir, strings.Repeat("x", 200)),
	} {
		_, err := api.Dial(within(t), path)
		if away := (*api.Away)(nil); !errors.As(err, &away) || away.State != api.Gone {
			t.Errorf("%s: got %v, want gone", name, err)
		}
	}
}

func regular(t *testing.T, dir string) string {
	path := filepath.Join(dir, "file")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// abandoned is the socket of an owner that was killed.
func abandoned(t *testing.T) string {
	path := socket(t)
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path})
	if err != nil {
		t.Fatal(err)
	}
	l.SetUnlinkOnClose(false)
	l.Close()
	return path
}
