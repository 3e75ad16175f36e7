package web_test

import (
	"bytes"
	"context"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"starling/lang/effect"
	"starling/runtime"
	"starling/runtime/engine"
	"starling/runtime/web"
)

// sample is a line of the text format that is no comment.
var sample = regexp.MustCompile(`^[a-z_]+(\{[a-z_]+="([^"\\\n]|\\["\\n])*"\})? \S+$`)

// crooked has a queue whose name has all that the text format escapes.
type crooked struct{ *engine.Local }

func (c crooked) List(ctx context.Context, q runtime.Query) (*runtime.Listing, error) {
	l, err := c.Local.List(ctx, q)
	if q.Queues && err == nil {
		l.Queues = []runtime.QueueSummary{{Queue: "a\"b\\c\nd\xff", Waiting: 2, Parked: 1}}
	}
	return l, err
}

// What is going on, and what has happened, is told to Prometheus: who may read, and nobody else.
func TestMetrics(t *testing.T) {
	s := openWith(t, func(e *engine.Local) runtime.Engine { return crooked{e} }, func(o *web.Options) {
		o.Desk.Budgets = func() ([]effect.Ceiling, error) {
			return []effect.Ceiling{{Address: effect.ProjectBudget + "daily", MicroUSD: 2_500_000, Daily: true}, {Address: effect.ProjectBudget + "each", Calls: 3}}, nil
		}
	})
	all := s.token("whole", "all")
	for _, script := range []string{"def main():\\n    gate(\\\"g\\\", options = [\\\"yes\\\"])\\n", "def main():\\n    fail(\\\"no\\\")\\n"} {
		status, run := s.call("run", all, `{"source": "`+script+`"}`)
		if status != 200 {
			t.Fatalf("run: %d %v", status, run)
		}
		s.call("await", all, `{"run": "`+run["run"].(string)+`", "hold": 1}`)
	}
	status, header, body := s.ask("GET", "/metrics", s.token("prometheus", "read"), "")
	if status != 200 || header.Get("Content-Type") != "text/plain; version=0.0.4; charset=utf-8" {
		t.Fatalf("status %d, content type %q", status, header.Get("Content-Type"))
	}
	text := string(body)
	for _, line := range []string{
		`starling_runs{status="suspended"} 1`, `starling_runs{status="running"} 0`, "starling_gates 1", "starling_runs_started_total 2",
		`starling_runs_ended_total{status="failed"} 1`, "starling_gates_opened_total 1", "# TYPE starling_gates_decided_total counter",
		`starling_queue_items{queue="a\"b\\c\nd�"} 2`, `starling_budget_limit_dollars{budget="daily"} 2.5`, `starling_budget_used_dollars{budget="daily"} 0`,
		`starling_build_info{version="test"} 1`,
	} {
		if !strings.Contains("\n"+text, "\n"+line+"\n") {
			t.Errorf("there is no line %s in\n%s", line, text)
		}
	}
	if strings.Contains(text, "each") {
		t.Error("a budget of each run has a sample")
	}
	told := map[string]bool{} // families
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if name, ok := strings.CutPrefix(line, "# TYPE "); ok {
			name, _, _ = strings.Cut(name, " ")
			if told[name] {
				t.Errorf("%s is told twice", name)
			}
			told[name] = true
		} else if name, _, _ := strings.Cut(line, " "); !strings.HasPrefix(line, "# HELP ") && (!sample.MatchString(line) || !told[strings.SplitN(name, "{", 2)[0]]) {
			t.Errorf("not a sample of the family before it: %q", line)
		}
	}
	if promtool, err := exec.LookPath("promtool"); err == nil {
		cmd := exec.CommandContext(t.Context(), promtool, "check", "metrics")
		cmd.Stdin = bytes.NewReader(body)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("promtool: %v\n%s", err, out)
		}
	}
	for want, token := range map[int]string{401: "", 403: s.token("writer", "signal")} {
		if status, _, body := s.ask("GET", "/metrics", token, ""); status != want || strings.Contains(string(body), "starling_") {
			t.Errorf("status %d, want %d: %s", status, want, body)
		}
	}
}
