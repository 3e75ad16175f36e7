package progress

import (
	"cmp"
	"encoding/json"
	"strings"

	"starling/runtime"
)

// Said is what an agent's event says on one line, "" where it is for machines only: sessions, costs
// and pieces of what is said whole later.
func Said(ev *runtime.Event) string {
	d := detailsOf(ev.Data)
	said := d.sub("data")
	text := oneLine(said.text("text"))
	switch kind := d.text("kind"); kind {
	case "", "usage", "session", "delta", "context":
		return ""
	case "message", "thinking":
		return text
	case "tool":
		return oneLine("uses " + said.text("name") + used(said))
	case "tool_result":
		if ok, known := said["ok"].(bool); known && !ok {
			return oneLine(said.text("name") + " failed" + colon(text))
		}
		return ""
	case "permission":
		if ok, _ := said["allowed"].(bool); ok {
			return oneLine("may " + said.text("tool"))
		}
		return oneLine("may not " + said.text("tool"))
	case "plan":
		return cmp.Or(text, planned(said["items"]))
	default:
		return kind + colon(cmp.Or(text, strings.TrimSpace(d.fields("data"))))
	}
}

func colon(text string) string {
	if text == "" {
		return ""
	}
	return ": " + text
}

// used is what a tool was called with, as far as one argument tells.
func used(said details) string {
	if text := said.text("text"); text != "" {
		return " " + text
	}
	input := said.sub("input")
	for _, name := range []string{"command", "cmd", "file_path", "path", "pattern", "query", "url", "description"} {
		if text := input.text(name); text != "" {
			return " " + text
		}
	}
	return ""
}

// planned is the item of a plan that is worked at, with how many are done.
func planned(items any) string {
	list, _ := items.([]any)
	if text, ok := items.(string); ok {
		if json.Unmarshal([]byte(text), &list) != nil {
			return oneLine("plan: " + text)
		}
	}
	at := ""
	for _, item := range list {
		d, _ := item.(map[string]any)
		entry := details(d)
		switch entry.text("status") {
		case "in_progress":
			at = cmp.Or(at, entry.text("content"), entry.text("text"))
		}
	}
	if at == "" {
		return ""
	}
	return oneLine("plan: " + at)
}

// oneLine is a text without its line breaks.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
