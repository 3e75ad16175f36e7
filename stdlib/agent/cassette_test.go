package agent_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"starling/lang/effect"
)

// calledByTape is the call of a tool server that a tape tells: nobody made it here, so it is
// claimed.
var calledByTape = regexp.MustCompile(`(?m)^(tool_call .*), "claimed": True}$`)

// taped is a stage whose agent a has a cassette.
func taped(s *stage, mode string) *stage {
	s.settings.Project = append(s.settings.Project, "cassette = 'tapes/a.jsonl'\n"...)
	s.settings.Cassettes = mode
	return s
}

// TestCassettes records what each backend says in a scene, and has it said again by the cassette
// alone.
func TestCassettes(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine, for long: the gate plays it without the race detector")
	}
	scenes := []scene{{says: "All is well."}, {says: `{"n": 1}`}, {says: "the key is KEY"}, {says: ""}, {limit: true}, {dies: true}}
	for backend, play := range players() {
		if backend == "scripted" {
			continue // it is a fake already
		}
		t.Run(backend, func(t *testing.T) {
			for _, sc := range scenes {
				call := fmt.Sprintf(`agent("a", %q, output = contract("{n: int} | string"))`, "Look. "+sc.says)
				live := taped(play(t, sc), effect.CassettesRecord)
				want := live.ask(t.Context(), call)
				tape := live.read("tapes/a.jsonl")
				if strings.Contains(tape, modelKey) || strings.Contains(tape, "token-of-the-attempt") {
					t.Errorf("%v: a secret is on the tape: %s", sc, tape)
				}
				again := taped(newStage(t, "[agents.a]\ncommand = ['/nowhere']\n", ""), effect.CassettesPlay)
				again.write("tapes/a.jsonl", tape)
				got := again.ask(t.Context(), call)
				if show(got) != show(want) || got.After != want.After {
					t.Errorf("%v: played\n%s\nrecorded\n%s", sc, show(got), show(want))
				}
				played, heard := strings.Join(again.events, "\n"), strings.Join(live.events, "\n")
				if calledByTape.ReplaceAllString(played, "$1}") != heard {
					t.Errorf("%v: events played\n%s\nrecorded\n%s", sc, played, heard)
				}
			}
		})
	}
}

// write makes a file of the workspace.
func (s *stage) write(name, text string) {
	s.t.Helper()
	at := filepath.Join(s.settings.Workspace, name)
	if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
		s.t.Fatal(err)
	}
	if err := os.WriteFile(at, []byte(text), 0o600); err != nil {
		s.t.Fatal(err)
	}
}

// exchange is a line of a tape: a reply to a task.
func exchange(step string, attempt int, task, reply string) string {
	return fmt.Sprintf(`{"step":%q,"attempt":%d,"request":{"agent":"a","task":%q,"input":null,"context":null,"instructions":null,"output_schema":null,"feedback":[],"handoff":null,`+
		`"memory":null,"messages":[]},"events":[],"reply":{"text":%q}}`+"\n", step, attempt, task, reply)
}

// The same request in the same attempt of the same step has the reply that it had there; another
// step has that of the attempt.
func TestTapeIsSearched(t *testing.T) {
	tape := exchange("b/a", 1, "Look.", "one") + exchange("b/a", 2, "Look.", "two") + "{\"step\":\"b/a\",\"att\n" + exchange("b/c", 1, "Look.", "three") + exchange("b/a", 1, "Go.", "four") +
		`{"step":"torn`
	for _, c := range []struct {
		call   string
		number int
		want   string
	}{
		{`agent("a", "Look.")`, 1, `ok text="one"`},
		{`agent("a", "Look.")`, 2, `ok text="two"`},
		{`agent("a", "Look.")`, 3, `ok text="three"`},
		{`agent("a", "Look.", name = "c")`, 1, `ok text="three"`},
		{`agent("a", "Look.", name = "d")`, 2, `ok text="two"`},
		{`agent("a", "Look up.")`, 1, "final refused: a: the cassette TAPE has no exchange with this request; the nearest one differs in task; record it with: starling run --record"},
		{`agent("a", "Up.", input = 1)`, 1, "final refused: a: the cassette TAPE has no exchange with this request; the nearest one differs in task, input; record it with: starling run --record"},
	} {
		s := taped(newStage(t, "[agents.a]\ncommand = ['/nowhere']\n", ""), effect.CassettesPlay)
		s.write("tapes/a.jsonl", tape)
		s.number = c.number
		got := strings.ReplaceAll(show(s.ask(t.Context(), c.call)), filepath.Join(s.settings.Workspace, "tapes/a.jsonl"), "TAPE")
		if got != c.want {
			t.Errorf("%s, attempt %d\ngot  %s\nwant %s", c.call, c.number, got, c.want)
		}
	}
}

func TestTapeThatIsNone(t *testing.T) {
	s := taped(newStage(t, "[agents.a]\ncommand = ['/nowhere']\n", ""), effect.CassettesPlay)
	has(t, show(s.ask(t.Context(), `agent("a")`)), "final refused: a: the cassette ", "is not there; record it with")
	s.write("tapes/a.jsonl", "{\"st\n\n"+strings.TrimSuffix(exchange("a", 1, "", "by hand"), "\n")) // an editor may leave out the last newline
	if got := show(s.ask(t.Context(), `agent("a")`)); got != `ok text="by hand"` {
		t.Errorf("got %s", got)
	}
	s.write("tapes/a.jsonl", "hello\n")
	has(t, show(s.ask(t.Context(), `agent("a")`)), "has no exchange in line 1: ")
}

// What a crash has cut in the middle does not spoil what is recorded after it.
func TestRecordingBehindATornLine(t *testing.T) {
	s := taped(newStage(t, shell("a", "echo fine"), ""), effect.CassettesRecord)
	s.write("tapes/a.jsonl", `{"step":"torn`)
	if r := s.ask(t.Context(), `agent("a")`); show(r) != `ok text="fine"` {
		t.Fatal(show(r))
	}
	s.settings.Cassettes = effect.CassettesPlay
	if r := s.ask(t.Context(), `agent("a")`); show(r) != `ok text="fine"` {
		t.Error(show(r))
	}
}
