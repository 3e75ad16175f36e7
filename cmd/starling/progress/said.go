package progress

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"starling/runtime"
)

// Name is an address as people read it: the keys of branches in their own script, as the author has
// written them. What could be mistaken for a part of an address stays encoded.
func Name(address string) string {
	if !strings.Contains(address, "%") {
		return address
	}
	segments := strings.Split(address, "/")
	for i, s := range segments {
		segments[i] = decoded(s)
	}
	return strings.Join(segments, "/")
}

// decoded is a segment without its percent signs, as it is where that would not be one word.
func decoded(segment string) string {
	var b strings.Builder
	for i := 0; i < len(segment); i++ {
		c := segment[i]
		if c == '%' && i+2 < len(segment) {
			high, low := unhex(segment[i+1]), unhex(segment[i+2])
			if high < 0 || low < 0 {
				return segment
			}
			c = byte(high<<4 | low)
			i += 2
		}
		b.WriteByte(c)
	}
	text := b.String()
	hidden := func(r rune) bool { return strings.ContainsRune("/#%@:", r) || !unicode.IsGraphic(r) }
	if !utf8.ValidString(text) || strings.TrimSpace(text) != text || text == "" || strings.IndexFunc(text, hidden) >= 0 {
		return segment
	}
	return text
}

// Address is what [Name] is the name of: what an address may not hold is encoded again. An address
// stays as it is, with the signs that the names of the system have.
func Address(name string) string {
	var b strings.Builder
	for i := range len(name) {
		c := name[i]
		kept := c < 0x80 && (c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("._-/#%!<>:@=~", c) >= 0)
		if kept {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

// unhex is the value of a digit as addresses have it, -1 of none.
func unhex(c byte) int { return strings.IndexByte("0123456789ABCDEF", c) }

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
