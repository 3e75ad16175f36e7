package web_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	goruntime "runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"starling/runtime"
	"starling/runtime/web"
)

// mostMemory is what all clients together may cost the owner, in bytes.
const mostMemory = 64 << 20

// held is the memory that is in use once garbage is gone and nothing moves any more, in bytes.
func held() int64 {
	for last := int64(0); ; {
		goruntime.GC()
		var m goruntime.MemStats
		goruntime.ReadMemStats(&m)
		now := int64(m.HeapAlloc + m.StackInuse)
		if max(now-last, last-now) < 1<<18 {
			return now
		}
		last = now
	}
}

// raw opens a connection that takes little at a time, and sends the head of a request.
func (s *site) raw(head string) net.Conn {
	s.t.Helper()
	c, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { c.Close() })
	_ = c.(*net.TCPConn).SetReadBuffer(4 << 10) // more only hides in the kernel
	if _, err := io.WriteString(c, head); err != nil {
		s.t.Fatal(err)
	}
	return c
}

// said is a run whose journal has n events of some bytes each, more than the kernel takes from a
// stream that nobody reads.
func (s *site) said(token string, n, bytes int) string {
	s.t.Helper()
	_, started := s.call("run", token, fmt.Sprintf(`{"source": "def main():\n    for i in range(%d):\n        print('x' * %d)\n"}`, n, bytes))
	run := fmt.Sprint(started["run"])
	for {
		r, err := s.engine.Get(s.admin, run)
		if err != nil {
			s.t.Fatal(err)
		}
		if r.Status == runtime.Completed {
			return run
		}
		if r.Error != nil {
			s.t.Fatal(r.Error.Message)
		}
	}
}

// Streams that nobody reads cost little, whatever is in them, and nothing is missed by whoever
// comes back.
func TestStalledReadersHoldLittle(t *testing.T) {
	for name, c := range map[string]struct{ events, bytes int }{"small events": {2000, 1000}, "large events": {24, 400_000}} {
		t.Run(name, func(t *testing.T) {
			s := open(t, itself)
			token := s.token("judge", "all")
			run := s.said(token, c.events, c.bytes)
			before := held()
			head := fmt.Sprintf("GET /v1/events?run=%s HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\n\r\n", run, token)
			var first sync.WaitGroup
			for range 200 {
				conn := s.raw(head)
				first.Go(func() {
					line, err := bufio.NewReaderSize(conn, 16).ReadString('\n')
					if err != nil || !strings.HasPrefix(line, "HTTP/1.1 200") {
						t.Errorf("a stream began with %q, %v", line, err)
					}
				})
			}
			first.Wait()
			cost := held() - before
			t.Logf("200 streams that nobody reads cost %d MB", cost>>20)
			if cost > mostMemory {
				t.Errorf("200 streams that nobody reads cost %d MB, want at most %d", cost>>20, mostMemory>>20)
			}
			// whoever reads is served meanwhile
			if status, got := s.call("status", token, `{"run": "`+run+`"}`); status != http.StatusOK {
				t.Errorf("meanwhile: %d %v", status, got)
			}
		})
	}
}

// Of more streams than there may be, each one more is refused, and told when to come back; when
// one ends another may begin.
func TestTooManyStreams(t *testing.T) {
	s := open(t, itself)
	token := s.token("judge", "all")
	_, started := s.call("run", token, `{"source": "def main():\n    gate(\"g\")\n"}`)
	path := fmt.Sprintf("/v1/events?run=%s", started["run"])
	var streams []*http.Response
	for range 256 {
		streams = append(streams, s.stream(path, "Bearer "+token))
	}
	status, headers, body := s.ask("GET", path, token, "")
	if status != http.StatusServiceUnavailable || headers.Get("Retry-After") == "" || !strings.Contains(string(body), "256 streams at once") {
		t.Errorf("one more: %d %v %s", status, headers, body)
	}
	if status, got := s.call("status", token, fmt.Sprintf(`{"run": %q}`, started["run"])); status != http.StatusOK {
		t.Errorf("another request: %d %v", status, got)
	}
	streams[0].Body.Close()
	for status == http.StatusServiceUnavailable { // until the server has seen that
		status, _, _ = s.ask("HEAD", path, token, "")
	}
	if status != http.StatusOK {
		t.Errorf("after one has ended: %d", status)
	}
	for _, resp := range streams {
		resp.Body.Close()
	}
}

// Bodies that do not come to an end cost no more than the room that there is for them. Whoever
// finds none is refused and told when to come back; small ones are served.
func TestUnfinishedBodiesHoldLittle(t *testing.T) {
	s := openWith(t, itself, func(o *web.Options) { o.Wait = 50 * time.Millisecond })
	token := s.token("judge", "all")
	before := held()
	body := []byte(strings.Repeat("x", web.MaxBody-1))
	answers := make(chan string, 40)
	var sent sync.WaitGroup
	for i := range 40 {
		length := fmt.Sprintf("Content-Length: %d", web.MaxBody)
		if i%2 == 1 {
			length = "Transfer-Encoding: chunked"
		}
		conn := s.raw(fmt.Sprintf("POST /v1/run HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\n%s\r\n\r\n", token, length))
		if i%2 == 1 {
			io.WriteString(conn, fmt.Sprintf("%x\r\n", web.MaxBody)) // one that does not end
		}
		sent.Go(func() { conn.Write(body) }) // it ends with the connection where the server takes no more
		go func() {
			all, _ := io.ReadAll(io.LimitReader(conn, 4<<10))
			answers <- string(all)
		}()
	}
	for range 38 { // two fill the room
		answer := <-answers
		if !strings.Contains(answer, " 503 ") || !strings.Contains(answer, "Retry-After: ") || !strings.Contains(answer, "the bodies of others fill the 16 MiB") {
			t.Fatalf("a body for which there was no room: %.300s", answer)
		}
	}
	cost := held() - before
	t.Logf("40 unfinished bodies cost %d MB", cost>>20)
	if cost > mostMemory {
		t.Errorf("40 unfinished bodies cost %d MB, want at most %d", cost>>20, mostMemory>>20)
	}
	if status, _ := s.call("status", token, `{"run": "x"}`); status != http.StatusNotFound {
		t.Errorf("a small body meanwhile: %d", status)
	}
	s.t.Cleanup(sent.Wait)
}
