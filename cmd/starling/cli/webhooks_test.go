package cli

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const hookProject = `
[secrets.signs]
env = "HOOK_SECRET"
[secrets.acts]
env = "HOOK_TOKEN"
[webhooks.issues]
from = "github"
secret = "signs"
token = "acts"
when = '$event == "issues" and .action == "opened"'
run = "triage"
inputs = "{title: .issue.title, number: .issue.id}"
[webhooks.builds]
from = "github"
secret = "signs"
token = "acts"
signal = '{run: .run, gate: "ship", choice: .state}'
[webhooks.items]
from = "github"
secret = "signs"
token = "acts"
push = "inbox"
value = ".item"
[secrets.nowhere]
env = "HOOK_NOWHERE"
[webhooks.unready]
from = "github"
secret = "nowhere"
token = "acts"
push = "inbox"
`

const hookScript = `inputs = contract("{title: string(1..), number: int}")

def main(title, number):
    d = gate("ship", prompt = title, options = ["yes", "no"])
    return {"number": number, "by": d.by}
`

// sender posts deliveries as GitHub does.
type sender struct {
	t       *testing.T
	address string
	secret  string
}

// posts posts a body to a webhook and wants a status; what was answered is decoded.
func (s sender) posts(want int, hook, event, delivery, body string) (answer struct {
	Status, Run string
	Item        uint64
	Error       struct{ Kind, Message string }
}) {
	s.t.Helper()
	m := hmac.New(sha256.New, []byte(s.secret))
	m.Write([]byte(body))
	req, err := http.NewRequestWithContext(s.t.Context(), http.MethodPost, s.address+"/webhooks/"+hook, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-Hub-Signature-256", "sha256="+hex.EncodeToString(m.Sum(nil)))
	req.Header.Set("X-GitHub-Event", event)
	req.Header.Set("X-GitHub-Delivery", delivery)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err == nil {
		err = json.Unmarshal(text, &answer)
	}
	if err != nil || resp.StatusCode != want {
		s.t.Errorf("%s %s: got %s (%v), want %d\n%s", hook, delivery, resp.Status, err, want, text)
	}
	return answer
}

// TestWebhooks: what is posted starts one run, whatever is sent again, also after the server was
// killed; answers a gate in the name of the token; fills a queue. What is signed with another
// secret, comes to a changed project or in the name of a token that was revoked does nothing.
func TestWebhooks(t *testing.T) {
	o := newOffice(t)
	o.write("starling.toml", hookProject)
	o.write("triage.star", hookScript)
	o.cli(0, "define", "triage", "triage.star")
	token := strings.TrimSpace(o.cli(0, "token", "add", "hub", "--can", "run,read,signal"))
	o.env = append(o.env, "HOOK_SECRET=It's a Secret to Everybody", "HOOK_TOKEN="+token)
	address, _ := o.serving("--http", "127.0.0.1:0")
	hub := sender{t, address, "It's a Secret to Everybody"}
	const opened = `{"action": "opened", "issue": {"title": "slow", "id": 9007199254740993}}`

	hub.posts(http.StatusForbidden, "issues", "issues", "d0", opened)
	before := sender{t, address, "another"}.posts(http.StatusForbidden, "issues", "issues", "d0", opened)
	o.cli(0, "trust")
	first := hub.posts(http.StatusOK, "issues", "issues", "d1", opened)
	if again := hub.posts(http.StatusOK, "issues", "issues", "d1", opened); first.Run == "" || again.Run != first.Run {
		t.Errorf("the same delivery: got %+v and %+v", first, again)
	}
	if other := hub.posts(http.StatusOK, "issues", "issues", "d2", opened); other.Run == first.Run {
		t.Errorf("another delivery is the run %s, too", other.Run)
	}
	if a := hub.posts(http.StatusOK, "issues", "push", "d3", opened); a.Status != "ignored" || a.Run != "" {
		t.Errorf("another event: got %+v", a)
	}
	o.kill()
	hub.address, _ = o.serving("--http", "127.0.0.1:0")
	if again := hub.posts(http.StatusOK, "issues", "issues", "d1", opened); again.Run != first.Run {
		t.Errorf("after SIGKILL: got %+v, want the run %s", again, first.Run)
	}

	forger := sender{t, hub.address, "another"}
	refused := forger.posts(http.StatusForbidden, "issues", "issues", "d4", opened)
	for _, name := range []string{"issuse", "unready"} {
		unknown := forger.posts(http.StatusForbidden, name, "issues", "d4", opened)
		if strings.ReplaceAll(unknown.Error.Message, name, "issues") != refused.Error.Message {
			t.Errorf("who forges learns what there is: %q, %q", refused.Error.Message, unknown.Error.Message)
		}
	}
	if before.Error.Message != refused.Error.Message {
		t.Errorf("who forges learns whether the project is trusted: %q, %q", before.Error.Message, refused.Error.Message)
	}
	hub.posts(http.StatusUnprocessableEntity, "issues", "issues", "d5", `{"action": `)
	hub.posts(http.StatusUnprocessableEntity, "issues", "issues", "d6", `{"action": "opened", "issue": {"title": "", "id": 1}}`)
	hub.posts(http.StatusRequestEntityTooLarge, "issues", "issues", "d7", `"`+string(bytes.Repeat([]byte("x"), 1<<20))+`"`)

	hub.posts(http.StatusOK, "builds", "status", "d8", `{"run": "`+first.Run+`", "state": "yes"}`)
	if out := o.cli(0, "wait", first.Run, "--json"); !strings.Contains(out, `"by":"hub"`) || !strings.Contains(out, "9007199254740993") {
		t.Errorf("the run that a webhook has started and answered: %s", out)
	}
	hub.posts(http.StatusOK, "builds", "status", "d8", `{"run": "`+first.Run+`", "state": "yes"}`)
	hub.posts(http.StatusConflict, "builds", "status", "d9", `{"run": "`+first.Run+`", "state": "no"}`)
	one := hub.posts(http.StatusOK, "items", "x", "d10", `{"item": {"n": 1}}`)
	if two := hub.posts(http.StatusOK, "items", "x", "d10", `{"item": {"n": 1}}`); one.Item == 0 || two.Item != one.Item {
		t.Errorf("the same item: got %+v and %+v", one, two)
	}

	o.write("starling.toml", hookProject+"# as an agent would write\n")
	hub.posts(http.StatusForbidden, "items", "x", "d11", `{"item": 2}`)
	o.cli(0, "trust")
	hub.posts(http.StatusOK, "items", "x", "d11", `{"item": 2}`)
	o.cli(0, "token", "rm", "hub")
	hub.posts(http.StatusForbidden, "items", "x", "d12", `{"item": 3}`)
	log := o.cli(0, "webhooks", "log", "--jq", `.refused[] | "\(.webhook) \(.delivery // "") \(.count) \(.reason)"`, "--raw")
	for _, want := range []string{"items d12 1 the token of the webhook", "issues d5 1 the body is no JSON", "the signature is not that of its secret", "unready  1 the secret nowhere", "issues d0 1 webhooks are not taken"} {
		if !strings.Contains(log, want) {
			t.Errorf("there is no %q in what was refused:\n%s", want, log)
		}
	}
	if strings.Contains(log, "slow") || strings.Contains(log, "Everybody") {
		t.Errorf("what was posted, or a secret, is in\n%s", log)
	}
	if out := o.cli(0, "ps", "--all", "--jq", ".runs | length"); strings.TrimSpace(out) != "2" {
		t.Errorf("there are %s runs, want those of d1 and d2", out)
	}
}

// TestWebhooksReplay: what the project did not take though it was signed is kept, without secrets,
// over SIGKILL, and done when the project was mended: once, also when it is sent again. What a
// token may not do, and what nobody has signed, is not kept.
func TestWebhooksReplay(t *testing.T) {
	const secret = "It's a Secret to Everybody"
	o := newOffice(t)
	wrong := strings.ReplaceAll(strings.ReplaceAll(hookProject, ".issue.title", ".issue.name"), `value = ".item"`, `value = ".item.first"`)
	o.write("starling.toml", wrong)
	o.write("triage.star", hookScript)
	o.cli(0, "define", "triage", "triage.star")
	token := strings.TrimSpace(o.cli(0, "token", "add", "hub", "--can", "run,read,signal"))
	o.env = append(o.env, "HOOK_SECRET="+secret, "HOOK_TOKEN="+token)
	o.cli(0, "trust")
	address, _ := o.serving("--http", "127.0.0.1:0")
	hub := sender{t, address, secret}
	opened := `{"action": "opened", "issue": {"title": "slow", "id": 9007199254740993}, "note": ["` + secret + `", "` + token + `"]}`
	kept := func(want string) {
		t.Helper()
		if got := o.cli(0, "webhooks", "log", "--jq", `[.refused[] | select(.kept) | "\(.webhook)/\(.delivery)"] | join(" ")`, "--raw"); strings.TrimSpace(got) != want {
			t.Errorf("kept are %q, want %q", got, want)
		}
	}

	hub.posts(http.StatusUnprocessableEntity, "issues", "issues", "d1", opened)
	hub.posts(http.StatusUnprocessableEntity, "issues", "issues", "d1", opened)
	hub.posts(http.StatusUnprocessableEntity, "items", "x", "d2", `{"item": 7}`)
	hub.posts(http.StatusUnprocessableEntity, "issues", "issues", "d3", `{"action": `)
	sender{t, address, "another"}.posts(http.StatusForbidden, "issues", "issues", "d4", opened)
	kept("items/d2 issues/d1")
	if out := o.cli(0, "webhooks", "log"); !strings.Contains(out, "KEPT") || !strings.Contains(out, "want string") {
		t.Errorf("the log: %s", out)
	}
	files, _ := filepath.Glob(filepath.Join(o.dir, ".starling", "webhooks", "*"))
	for _, file := range files {
		text, err := os.ReadFile(file)
		if info, failed := os.Stat(file); err != nil || failed != nil || info.Mode().Perm() != 0o600 || strings.Contains(string(text), "Everybody") || strings.Contains(string(text), token) {
			t.Errorf("%s has %s (%v, %v)", file, text, err, failed)
		}
	}
	if len(files) != 2 {
		t.Errorf("got the files %v, want two", files)
	}

	o.cli(4, "webhooks", "replay", "d1")
	o.cli(2, "webhooks", "replay", "d9")
	o.cli(2, "webhooks", "replay")
	kept("items/d2 issues/d1")
	o.kill()
	o.write("starling.toml", hookProject)
	o.cli(0, "trust")
	run := strings.TrimSpace(o.cli(0, "webhooks", "replay", "issues/d", "--jq", ".replayed[0].run", "--raw"))
	kept("items/d2")
	if out := o.cli(0, "webhooks", "replay", "--all"); out != "accepted items/d2 item 1\n" {
		t.Errorf("replayed: %s", out)
	}
	kept("")
	o.cli(2, "webhooks", "replay", "d1")
	o.cli(0, "stop")
	hub.address, _ = o.serving("--http", "127.0.0.1:0")
	if again := hub.posts(http.StatusOK, "issues", "issues", "d1", opened); again.Run != run {
		t.Errorf("sent again: got %+v, want the run %s", again, run)
	}

	o.write("starling.toml", wrong)
	o.cli(0, "trust")
	hub.posts(http.StatusUnprocessableEntity, "issues", "issues", "d5", opened)
	kept("issues/d5")
	o.write("starling.toml", hookProject)
	o.cli(0, "trust")
	hub.posts(http.StatusOK, "issues", "issues", "d5", opened) // its sender has tried again
	kept("")

	// What is done is answered as done, also where what is kept of it cannot be removed.
	o.write("starling.toml", wrong)
	o.cli(0, "trust")
	hub.posts(http.StatusUnprocessableEntity, "issues", "issues", "d6", opened)
	files, _ = filepath.Glob(filepath.Join(o.dir, ".starling", "webhooks", "*"))
	if err := errors.Join(os.Remove(files[0]), os.MkdirAll(filepath.Join(files[0], "stuck"), 0o700)); err != nil {
		t.Fatal(err)
	}
	o.write("starling.toml", hookProject)
	o.cli(0, "trust")
	if done := hub.posts(http.StatusOK, "issues", "issues", "d6", opened); done.Run == "" {
		t.Errorf("done, but not forgotten: got %+v", done)
	}
	if log := o.cli(0, "webhooks", "log"); !strings.Contains(log, "it is done; do not replay it") {
		t.Errorf("the log: %s", log)
	}
}
