package progress

import (
	"encoding/json"
	"testing"

	"starling/runtime"
)

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
