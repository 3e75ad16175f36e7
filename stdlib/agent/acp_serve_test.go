package agent

import (
	"bufio"
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"

	"go.starlark.net/starlark"

	"starling/lang/effect"
	"starling/stdlib/tool"
)

// While nobody reads its answers a program is not heard, so that they do not pile up; then it goes
// on where it was.
func TestACPWaitsForItsReader(t *testing.T) {
	s, in := newSession(Question{Attempt: &effect.Attempt{Emit: func(string, starlark.Value) {}, Settings: &effect.Settings{Workspace: t.TempDir()}}})
	const asked = 10 * maxUnread
	var heard atomic.Int64
	go func() {
		defer s.hears.Close()
		for i := range asked {
			s.line(fmt.Sprintf(`{"id":%d,"method":"terminal/create"}`, i), s.emit)
			heard.Add(1)
		}
		s.answering.Wait()
	}()
	for heard.Load() < maxUnread {
		runtime.Gosched()
	}
	for range 1000 {
		runtime.Gosched() // whoever could go on would
	}
	if got := heard.Load(); got != maxUnread {
		t.Errorf("%d requests were served and no answer read, want %d", got, maxUnread)
	}
	answers := 0
	for lines := bufio.NewScanner(in); lines.Scan(); answers++ {
	}
	if answers != asked {
		t.Errorf("got %d answers, want %d", answers, asked)
	}
}

// Of calls the newest are remembered, however many an agent tells of.
func TestACPForgetsCalls(t *testing.T) {
	turn := newTurn(Question{Attempt: &effect.Attempt{}})
	for i := range 10 * maxCalls {
		turn.note(acpTool{ID: fmt.Sprint(i), Title: "x"})
		turn.note(acpTool{ID: fmt.Sprint(i), Kind: "read"})
	}
	newest := turn.calls[fmt.Sprint(10*maxCalls-1)]
	if len(turn.calls) != maxCalls || len(turn.order) != maxCalls || newest.Title != "x" || newest.Kind != "read" {
		t.Errorf("got %d calls in the order of %d, the newest %+v", len(turn.calls), len(turn.order), newest)
	}
}

// Only the name of a tool that it may use lets an agent use what it calls "other"; a title that
// merely has it in it is what a model has written.
func TestACPServerTools(t *testing.T) {
	q := Question{Definition: Definition{Candidate: Candidate{Servers: []tool.Grant{{Definition: tool.Definition{Name: "db", Allow: []string{"select", "list_*"}}}}}}}
	s := &session{acpTurn: acpTurn{q: q}}
	for title, want := range map[string]bool{
		"mcp__starling_db__select": true, "starling_db__select": true, "starling_db_select": true, "starling_db/select": true, "starling_db.list_tables": true, "Tool: starling_db/select": true,
		"starling_db: select": true, "select (starling_db MCP Server)": true, "list_tables (starling_db)": true,
		"mcp__starling_db__drop": false, "drop (starling_db MCP Server)": false, "mcp__other__select": false, "select": false, "starling_db": false, "starling_db__": false,
		"curl https://example.org/starling_db__select": false, "mcp__starling_db__select; rm -r .": false, "mcp__starling_db__select\nselect": false, "mcp__evil__starling_db__select": false,
		"rm -r . (starling_db MCP Server)": false, "select (starling_db MCP Server) and more": false, "": false,
	} {
		if got := s.ofServer(title); got != want {
			t.Errorf("%q: got %v, want %v", title, got, want)
		}
	}
}
