package cli

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

// sink is the world of a session: an HTTP server that answers a GET with a file of the session's
// folder, /echo with the Authorization that it was sent, and everything else with {}, and keeps
// what it was asked.
type sink struct {
	mu       sync.Mutex
	server   *httptest.Server
	dir      string
	requests []string                 // METHOD PATH KEY BODY
	held     map[string]chan struct{} // paths whose requests wait for release, after they were recorded
	failing  int                      // how many further requests are answered with 503, after they were recorded
	answers  map[string]sinkAnswer    // what paths answer with, after they were recorded
}

// sinkAnswer is a status, and where it sends the client, if anywhere.
type sinkAnswer struct {
	status   int
	location string
}

type sinkKey struct{}

func newSink() *sink {
	return &sink{held: map[string]chan struct{}{}, answers: map[string]sinkAnswer{}}
}

func (s *sink) close() {
	s.release()
	if s.server != nil {
		s.server.CloseClientConnections()
		s.server.Close()
	}
}

func (s *sink) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	s.mu.Lock()
	s.requests = append(s.requests, fmt.Sprintf("%s %s %s %s", r.Method, r.URL.Path, cmp.Or(r.Header.Get("Idempotency-Key"), cmp.Or(s.webhook(r, body), "-")), body))
	held := s.held[r.URL.Path]
	fails := s.failing > 0
	s.failing--
	answer := s.answers[r.URL.Path]
	s.mu.Unlock()
	if fails {
		http.Error(w, "not now", http.StatusServiceUnavailable)
		return
	}
	if held != nil {
		<-held
	}
	if answer.status != 0 {
		if answer.location != "" {
			w.Header().Set("Location", answer.location)
		}
		w.WriteHeader(answer.status)
		return
	}
	if r.URL.Path == "/echo" {
		w.Header().Set("X-Seen", r.Header.Get("Authorization"))
		fmt.Fprintf(w, "%q", r.Header.Get("Authorization"))
		return
	}
	if r.Method != http.MethodGet {
		fmt.Fprint(w, "{}")
		return
	}
	http.ServeFile(w, r, filepath.Join(s.dir, filepath.FromSlash(r.URL.Path)))
}

// webhook is the id of a webhook, and whether it is signed with the key in the session's file
// hook.key.
func (s *sink) webhook(r *http.Request, body []byte) string {
	id := r.Header.Get("Webhook-Id")
	key, err := os.ReadFile(filepath.Join(s.dir, "hook.key"))
	if id == "" || err != nil {
		return id
	}
	hook, err := standardwebhooks.NewWebhook(strings.TrimSpace(string(key)))
	if err == nil {
		err = hook.Verify(body, r.Header)
	}
	if err != nil {
		return id + " unsigned: " + err.Error()
	}
	return id + " signed"
}

// release lets every held request go.
func (s *sink) release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for path, c := range s.held {
		close(c)
		delete(s.held, path)
	}
}

// answer has a path answered with a status from now on; 0 is as ever.
func (s *sink) answer(path string, status int, location string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answers[path] = sinkAnswer{status, location}
}

// count tells how many requests there were for a method and a path.
func (s *sink) count(method, path string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, r := range s.requests {
		if strings.HasPrefix(r, method+" "+path+" ") {
			n++
		}
	}
	return n
}

// cmdSink serves the sessions:
//
//	sink start               begin, and set SINK to the server's URL
//	sink hold PATH           requests for the path are recorded and not answered, until
//	sink release             all that is held is answered
//	sink fail N              the next N requests are recorded and answered with 503
//	sink await N METHOD PATH wait until there were so many requests
//	sink list                print the requests: METHOD PATH KEY BODY
//	sink forget              begin the list anew
func cmdSink(ts *testscript.TestScript, neg bool, args []string) {
	s := ts.Value(sinkKey{}).(*sink)
	if neg || len(args) == 0 {
		ts.Fatalf("usage: sink start|hold|release|await|list|forget")
	}
	switch args[0] {
	case "start":
		s.dir = ts.Getenv("WORK")
		s.server = httptest.NewServer(s)
		ts.Setenv("SINK", s.server.URL)
	case "hold":
		s.mu.Lock()
		s.held[args[1]] = make(chan struct{})
		s.mu.Unlock()
	case "release":
		s.release()
	case "fail":
		n, err := strconv.Atoi(args[1])
		ts.Check(err)
		s.mu.Lock()
		s.failing = n
		s.mu.Unlock()
	case "await":
		want, err := strconv.Atoi(args[1])
		ts.Check(err)
		for deadline := time.Now().Add(patience); s.count(args[2], args[3]) < want; time.Sleep(time.Millisecond) {
			if time.Now().After(deadline) {
				ts.Fatalf("%d requests %s %s, want %d", s.count(args[2], args[3]), args[2], args[3], want)
			}
		}
	case "forget":
		s.mu.Lock()
		s.requests = nil
		s.mu.Unlock()
	case "list":
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, r := range s.requests {
			fmt.Fprintln(ts.Stdout(), r)
		}
	default:
		ts.Fatalf("sink: unknown word %q", args[0])
	}
}

// TestSink: the sessions rely on it, so it is tested.
func TestSink(t *testing.T) {
	s := newSink()
	s.dir = t.TempDir()
	if err := os.WriteFile(filepath.Join(s.dir, "items.json"), []byte(`{"items":[]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	s.server = httptest.NewServer(s)
	defer s.close()
	got, err := http.Get(s.server.URL + "/items.json")
	if err != nil {
		t.Fatal(err)
	}
	defer got.Body.Close()
	if body, _ := io.ReadAll(got.Body); string(body) != `{"items":[]}` {
		t.Errorf("GET answered %q", body)
	}
	posted, err := http.Post(s.server.URL+"/publish", "application/json", bytes.NewBufferString("[1]"))
	if err != nil {
		t.Fatal(err)
	}
	defer posted.Body.Close()
	if want := "GET /items.json - |POST /publish - [1]"; strings.Join(s.requests, "|") != want {
		t.Errorf("recorded %q, want %q", s.requests, want)
	}
}
