package progress

import (
	"encoding/json"
	"testing"

	"starling/runtime"
)

// TestAddress: what people read names the same again, and what is an address already stays one.
func TestAddress(t *testing.T) {
	for _, address := range []string{
		"parallel/%E8%AA%9E/ok", "parallel/a%20b/look", "parallel/a%2Fb/look", "parallel/a%3Ab/c%23d", "look#2", "<3>", "!budget:budgets.tokens/2026-11-25",
		"!uncertain:parallel/%E8%AA%9E/look#2", "!deadline", "!needs:KEY", "parallel/%2B%28x%29/w", "child/parallel/0/ask",
	} {
		if got := Address(Name(address)); got != address {
			t.Errorf("%s is shown as %s, which names %s", address, Name(address), got)
		}
		if got := Address(address); got != address {
			t.Errorf("%s: got %s, want it as it is", address, got)
		}
	}
}

func TestName(t *testing.T) {
	for address, want := range map[string]string{
		"parallel/%E6%97%A5%E6%9C%AC/talk": "parallel/日本/talk",
		"parallel/a%20b/talk#2":            "parallel/a b/talk#2",
		"parallel/a%2Fb/talk":              "parallel/a%2Fb/talk", // a slash would be another branch
		"parallel/%1B%5B2J/talk":           "parallel/%1B%5B2J/talk",
		"parallel/%E2%80%AEa/talk":         "parallel/%E2%80%AEa/talk", // a mark of direction
		"parallel/%FF/talk":                "parallel/%FF/talk",
		"parallel/%2/%":                    "parallel/%2/%",
		"parallel/%25/x":                   "parallel/%25/x",
	} {
		if got := Name(address); got != want {
			t.Errorf("%s: got %q, want %q", address, got, want)
		}
	}
}

func TestSaid(t *testing.T) {
	for data, want := range map[string]string{
		`{"kind":"message","data":{"text":"I have\nlooked"}}`:                                                                 "I have looked",
		`{"kind":"tool","data":{"name":"Read","input":{"file_path":"a.go"}}}`:                                                 "uses Read a.go",
		`{"kind":"tool","data":{"name":"exec","text":"ls"}}`:                                                                  "uses exec ls",
		`{"kind":"tool_result","data":{"name":"Read","ok":true}}`:                                                             "",
		`{"kind":"tool_result","data":{"name":"Read","ok":false,"text":"no such file"}}`:                                      "Read failed: no such file",
		`{"kind":"permission","data":{"tool":"make","allowed":false}}`:                                                        "may not make",
		`{"kind":"plan","data":{"items":[{"content":"read","status":"completed"},{"content":"fix","status":"in_progress"}]}}`: "plan: fix",
		`{"kind":"plan","data":{"text":"read the diff"}}`:                                                                     "read the diff",
		`{"kind":"usage","data":{"usd":1}}`:                                                                                   "",
		`{"kind":"measured","data":{"files":3}}`:                                                                              "measured: files=3",
		`[]`:                                                                                                                  "",
	} {
		if got := Said(&runtime.Event{Type: "agent.event", Data: json.RawMessage(data)}); got != want {
			t.Errorf("%s: got %q, want %q", data, got, want)
		}
	}
}
