package notify_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
	"go.starlark.net/starlark"

	"starling/lang/effect"
	"starling/stdlib/notify"
	"starling/stdlib/process"
)

// TestMain is the guard under which commands run, too.
func TestMain(m *testing.M) {
	process.GuardMain(os.Args)
	os.Exit(m.Run())
}

const hookKey = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

// tell tells a channel of a project of a notice.
func tell(t *testing.T, project, body string) effect.Reply {
	t.Helper()
	dir := t.TempDir()
	args := starlark.NewDict(2)
	for name, text := range map[string]string{"channel": "ops", "body": body} {
		if err := args.SetKey(starlark.String(name), starlark.String(text)); err != nil {
			t.Fatal(err)
		}
	}
	env := map[string]string{"HOOK_KEY": hookKey, "TOPIC": "runs"}
	a := &effect.Attempt{Run: "run1", Step: "review", Number: 1, Key: "run1_7_ops", Args: args,
		Settings: &effect.Settings{Workspace: dir, ProjectFile: filepath.Join(dir, "starling.toml"), Project: []byte(project)},
		Env:      func(name string) (string, bool) { v, ok := env[name]; return v, ok }}
	r := notify.Handler().Perform(context.Background(), a)
	if text, err := os.ReadFile(filepath.Join(dir, "told")); err == nil {
		r.Text = string(text)
	}
	return r
}

// A webhook is signed as the standard's own library wants it, and its answer decides whether it is sent again.
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
