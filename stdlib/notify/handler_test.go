package notify_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
	"go.starlark.net/starlark"

	"starling/lang/effect"
	"starling/stdlib/notify"
	"starling/stdlib/process"
	"starling/stdlib/project"
)

// TestMain is the guard under which commands run, too.
func TestMain(m *testing.M) {
	process.GuardMain(os.Args)
	remove := trustOurs()
	code := m.Run()
	remove()
	os.Exit(code)
}

const hookKey = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

// variable is one of whoever carries the run.
func variable(name string) (string, bool) {
	v, ok := map[string]string{"HOOK_KEY": hookKey, "TOPIC": "runs", "BROKEN_KEY": "whsec_not base64", "NO_ADDRESS": "hooks/T0KENS", "PATH_KEY": "T0KENS/B0KENS",
		"HIDDEN": "http://127.0.0.1:1/services/T0KENS?as=B0KENS"}[name]
	if name == "ADDRESS" {
		v, ok = os.LookupEnv("TEST_ADDRESS")
	}
	return v, ok
}

func settings(dir, text string) *effect.Settings {
	return &effect.Settings{Workspace: dir, ProjectFile: filepath.Join(dir, "starling.toml"), Project: []byte(text)}
}

// tell tells a channel of a project of a notice.
func tell(t *testing.T, text, body string) effect.Reply {
	t.Helper()
	return tellWithin(context.Background(), t, text, body)
}

func tellWithin(ctx context.Context, t *testing.T, text, body string) effect.Reply {
	t.Helper()
	dir := t.TempDir()
	args := starlark.NewDict(2)
	for name, text := range map[string]string{"channel": "ops", "body": body} {
		if err := args.SetKey(starlark.String(name), starlark.String(text)); err != nil {
			t.Fatal(err)
		}
	}
	a := &effect.Attempt{Run: "run1", Step: "review", Number: 1, Key: "run1_7_ops", Args: args, Settings: settings(dir, text), Env: variable}
	r := notify.Handler().Perform(ctx, a)
	if text, err := os.ReadFile(filepath.Join(dir, "told")); err == nil {
		r.Text = string(text)
	}
	return r
}

// A webhook is signed as the standard's own library wants it, and its answer decides whether it is
// sent again.
func TestWebhook(t *testing.T) {
	hook, err := standardwebhooks.NewWebhook(hookKey)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		status int
		want   string
	}{{204, ""}, {200, ""}, {410, "final the webhook answers 410: it is gone"}, {503, "retryable 7s the webhook answers 503: not now"}, {302, "retryable 7s the webhook answers 302: not now"}} {
		heard := 0
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			heard++
			body, _ := io.ReadAll(r.Body)
			if err := hook.Verify(body, r.Header); err != nil || r.Header.Get("Webhook-Id") != "run1_7_ops" || string(body) != `{"type":"x"}` {
				t.Errorf("%v: got %s, %v", err, body, r.Header)
			}
			w.Header().Set("Retry-After", "7")
			w.Header().Set("Location", "/elsewhere")
			w.WriteHeader(c.status)
			if c.status != 204 {
				fmt.Fprint(w, "not now")
			}
		}))
		project := fmt.Sprintf("[secrets.hook]\nenv = 'HOOK_KEY'\n[notify.ops]\nwebhook = %q\nsecret = 'hook'\n", server.URL)
		if got := show(tell(t, project, `{"type":"x"}`)); got != c.want || heard != 1 {
			t.Errorf("%d: got %q after %d requests, want %q", c.status, got, heard, c.want)
		}
		server.Close()
	}
}

// show is a reply on one line, "" for one that has arrived.
func show(r effect.Reply) string {
	if r.Err == nil {
		return ""
	}
	text := map[effect.Failure]string{effect.Final: "final", effect.Retryable: "retryable"}[r.Class]
	if r.After > 0 {
		text += " " + r.After.String()
	}
	return text + " " + r.Err.Message
}

// What cannot be told now is told later; what nobody could ever tell is given up.
func TestChannels(t *testing.T) {
	for project, want := range map[string]string{
		"[notify.ops]\ncommand = ['/bin/sh', '-c', 'cat >told; printf %s \"$STARLING_NOTICE $TOPIC\" >>told']\nenv = ['TOPIC']\n": "",
		"[notify.ops]\ncommand = ['/bin/sh', '-c', 'echo $HOOK_KEY >&2; exit 3']\n":                                               "retryable /bin/sh exited with 3",
		"[notify.ops]\ncommand = ['true']\nenv = ['NOBODY_HAS_IT']\n":                                                             "retryable the environment variable NOBODY_HAS_IT, which [notify.ops] declares, has no value",
		"[notify.other]\ncommand = ['true']\n":                                                                                    "final there is no [notify.ops]",
		"[notify.ops]\nwebhook = 'http://127.0.0.1:1/services/KEY?token=KEY'\n":                                                   "retryable the webhook at 127.0.0.1:1: dial tcp 127.0.0.1:1: connect: connection refused",
	} {
		r := tell(t, project, "{}")
		if got := show(r); got != want {
			t.Errorf("%s\ngot  %s\nwant %s", project, got, want)
		}
		if strings.Contains(project, "told") && r.Text != "{}run1_7_ops runs" {
			t.Errorf("the command had %q", r.Text)
		}
	}
}

// secrets are all that the projects below declare.
const secrets = "[secrets]\nhook = {env = 'HOOK_KEY'}\nbroken = {env = 'BROKEN_KEY'}\nnowhere = {env = 'NO_ADDRESS'}\npath = {env = 'PATH_KEY'}\nhidden = {env = 'HIDDEN'}\nwhole = {env = 'ADDRESS'}\n[notify.ops]\n"

// An address may be a secret or have one in it. The notice arrives there, and nothing of it is in
// what is said when it does not, whatever the server repeats.
func TestSecretAddress(t *testing.T) {
	var heard string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		heard = r.URL.String()
		w.WriteHeader(404)
		fmt.Fprintf(w, "no %s (%s) at %s for %s", r.URL.Path, path.Base(r.URL.Path), r.Host, r.URL.Query().Get("as"))
	}))
	defer server.Close()
	t.Setenv("TEST_ADDRESS", server.URL+"/services/T0KENS?as=B0KENS")
	for _, c := range []struct{ webhook, heard, want string }{
		{"{whole}", "/services/T0KENS?as=B0KENS", "retryable the webhook answers 404: no [webhook] ([webhook]) at [webhook] for [webhook]"},
		{server.URL + "/services/{path}", "/services/T0KENS/B0KENS", "retryable the webhook answers 404: no [webhook] ([webhook]) at " + strings.TrimPrefix(server.URL, "http://") + " for"},
		{"{hidden}", "", "retryable the webhook at [webhook]: dial tcp [webhook]: connect: connection refused"},
		{"http://127.0.0.1:1/{path}", "", "retryable the webhook at 127.0.0.1:1: dial tcp 127.0.0.1:1: connect: connection refused"},
		{"{nowhere}", "", "retryable with what its secrets hold, {nowhere} is no http or https address without user and password"},
	} {
		heard = ""
		if got := show(tell(t, secrets+"webhook = '"+c.webhook+"'\n", "{}")); got != c.want || heard != c.heard {
			t.Errorf("%s: got %s\nwant %s\nasked for %q, want %q", c.webhook, got, c.want, heard, c.heard)
		}
	}
}

// A key that only looks like the standard's signs nothing: it is said before anything is sent, and
// by whoever looks.
func TestKeyThatIsNoBase64(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("something was sent") }))
	defer server.Close()
	text := secrets + "webhook = '" + server.URL + "'\nsecret = 'broken'\n"
	const want = "the secret broken: it begins with whsec_ and is not base64 behind that; copy it whole from whoever receives the webhook"
	if got := show(tell(t, text, "{}")); got != "retryable "+want {
		t.Errorf("got %s\nwant %s", got, want)
	}
	f, err := project.Parse("starling.toml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	lacks, mend := notify.Lacks(context.Background(), f.Notify[0], settings(t.TempDir(), text), variable)
	if lacks != want || mend != "see [notify.ops] in starling.toml, and the secrets that it names" {
		t.Errorf("lacks %q, mend %q", lacks, mend)
	}
}

// What is shown of a channel is the host at most.
func TestWhat(t *testing.T) {
	for address, want := range map[string]string{
		"https://example.org/services/T0KENS": "webhook example.org",
		"https://example.org/{path}":          "webhook example.org",
		"{whole}":                             "webhook at a secret address",
		"https://{path}.example.org/services": "webhook at a secret address",
	} {
		if got := notify.What(project.Notify{Webhook: address}); got != want {
			t.Errorf("%s: got %s, want %s", address, got, want)
		}
	}
}
