package agent_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// scene is what an agent does, whoever plays it.
type scene struct {
	says  string // its reply, with KEY where it repeats the key that it was given
	limit bool   // it is told to come back in 7 seconds
	dies  bool   // in the middle of the reply
	hangs bool   // after it has made the file here
}

// players make the agent a that plays a scene on each backend. here is a file that a hanging one
// makes.
func players() map[string]func(t *testing.T, sc scene) *stage {
	return map[string]func(t *testing.T, sc scene) *stage{
		"command": func(t *testing.T, sc scene) *stage {
			return withKey(newStage(t, shell("a", program(sc, lines(sc.says), "echo 'limit, retry in 7 s' >&2; exit 1"))+"env = ['MODEL_KEY']\n", ""))
		},
		"scripted": func(t *testing.T, sc scene) *stage {
			body := fmt.Sprintf("return %q", sc.says)
			switch {
			case sc.limit, sc.dies:
				body = "fail('limit, retry in 7 s')"
			case sc.hangs:
				body = "return reply(text = 'late', delay = '1h')"
			}
			return newStage(t, "", "def a(req):\n    "+body)
		},
		"claude": preset("claude", func(says string) string { return lines(claudeInit, claudeResult(fmt.Sprintf(`"result":%q`, says))) },
			lines(claudeInit, `{"type":"result","subtype":"success","is_error":true,"result":"limit, retry in 7 s"}`)),
		"codex": preset("codex", func(says string) string { return lines(codexBegin, codexSays(says), codexEnd) },
			lines(codexBegin, `{"type":"turn.failed","error":{"message":"limit, retry in 7 s"}}`)),
		"gemini": preset("gemini", func(says string) string { return lines(geminiInit, geminiSays(says), geminiEnd) },
			lines(geminiInit, `{"type":"result","status":"error","error":{"type":"e","message":"limit, retry in 7 s"}}`)),
		"acp": func(t *testing.T, sc scene) *stage {
			switch {
			case sc.limit:
				return withKey(acpStage(t, "", "fail=limit, retry in 7 s"))
			case sc.dies:
				return withKey(acpStage(t, "", "says=All", "die="))
			case sc.hangs:
				return withKey(acpStage(t, "", "hang=here"))
			}
			return withKey(acpStage(t, "", "says="+sc.says))
		},
		"mcp": func(t *testing.T, sc scene) *stage {
			do := "review"
			switch {
			case sc.limit:
				do = "limit"
			case sc.dies:
				do = "die"
			case sc.hangs:
				do = "hang"
			}
			s := mcpStage(t, do, "says", sc.says, "here", "here")
			s.vars["MODEL_KEY"] = modelKey
			return s
		},
		"anthropic": served(anthropicSpeech()),
		"openai":    served(openaiSpeech()),
	}
}

func withKey(s *stage) *stage {
	s.vars["MODEL_KEY"], s.token = modelKey, "token-of-the-attempt"
	return s
}

// program is a scene as a shell script: what it writes for the reply and for a limit.
func program(sc scene, says, limit string) string {
	switch {
	case sc.limit:
		return limit
	case sc.dies:
		return "kill -9 $$"
	case sc.hangs:
		return ": >here; exec sleep 3600"
	}
	return strings.ReplaceAll(strings.ReplaceAll(says, "<<'END'", "<<END"), "KEY", "$MODEL_KEY")
}

func preset(name string, says func(string) string, limit string) func(*testing.T, scene) *stage {
	return func(t *testing.T, sc scene) *stage {
		return withKey(stub(t, name, "env = ['MODEL_KEY']\n", program(sc, says(sc.says), limit)))
	}
}

func served(d dialectOfAPI) func(*testing.T, scene) *stage {
	return func(t *testing.T, sc scene) *stage {
		var s *stage
		answer := d.reply(d.stops[0], sc.says)
		switch {
		case sc.limit:
			answer = refuse(429, d.trouble("rate_limit_error", "the key "+modelKey+" has had enough"), "Retry-After", "7")
		case sc.dies:
			answer = hangUp(d.half("All"))
		case sc.hangs:
			answer = func(http.ResponseWriter) {
				if err := os.WriteFile(filepath.Join(s.settings.Workspace, "here"), nil, 0o600); err != nil {
					t.Error(err)
				}
				<-t.Context().Done()
			}
		}
		s = modelStage(t, d, newAPI(t, answer).URL, "")
		return s
	}
}

// TestConformance is what every backend must do, whatever it is made of.
func TestConformance(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine, for long: the gate plays it without the race detector")
	}
	for backend, play := range players() {
		t.Run(backend, func(t *testing.T) {
			reply := func(sc scene, call string) (string, *stage) {
				s := play(t, sc)
				r := s.ask(t.Context(), call)
				if r.Backend != "a" {
					t.Errorf("%v: served by %q, want a", sc, r.Backend)
				}
				r.Usage = nil
				for _, kept := range []string{show(r), strings.Join(s.events, ""), string(r.Blobs["transcript.txt"])} {
					if strings.Contains(kept, modelKey) {
						t.Errorf("%v: the key is in %s", sc, kept)
					}
				}
				return show(r), s
			}
			for _, c := range []struct{ says, output, want string }{
				{"All is well.", "", `ok text="All is well."`},
				{"{\"n\": 1}", "{n: int}", "ok output={\"n\": 1} text=\"{\\\"n\\\": 1}\""},
				{"First [9]. Then [1, 2]: done.", "[int]", `ok output=[1, 2] text="First [9]. Then [1, 2]: done."`},
				{"no number", "{n: int}", `ok output="no number" text="no number"`}, // the runtime holds it against the contract and asks again
				{"null", "{n: int}?", `ok output=None text="null"`},
			} {
				call := `agent("a", "Look.")`
				if c.output != "" {
					call = fmt.Sprintf(`agent("a", "Look.", output = contract(%q))`, c.output)
				}
				if got, _ := reply(scene{says: c.says}, call); got != c.want {
					t.Errorf("got  %s\nwant %s", got, c.want)
				}
			}
			if got, _ := reply(scene{says: ""}, `agent("a")`); !strings.HasPrefix(got, "retryable agent: a: ") || !strings.Contains(got, "empty") {
				t.Errorf("an empty reply: got %s", got)
			}
			if got, _ := reply(scene{limit: true}, `agent("a")`); !strings.HasPrefix(got, "retryable agent: a: ") {
				t.Errorf("a limit: got %s", got)
			}
			if got, _ := reply(scene{dies: true}, `agent("a")`); !strings.HasPrefix(got, "retryable agent: a: ") {
				t.Errorf("a death: got %s", got)
			}
			if backend != "scripted" { // it is given no key
				reply(scene{says: "KEY"}, `agent("a")`)
			}
			hangs(t, play)
		})
	}
}

// hangs cancels an agent that is at work, and lets the deadline of another pass.
func hangs(t *testing.T, play func(*testing.T, scene) *stage) {
	ctx, cancel := context.WithCancel(t.Context())
	s := play(t, scene{hangs: true})
	go func() {
		for here := false; !here && s.fake() == ""; time.Sleep(time.Millisecond) {
			_, err := os.Stat(filepath.Join(s.settings.Workspace, "here"))
			here = !errors.Is(err, os.ErrNotExist)
		}
		cancel()
	}()
	if got := show(s.ask(ctx, `agent("a")`)); got != "final cancelled: a: cancelled" {
		t.Errorf("cancelled at work: got %s", got)
	}
	late, end := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer end()
	if got := show(play(t, scene{hangs: true}).ask(late, `agent("a")`)); got != "final timeout: a: no reply before the deadline" {
		t.Errorf("late: got %s", got)
	}
}
