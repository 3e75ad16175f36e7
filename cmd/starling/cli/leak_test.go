package cli

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"starling/runtime/badger"
)

var leakSeed = flag.Uint64("leak-seed", uint64(time.Now().UnixNano()), "of the secrets and texts of TestNoSecretIsKept")

const leaks = 4 // texts of each border

const leakProject = `[sh]
allow = ["sh"]
env = ["LEAK_KEY"]
[agents.speaker]
command = ["./speak.sh"]
env = ["LEAK_KEY"]
retries = 0
[tools.broken]
command = ["./broken.sh"]
env = ["LEAK_KEY"]
[tools.good]
command = ["toolserver"]
env = ["LEAK_KEY"]
[secrets.file]
file = "keys/file"
[notify.teller]
command = ["./tell.sh"]
env = ["LEAK_KEY"]
on = ["gate"]
[notify.hook]
webhook = "%s/hook"
secret = "file"
on = ["gate"]
`

// spill writes two texts, in pieces: the program has them from its environment as far as anybody
// can tell.
const leakSpill = `dd if=spill/out$1 bs=$2 status=none; dd if=spill/err$1 bs=7 status=none >&2; `

const leakScript = `
def said(r):
    return str(r.value) if r.ok else r.error.message + str(r.error.data)

def main(url, texts):
    all = []
    for n in range(texts):
        for end in ["exit 0", "exit 1", "kill -KILL $$"]:
            all.append(said(attempt(sh.run, ["sh", "spill.sh", str(n), str(3 + n), end])))
        all.append(said(attempt(agent, "speaker", str(n), name = "speaker-%d" % n)))
        for path in ["body", "head", "broken"]:
            all.append(said(attempt(http.get, "%s/%s/%d" % (url, path, n), headers = {"Authorization": secrets.get("file").wrap("Bearer {}")})))
        all.append(said(attempt(mcp.call, "broken", "any", {})))
        all.append(said(attempt(mcp.call, "good", "env", {"name": "LEAK_KEY"})))
    all.append(said(attempt(workspace.diff)))
    gate("seen", options = ["yes"])
    return all
`

// What is given to programs and servers comes back in what they say, whole or in part, in pieces,
// in any spelling and cut anywhere: no six characters of it are kept or shown.
func TestNoSecretIsKept(t *testing.T) {
	t.Logf("-leak-seed %d", *leakSeed)
	r := rand.New(rand.NewPCG(*leakSeed, 1))
	o := newOffice(t)
	values := []string{leakValue(r), leakValue(r)}
	l := &leaky{o: o, values: values}
	server := httptest.NewServer(l.answers(r))
	t.Cleanup(server.Close)
	l.furnish(r, server.URL)
	o.env = append(o.env, "LEAK_KEY="+values[0])

	address, left := o.serving("--http", "127.0.0.1:0", "--mcp")
	reader := strings.TrimSpace(o.cli(0, "token", "add", "reader", "--can", "read"))
	var started struct{ ID string }
	if err := json.Unmarshal([]byte(o.cli(3, "run", "leak.star", "-i", "url="+server.URL, "-i", fmt.Sprint("texts:=", leaks), "--json")), &started); err != nil {
		t.Fatal(err)
	}
	id := started.ID
	for name, text := range map[string]string{"logs": o.cli(0, "logs", id), "events": o.cli(0, "logs", id, "--jsonl"), "show": o.cli(0, "show", id, "--json"), "steps": o.cli(0, "steps", id, "--json"),
		"doctor": o.cli(1, "doctor", "--json")} { // a tool server is broken
		l.clean(name, text)
	}
	for _, path := range []string{"/v1/events?follow=false&run=" + id, "/v1/status"} {
		l.clean(path, l.fetch(address, path, reader, id))
	}
	for _, hash := range regexp.MustCompile(`[0-9a-f]{64}`).FindAllString(o.cli(0, "logs", id, "--jsonl"), -1) {
		l.clean("blob", l.fetch(address, "/v1/blob?hash="+hash, reader, ""))
	}
	o.cli(0, "export", id, "-o", "run.export")
	exported, err := os.ReadFile(filepath.Join(o.dir, "run.export"))
	if err != nil {
		t.Fatal(err)
	}
	l.clean("export", string(exported))
	o.cli(0, "stop")
	l.clean("what serve says", left())
	l.cleanStore(filepath.Join(o.dir, ".starling"))
	if said := o.cli(0, "logs", id, "--jsonl"); !strings.Contains(said, "LEAK_KEY=[LEAK_KEY]") || !strings.Contains(said, "stderr ends with") {
		t.Errorf("the tool servers have said nothing: %.2000s", said)
	}
	if marks := strings.Count(o.cli(0, "logs", id, "--jsonl"), "[LEAK_KEY]"); marks < leaks {
		t.Errorf("the values stood in %d places only: nothing was tried", marks)
	}
}

// leaky is a place where everything repeats secrets.
type leaky struct {
	o      *office
	values []string
}

func leakValue(r *rand.Rand) string {
	const letters = `abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+/=_-."&`
	b := []byte("k")
	for range 11 + r.IntN(40) {
		b = append(b, letters[r.IntN(len(letters))])
	}
	return string(b) + "z"
}

// furnish writes the project, its programs and what they say.
func (l *leaky) furnish(r *rand.Rand, url string) {
	o := l.o
	for _, dir := range []string{"keys", "spill"} {
		if err := os.Mkdir(filepath.Join(o.dir, dir), 0o700); err != nil {
			o.t.Fatal(err)
		}
	}
	o.write("starling.toml", fmt.Sprintf(leakProject, url))
	o.write("keys/file", l.values[1]+"\n")
	o.write("leak.star", leakScript)
	o.write("spill.sh", leakSpill+"eval \"$3\"\n")
	programs := map[string]string{
		"speak.sh":  `n=$(printf %s "$STARLING_STEP" | tr -dc 0-9); set -- "$n" 5; ` + leakSpill + "exit $((n % 2))",
		"broken.sh": "set -- 1 5; " + leakSpill,
		"tell.sh":   "set -- 2 5; " + leakSpill + "exit 1",
	}
	for name, text := range programs {
		o.write(name, "#!/bin/sh\n"+text+"\n")
		if err := os.Chmod(filepath.Join(o.dir, name), 0o700); err != nil {
			o.t.Fatal(err)
		}
	}
	for n := range leaks {
		for _, name := range []string{"out", "err"} {
			o.write(fmt.Sprintf("spill/%s%d", name, n), l.text(r, l.values[0], 64<<10*(n%2)))
		}
	}
	o.write(".gitignore", "spill\nkeys\nspill.sh\n.starling\nrun.export\n")
	git := exec.Command("git", "init", "-q")
	git.Dir = o.dir
	if out, err := git.CombinedOutput(); err != nil {
		o.t.Fatalf("git: %v %s", err, out)
	}
	o.write("leaked.txt", "somebody wrote "+l.values[0]+" here\n")
}

// text is cut where it likes.
func (l *leaky) text(r *rand.Rand, value string, least int) string {
	text := l.whole(r, value, least)
	return text[:len(text)-r.IntN(len(value))]
}

// whole has a value in it at random places and in random spellings, and so many bytes at least.
func (l *leaky) whole(r *rand.Rand, value string, least int) string {
	var b strings.Builder
	noise := func(n int) {
		for range n {
			b.WriteByte(" \n.,;:#()"[r.IntN(9)])
		}
	}
	for b.Len() < least || b.Len() < 400 {
		noise(r.IntN(300))
		b.WriteString(leakSpelling(r, value))
	}
	return b.String()
}

func leakSpelling(r *rand.Rand, value string) string {
	around := strings.Repeat("#", r.IntN(3)) + value + "###"
	quoted, _ := json.Marshal(value)
	twice, _ := json.Marshal(string(quoted))
	return []string{value, string(quoted), string(twice), url.QueryEscape(value), url.PathEscape(value), base64.StdEncoding.EncodeToString([]byte(around)),
		base64.RawURLEncoding.EncodeToString([]byte(around)), hex.EncodeToString([]byte(value)), strings.ReplaceAll(string(quoted), "/", `\/`)}[r.IntN(9)]
}

// answers is a server that repeats what it is sent, as a body, as a header, and as nothing that
// HTTP knows.
func (l *leaky) answers(r *rand.Rand) http.Handler {
	var texts, heads [leaks]string
	for i := range texts {
		texts[i], heads[i] = l.text(r, l.values[1], 0), l.whole(r, l.values[1], 0)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		n, _ := strconv.Atoi(q.URL.Path[strings.LastIndexByte(q.URL.Path, '/')+1:])
		switch {
		case strings.HasPrefix(q.URL.Path, "/head/"):
			w.Header().Set("X-Said", strings.ReplaceAll(heads[n], "\n", " "))
		case strings.HasPrefix(q.URL.Path, "/broken/"):
			conn, _, err := w.(http.Hijacker).Hijack()
			if err == nil {
				_, _ = io.WriteString(conn, l.values[1]+texts[n]+"\r\n\r\n") // the client may be gone
				conn.Close()
			}
		case q.URL.Path == "/hook":
			w.WriteHeader(http.StatusTeapot)
			fmt.Fprint(w, strings.Repeat(".", 4<<10-9), l.values[1])
		default:
			fmt.Fprint(w, texts[n])
		}
	})
}

// fetch asks over HTTP; with a run for how that stands.
func (l *leaky) fetch(address, path, token, run string) string {
	method, body := http.MethodGet, ""
	if strings.HasPrefix(path, "/v1/status") {
		method, body = http.MethodPost, `{"run": "`+run+`", "steps": true}`
	}
	q, err := http.NewRequest(method, address+path, strings.NewReader(body))
	if err != nil {
		l.o.t.Fatal(err)
	}
	resp, err := (&http.Client{Transport: bearing(token)}).Do(q)
	if err != nil {
		l.o.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		l.o.t.Fatal(err)
	}
	return string(text)
}

func (l *leaky) cleanStore(dir string) {
	l.o.t.Helper()
	s, err := badger.Open(dir, badger.Options{ReadOnly: true})
	if err != nil {
		l.o.t.Fatal(err)
	}
	defer s.Close()
	err = s.Scan(nil, nil, func(k, v []byte) error {
		l.clean("the store, "+strconv.Quote(string(bytes.ToValidUTF8(k, nil))), string(v))
		return nil
	})
	if err != nil {
		l.o.t.Fatal(err)
	}
}

var percentSign = regexp.MustCompile(`%[0-9A-Fa-f]{2}`)

// clean looks for six characters of a value, as they are, in URLs, in JSON, in base64 and in
// hexadecimal.
func (l *leaky) clean(where, text string) {
	l.o.t.Helper()
	read := percentSign.ReplaceAllStringFunc(text, func(s string) string { b, _ := hex.DecodeString(s[1:]); return string(b) })
	read = strings.ReplaceAll(strings.ReplaceAll(read, `\u0026`, "&"), `\`, "")
	for _, v := range l.values {
		for i := 0; i+6 <= len(v); i++ {
			six := v[i : i+6]
			for _, form := range []string{six, base64.StdEncoding.EncodeToString([]byte(six)), hex.EncodeToString([]byte(six))} {
				if at := strings.Index(read, form); at >= 0 {
					l.o.t.Errorf("%s has %q of %q: …%.300q…", where, form, v, read[max(0, at-150):])
					return
				}
			}
		}
	}
}
