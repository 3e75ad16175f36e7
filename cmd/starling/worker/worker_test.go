package worker

import (
	"encoding/json"
	"testing"
	"time"

	"starling/runtime"
)

// What is asked reaches the own agent: what it has no argument for is in its context.
func TestInputs(t *testing.T) {
	w := &worker{Options: Options{Agent: "builder"}}
	for request, want := range map[string]string{
		`{"key": "k/w", "task": "build", "input": [], "context": null, "instructions": null, "feedback": [], "handoff": null, "memory": null, "messages": []}`:                                                                                                       `{"who":"builder","task":"build","input":[],"context":{"key":"k/w"}}`,
		`{"key": "k/w", "task": "build", "input": null, "context": {"a": 1}, "instructions": "Be brief.", "feedback": [{"path": "n", "got": "0", "want": "int(1..)"}], "handoff": {"from": "ann"}, "memory": [{"by": "ann"}], "messages": ["be quick"], "later": 1}`: `{"who":"builder","task":"build","context":{"key":"k/w","context":{"a":1},"instructions":"Be brief.","feedback":[{"path":"n","got":"0","want":"int(1..)"}],"handoff":{"from":"ann"},"memory":[{"by":"ann"}],"messages":["be quick"]}}`,
	} {
		got, err := w.inputs(&runtime.Claim{Claim: "r@w:1", Request: json.RawMessage(request)})
		if err != nil || string(got) != want {
			t.Errorf("got %s, %v\nwant %s", got, err, want)
		}
	}
	due := time.Now().Add(-time.Hour)
	late, err := w.inputs(&runtime.Claim{Claim: "r@w:1", Request: json.RawMessage(`{"task": "build"}`), Returns: "int", Deadline: &due})
	if want := `{"who":"builder","task":"build","returns":"int","timeout":"1s"}`; err != nil || string(late) != want {
		t.Errorf("got %s, %v\nwant %s", late, err, want)
	}
	if _, err := w.inputs(&runtime.Claim{Claim: "r@w:1"}); err == nil {
		t.Error("a claim without a request is worked on")
	}
}
