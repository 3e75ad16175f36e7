package cli

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// These tests play scripts/multi_agent_review.star as its two agents do: each is a client of an MCP
// server of its own, with a token of its own.

// review is an office with the script defined by the researcher, who may reach the sink with it,
// and the two who meet.
type review struct {
	*office
	researcher, reviewer toolCaller
}

func newReview(t *testing.T) *review {
	o := newOffice(t)
	o.write("starling.toml", fmt.Sprintf("[grants.multi-agent-review]\nby = [\"researcher-agent\"]\nhosts = [%q]\n", strings.TrimPrefix(o.sink.server.URL, "http://")))
	r := &review{o, o.goClient(o.token("researcher-agent", "define,run,read,signal")), o.processClient(o.token("reviewer-agent", "run,read,signal"))}
	r.good(r.researcher, "define", map[string]any{"name": "multi-agent-review", "source": o.reviewed()})
	return r
}

func (o *office) token(name, can string) string {
	o.t.Helper()
	return strings.TrimSpace(o.cli(0, "token", "add", name, "--can", can))
}

// start starts a review in the words of the seed's document, with further inputs.
func (r *review) start(who toolCaller, more map[string]any) string {
	r.t.Helper()
	in := r.inputs()
	for k, v := range more {
		in[k] = v
	}
	started := r.good(who, "run", map[string]any{"template": "multi-agent-review", "inputs": in})
	if started["status"] != "active" {
		r.t.Fatalf("run: %v", started)
	}
	return started["workflow_id"].(string)
}

// pending waits until the review is suspended, and gives the decision that it waits for.
func (r *review) pending(run string) map[string]any {
	r.t.Helper()
	r.good(r.researcher, "await", map[string]any{"run": run, "hold": 0.2})
	for deadline := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		status := r.good(r.researcher, "status", map[string]any{"workflow_id": run})
		decisions, _ := status["pending_decisions"].([]any)
		if status["status"] == "suspended" && len(decisions) == 1 {
			return decisions[0].(map[string]any)
		}
		if time.Now().After(deadline) {
			r.t.Fatalf("status: %v", status)
		}
	}
}

// good makes a call that must not be refused.
func (o *office) good(who toolCaller, tool string, arguments map[string]any) map[string]any {
	o.t.Helper()
	answer, refused := who(tool, arguments)
	if refused {
		o.t.Fatalf("%s: %v", tool, answer)
	}
	return answer
}

// refused makes a call that must be refused as a kind of error.
func (o *office) refused(who toolCaller, kind, tool string, arguments map[string]any) {
	o.t.Helper()
	answer, refused := who(tool, arguments)
	if failed, _ := answer["error"].(map[string]any); !refused || failed["kind"] != kind {
		o.t.Errorf("%s %v: got %v, want to be refused as %s", tool, arguments, answer, kind)
	}
}

// decision is an answer to the review's gate in the words of the seed's document.
func decision(run, choice, reason string) map[string]any {
	return map[string]any{"workflow_id": run, "step_id": "review-gate", "payload": map[string]any{"choice": choice, "reason": reason}}
}

// decided wants the decision in the state of the run that has ended, over MCP and with commands.
func (r *review) decided(run string) {
	r.t.Helper()
	var shown map[string]any
	if err := json.Unmarshal([]byte(r.cli(0, "show", run, "--json")), &shown); err != nil {
		r.t.Fatal(err)
	}
	told := r.good(r.researcher, "status", map[string]any{"workflow_id": run})
	found := r.good(r.researcher, "query", map[string]any{"resource": "decisions", "filter": "by = reviewer-agent and started_by = researcher-agent and run = " + run})
	var listed map[string]any
	if err := json.Unmarshal([]byte(r.cli(0, "decisions", run, "--since", "1h", "--json")), &listed); err != nil {
		r.t.Fatal(err)
	}
	for face, state := range map[string]map[string]any{"show": shown, "status": told, "query": found, "decisions": listed} {
		list, _ := state["decisions"].([]any)
		if len(list) != 1 {
			r.t.Errorf("%s has the decisions %v, want one", face, list)
			continue
		}
		d, _ := list[0].(map[string]any)
		at, _ := d["at"].(string)
		if _, err := time.Parse(time.RFC3339, at); err != nil || d["gate"] != "review-gate" ||
			d["by"] != "reviewer-agent" || d["choice"] != "approve" || d["via"] != "signal" ||
			d["reason"] != "Results meet quality threshold" {
			r.t.Errorf("%s has the decision %v", face, d)
		}
	}
}

// ended waits for the end of a review and wants its output.
func (r *review) ended(run, output string) {
	r.t.Helper()
	done := r.good(r.researcher, "await", map[string]any{"run": run})
	for done["pending"] == true {
		done = r.good(r.researcher, "await", map[string]any{"handle": done["handle"]})
	}
	if out, _ := json.Marshal(done["output"]); done["status"] != "completed" || string(out) != output {
		r.t.Errorf("the run ended as %v, want %s", done, output)
	}
}

// Two agents meet at a gate over MCP, and the owner of the store is killed while they do. Neither
// has to know. A01: S0-01 S0-05 S0-06 S0-11 S0-12 S0-13 S0-15 S0-18 S0-21 S0-27
func TestA01ReviewOverMCP(t *testing.T) {
	r := newReview(t)
	run := r.start(r.researcher, nil)
	waiting := r.good(r.researcher, "await", map[string]any{"run": run, "hold": 0.2})
	if waiting["pending"] != true {
		t.Fatalf("await: %v", waiting)
	}
	pending := r.pending(run)
	if options, _ := json.Marshal(pending["options"]); string(options) != `[{"name":"approve"},{"name":"reject"}]` || pending["deadline"] == nil || pending["target"] != "reviewer-agent" {
		t.Errorf("the decision is %v", pending)
	}
	if data, _ := json.Marshal(pending["data"]); string(data) != `{"filtered":[{"score":0.9},{"score":0.85}],"threshold":0.85}` {
		t.Errorf("the decision is about %s", data)
	}

	first := r.kill()
	r.write("items.json", `{"items": []}`)

	found := r.good(r.reviewer, "inbox", map[string]any{"target": "reviewer-agent"})["gates"].([]any)
	if len(found) != 1 {
		t.Fatalf("inbox: %v", found)
	}
	gate := found[0].(map[string]any)
	if gate["run"] != run || gate["gate"] != "review-gate" {
		t.Errorf("the reviewer found %v", gate)
	}
	if receipt := r.good(r.reviewer, "signal", decision(run, "approve", "Results meet quality threshold")); receipt["status"] != "accepted" {
		t.Errorf("signal: %v", receipt)
	}
	r.ended(run, `{"decision":"approve","published":2}`)
	if done := r.good(r.researcher, "await", map[string]any{"handle": waiting["handle"]}); done["status"] != "completed" {
		t.Errorf("the handle of before: %v", done)
	}
	r.decided(run)
	decided := r.good(r.researcher, "await", map[string]any{"run": run, "gate": "review-gate"})
	if decision, _ := decided["decision"].(map[string]any); decision["by"] != "reviewer-agent" || decision["via"] != "signal" || decision["reason"] != "Results meet quality threshold" {
		t.Errorf("the decision is %v", decided)
	}
	if owner, err := ownerPid(filepath.Join(r.dir, ".starling", ownerFile)); err != nil || owner == first {
		t.Errorf("the owner is %d (%v), and it was %d that was killed", owner, err, first)
	}
	r.published(run)
}

// Who may not decide is refused, on record, and changes nothing: the gate waits for the reviewer,
// also after a restart. A01, S0-22 S0-25
func TestA01ReviewRefusesWhoMayNotDecide(t *testing.T) {
	r := newReview(t)
	run := r.start(r.researcher, nil)
	r.pending(run)
	looker := r.goClient(r.token("looker", "read"))
	anybody := r.goClient("")
	for range 2 {
		r.refused(r.researcher, "wrong_target", "signal", decision(run, "approve", "I say so"))
		r.refused(looker, "denied", "signal", decision(run, "approve", "me too"))
		r.refused(anybody, "wrong_target", "signal", decision(run, "approve", ""))
		claimed := decision(run, "approve", "I am somebody else")
		claimed["as"] = "reviewer-agent"
		r.refused(r.researcher, "denied", "signal", claimed)
		r.refused(r.reviewer, "bad_choice", "signal", decision(run, "maybe", ""))
		r.refused(looker, "denied", "run", map[string]any{"template": "multi-agent-review", "inputs": r.inputs()})
		r.kill()
	}

	// Nobody reviews what they have started themselves.
	own := r.start(r.reviewer, nil)
	if pending := r.pending(own); pending["target"] != "reviewer-agent" {
		t.Errorf("the decision is %v", pending)
	}
	r.refused(r.reviewer, "wrong_target", "signal", decision(own, "approve", "mine is good"))
	if refusals := r.cli(0, "logs", own); !strings.Contains(refusals, `gate \"review-gate\" is not for \"reviewer-agent\", who has made what it is about`) {
		t.Errorf("the journal says\n%s", refusals)
	}

	r.good(r.reviewer, "signal", decision(run, "reject", "too few"))
	r.refused(r.reviewer, "decided", "signal", decision(run, "approve", "on second thoughts"))
	r.ended(run, `{"decision":"reject","published":0}`)
	if n := r.sink.count("POST", "/publish"); n != 0 {
		t.Errorf("%d times something was published", n)
	}
}

// A reviewer who does not answer is passed over, and is too late then; without anybody the answer
// is no. The owner is killed before. A01, S0-19 S0-20
func TestA01ReviewEscalates(t *testing.T) {
	r := newReview(t)
	lead := r.goClient(r.token("lead", "read,signal"))
	run := r.start(r.researcher, map[string]any{"lead": "lead", "within": "1s"})
	alone := r.start(r.researcher, map[string]any{"within": "1s"})
	if pending := r.pending(run); pending["target"] != "reviewer-agent" {
		t.Errorf("the decision is %v", pending)
	}
	r.kill()
	for deadline := time.Now().Add(patience); r.pending(run)["target"] != "lead"; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the lead is not asked")
		}
	}
	r.refused(r.reviewer, "wrong_target", "signal", decision(run, "approve", "sorry, late"))
	r.good(lead, "signal", decision(run, "approve", "fine"))
	r.ended(run, `{"decision":"approve","published":2}`)
	r.ended(alone, `{"decision":"reject","published":0}`)
	if n := r.sink.count("POST", "/publish"); n != 1 {
		t.Errorf("%d times something was published, want once", n)
	}
}

// approved starts a review whose publication goes to a path, approves it, and gives the run.
func (r *review) approved(path string) string {
	r.t.Helper()
	run := r.start(r.researcher, map[string]any{"publish_url": r.sink.server.URL + path})
	r.pending(run)
	r.good(r.reviewer, "signal", decision(run, "approve", "Results meet quality threshold"))
	return run
}

// keys are the idempotency keys with which a path was posted to, and the bodies.
func (s *sink) keys(path string) (keys, bodies []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.requests {
		if f := strings.SplitN(r, " ", 4); f[0] == "POST" && f[1] == path {
			keys, bodies = append(keys, f[2]), append(bodies, f[3])
		}
	}
	return keys, bodies
}

// What the receiver has not taken is not published: it is sent again under its key while the fault
// may pass, also by the next owner, and the run fails with the status otherwise. Nobody else is
// sent it. A01
func TestA01ReviewIsNotTaken(t *testing.T) {
	r := newReview(t)
	elsewhere := newSink()
	elsewhere.server = httptest.NewServer(elsewhere)
	t.Cleanup(elsewhere.close)
	r.sink.answer("/publish", 500, "")
	r.sink.answer("/forbidden", 403, "")
	r.sink.answer("/moved", 308, elsewhere.server.URL+"/publish")
	r.sink.answer("/login", 302, r.sink.server.URL+"/items.json")

	run := r.approved("/publish")
	for deadline := time.Now().Add(patience); r.sink.count("POST", "/publish") < 2; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("it is not sent again")
		}
	}
	r.kill()
	sent := r.sink.count("POST", "/publish")
	r.sink.answer("/publish", 0, "")
	r.ended(run, `{"decision":"approve","published":2}`)
	keys, bodies := r.sink.keys("/publish")
	if len(keys) <= sent || len(slices.Compact(keys)) != 1 || len(slices.Compact(bodies)) != 1 || bodies[0] != `[{"score":0.9},{"score":0.85}]` {
		t.Errorf("the receiver was sent %d and then %q under the keys %q", sent, bodies, keys)
	}

	for path, why := range map[string]string{
		"/forbidden": "POST URL/forbidden answered 403",
		"/moved":     "POST URL/moved: redirected to " + elsewhere.server.URL + "/publish, another host, and nothing was sent there; name that address if it is meant",
		"/login":     "POST URL/login answered 302",
	} {
		run := r.approved(path)
		why = strings.ReplaceAll(why, "URL", r.sink.server.URL)
		if said := r.failed(run); !strings.Contains(said, why) {
			t.Errorf("%s: the run says %s\nwant %s", path, said, why)
		}
		if keys, _ := r.sink.keys(path); len(keys) != 1 {
			t.Errorf("%s was asked %d times, want once", path, len(keys))
		}
		r.decided(run)
	}
	if len(elsewhere.requests) != 0 {
		t.Errorf("somebody else was sent %q", elsewhere.requests)
	}
}

// failed waits for the end of a run that fails, and gives what it says.
func (r *review) failed(run string) string {
	r.t.Helper()
	done := r.good(r.researcher, "await", map[string]any{"run": run})
	for done["pending"] == true {
		done = r.good(r.researcher, "await", map[string]any{"handle": done["handle"]})
	}
	if done["status"] != "failed" || done["output"] != nil {
		r.t.Errorf("the run ended as %v, want it to fail", done)
	}
	said, _ := json.Marshal(done["error"])
	return string(said)
}

// The same with commands alone, the owner killed as well.
func TestA01ReviewWithCommands(t *testing.T) {
	o := newOffice(t)
	o.write("review.star", o.reviewed())
	o.cli(0, "define", "multi-agent-review", "./review.star")
	in := o.inputs()
	run := strings.TrimSpace(o.cli(0, "run", "multi-agent-review", "--detach", "-i", "data_url="+in["data_url"].(string), "-i", "publish_url="+in["publish_url"].(string), "-i", "threshold:=0.85"))
	o.cli(3, "wait", run)
	o.kill()
	o.write("items.json", `{"items": []}`)
	var inbox struct{ Gates []struct{ Address string } }
	if err := json.Unmarshal([]byte(o.cli(0, "inbox", "--filter", "target = reviewer-agent", "--json")), &inbox); err != nil || len(inbox.Gates) != 1 {
		t.Fatalf("inbox: %v %v", inbox, err)
	}
	o.cli(0, "approve", inbox.Gates[0].Address, "--as", "reviewer-agent", "-m", "good")
	if out := o.cli(0, "wait", run); !strings.Contains(out, `"published": 2`) {
		t.Errorf("the run gave %s", out)
	}
	o.published(run)
}
