package progress

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"starling/runtime"
)

func TestProgress(t *testing.T) {
	start := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, test := range []struct{ typ, step, data, want string }{
		{"run.started", "", `{}`, ""},
		{"step.requested", "judge", `{"kind":"agent"}`, ""},
		{"attempt.started", "judge", `{"attempt":1}`, "judge: started\n"},
		{"attempt.ended", "judge", `{"again":true,"error":{"message":"judge: no reply"}}`, "judge: will try again: no reply\n"},
		{"attempt.ended", "judge", `{"class":"retryable","error":{"message":"judge: it exited with 3"}}`, "judge: will try again: it exited with 3\n"},
		{"attempt.ended", "judge", `{"class":"uncertain","again":true,"reason":"it was cut"}`, "judge: will try again: it was cut\n"},
		{"attempt.ended", "judge", `{"class":"final","error":{"message":"judge: it exited with 3"}}`, ""},
		{"attempt.started", "judge", `{"attempt":2}`, "judge: attempt 2\n"},
		{"attempt.ended", "judge", `{}`, ""},
		{"step.settled", "judge", `{}`, "judge: ok (1.2s)\n"},
		{"step.settled", "judge", `{"value":{"ok":false,"code":1,"signal":"","seconds":1.1}}`, "judge: exit 1 (1.2s)\n"},
		{"step.settled", "parallel/%E6%97%A5/x", `{}`, "parallel/日/x: ok\n"},
		{"step.settled", "radar", `{"error":{"kind":"timeout","message":"took too long"}}`, "radar: timeout: took too long\n"},
		{"branch.failed", "parallel/%E6%97%A5/", `{"error":{"kind":"timeout","message":"took too long"}}`, ""},
		{"branch.failed", "parallel/%E6%97%A5/", `{"error":{"kind":"script","message":"no\nreply"}}`, "parallel/日: failed: script: no reply\n"},
		{"gate.opened", "g", `{"args":{"target":"ann"}}`, "g: open, for ann\n"},
		{"gate.opened", "g", `{"args":{}}`, "g: open\n"},
		{"gate.decided", "g", `{"decision":{"choice":"approve","by":"ann","via":"signal","reason":"fine"}}`, "g: approve by ann: fine\n"},
		{"gate.decided", "g", `{"decision":{"choice":null,"by":"system","via":"fallback"}}`, "g: answered by system (fallback)\n"},
		{"gate.opened", "g", `{"args":{"target":"never","escalate":[["lead","1h"],["cto","2h"]]}}`, "g: open, for lead\n"},
		{"gate.escalated", "g", `{"level":1,"target":"cto"}`, "g: passed on, for cto\n"},
		{"gate.decided", "g", `{"decision":{"choice":null,"by":"system","via":"auto","timed_out":true}}`, "g: nobody decided in time\n"},
		{"gate.withdrawn", "g", `{}`, "g: withdrawn\n"},
		{"signal.refused", "g", `{"message":"not one of"}`, "g: a signal was refused: not one of\n"},
		{"output.print", "", `{"text":"hello"}`, "hello\n"},
		{"output.log", "", `{"level":"warn","message":"slow","fields":{"n":1,"a":"x"}}`, "warn: slow a=x n=1\n"},
		{"output.emit", "", `{"kind":"built","fields":{"files":["a"]}}`, "emit: built files=[\"a\"]\n"},
		{"something.newer", "x", `[]`, ""},
	} {
		var b strings.Builder
		p := New(&b)
		p.asked["judge"] = start
		ev := runtime.Event{Time: start.Add(1234 * time.Millisecond), Type: test.typ, Step: test.step, Data: json.RawMessage(test.data)}
		if branch, ok := strings.CutSuffix(test.step, "/"); ok {
			ev.Branch, ev.Step, p.last = branch, "", "took too long"
		}
		p.Show(ev)
		if b.String() != test.want {
			t.Errorf("%s %s: got %q, want %q", test.typ, test.data, b.String(), test.want)
		}
	}
}
