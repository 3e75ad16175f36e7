package agent

import (
	"strings"
	"testing"

	"go.starlark.net/starlark"

	"starling/lang/effect"
	"starling/stdlib/project"
)

// FuzzDialect: whatever a program says instead of an answer, each reader comes to an answer or a
// fault with words, and what it tells meanwhile can be recorded.
func FuzzDialect(f *testing.F) {
	for _, text := range []string{
		`{"type":"system","subtype":"init","session_id":"s"}` + "\n" +
			`{"type":"assistant","message":{"content":[{"type":"text","text":"hi"}],"usage":{"input_tokens":1}}}` + "\n" +
			`{"type":"result","subtype":"success","result":"hi","total_cost_usd":1e308,"session_id":"s"}`,
		`{"type":"thread.started","thread_id":"t"}` + "\n" +
			`{"type":"item.completed","item":{"id":"i","type":"agent_message","text":"hi"}}` + "\n" +
			`{"type":"turn.completed","usage":{"input_tokens":-1,"output_tokens":9223372036854775807}}`,
		`{"type":"init","session_id":"g"}` + "\n" + `{"type":"message","role":"assistant","content":"hi"}` + "\n" +
			`{"type":"result","status":"success","stats":{"total_tokens":1}}`,
		`{"event":{"kind":"plan","text":"x"}}` + "\n" + `{"output":{"a":1,"a":2}}`,
		`{"event":{"kind":"usage","usd":"much"}}`, `{"status":"blocked","note":3}`, "[]", "{", "\xff", `{"text":null}`,
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, preset := range []string{project.Claude, project.Codex, project.Gemini, ""} {
			emit := func(kind string, data starlark.Value) {
				if _, err := effect.Encode(data); err != nil || effect.CheckName(kind) != nil {
					t.Errorf("%q: %q: an event %q that cannot be recorded: %v", preset, text, kind, err)
				}
			}
			a := &effect.Attempt{Emit: emit, Settings: &effect.Settings{}}
			d := dialectOf(preset)
			for line := range strings.Lines(text) {
				d.line(strings.TrimSuffix(line, "\n"), newEmitter(a))
			}
			_, wrong := d.answer()
			if wrong != nil && wrong.message == "" && len(wrong.wrong) == 0 {
				t.Errorf("%q: %q: a fault without words", preset, text)
			}
			if spent := d.spent(); spent != nil {
				if _, err := effect.Encode(spent); err != nil {
					t.Errorf("%q: %q: a usage that cannot be recorded: %v", preset, text, err)
				}
			}
		}
	})
}
