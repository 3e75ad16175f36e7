package judge

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
)

// block is a part of a reply: a text, or a call of a tool.
type block struct{ text, id, name, input string }

func says(text string) block            { return block{text: text} }
func asks(id, name, input string) block { return block{id: id, name: name, input: input} }
func quoted(text string) string         { b, _ := json.Marshal(text); return string(b) }
func (b block) asksForTool() bool       { return b.name != "" }

// event is one of a stream: its type, "" for none, and data.
type event struct{ kind, data string }

// flow is a stream as its maker's documentation has it, in the parts among which noise may come.
type flow struct {
	begin, blocks []event
	end           func(stop string) []event
}

// text writes it plainly.
func (f flow) text(stop string) string { return write(f.events(stop), nil) }

func (f flow) events(stop string) []event {
	all := append(append([]event{}, f.begin...), f.blocks...)
	return append(all, f.end(stop)...)
}

// write makes bytes of events; draw is nil for plain ones.
func write(list []event, draw *rand.Rand) string {
	var b strings.Builder
	line := "\n"
	if draw != nil && draw.IntN(2) == 0 {
		line = "\r\n"
	}
	for _, e := range list {
		if draw != nil && draw.IntN(6) == 0 {
			b.WriteString([]string{": keep alive" + line + line, ":" + line, "retry: 3000" + line, "id: 7" + line}[draw.IntN(4)])
		}
		space := " "
		if draw != nil && draw.IntN(4) == 0 {
			space = ""
		}
		if e.kind != "" {
			b.WriteString("event:" + space + e.kind + line)
		}
		b.WriteString("data:" + space + e.data + line + line)
	}
	return b.String()
}

// cuts cuts a text into pieces, anywhere: also within a character. Without draw it is one piece.
func cuts(text string, draw *rand.Rand) []string {
	if draw == nil || len(text) < 2 {
		return []string{text}
	}
	var pieces []string
	for len(text) > 0 {
		n := 1 + draw.IntN(min(len(text), 9))
		pieces, text = append(pieces, text[:n]), text[n:]
	}
	return pieces
}

// runes cuts a text between characters: what is JSON holds whole ones.
func runes(text string, draw *rand.Rand) []string {
	if draw == nil || text == "" {
		return []string{text}
	}
	var pieces []string
	for r := []rune(text); len(r) > 0; {
		n := 1 + draw.IntN(min(len(r), 9))
		pieces, r = append(pieces, string(r[:n])), r[n:]
	}
	return pieces
}

type tokens struct{ input, written, read, output int }

var fewTokens = tokens{10, 2, 3, 5}

func anthropicStream(blocks ...block) flow { return anthropicFlow(blocks, fewTokens, nil) }

// anthropicFlow streams a message. With draw there are pings, blocks that are none of ours, blocks
// that begin with text, and usage that comes again at the end.
func anthropicFlow(blocks []block, u tokens, draw *rand.Rand) flow {
	chance := func(n int) bool { return draw != nil && draw.IntN(n) == 0 }
	f := flow{begin: []event{{"message_start", fmt.Sprintf(`{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[],`+
		`"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":%d,"cache_creation_input_tokens":%d,"cache_read_input_tokens":%d,"output_tokens":1}}}`, u.input, u.written, u.read)}}}
	var turns [][]event // of blocks
	for i, b := range blocks {
		turns = append(turns, anthropicBlock(i, b, draw))
	}
	if chance(3) {
		turns = append(turns, anthropicThought(len(turns), draw))
	}
	f.blocks = woven(turns, draw)
	if draw != nil {
		for range draw.IntN(3) {
			noise := []event{{"ping", `{"type": "ping"}`}, {"news", `{"type":"news","delta":{"text":"none of it"}}`}}[draw.IntN(2)]
			at := draw.IntN(len(f.blocks) + 1)
			f.blocks = append(f.blocks[:at:at], append([]event{noise}, f.blocks[at:]...)...)
		}
	}
	usage := fmt.Sprintf(`{"output_tokens":%d}`, u.output)
	if chance(2) {
		usage = fmt.Sprintf(`{"input_tokens":%d,"cache_creation_input_tokens":null,"cache_read_input_tokens":%d,"output_tokens":%d}`, u.input+100, u.read+10, u.output)
	}
	f.end = func(stop string) []event {
		return []event{{"message_delta", fmt.Sprintf(`{"type":"message_delta","delta":{"stop_reason":%q,"stop_sequence":null},"usage":%s}`, stop, usage)},
			{"message_stop", `{"type":"message_stop"}`}}
	}
	return f
}

func anthropicBlock(i int, b block, draw *rand.Rand) []event {
	begin, kind, field, content := fmt.Sprintf(`{"type":"tool_use","id":%q,"name":%q,"input":{}}`, b.id, b.name), "input_json_delta", "partial_json", b.input
	if !b.asksForTool() {
		first := ""
		if pieces := runes(b.text, draw); draw != nil && draw.IntN(3) == 0 {
			first = pieces[0]
		}
		begin, kind, field, content = `{"type":"text","text":`+quoted(first)+`}`, "text_delta", "text", b.text[len(first):]
	} else if draw != nil && draw.IntN(4) == 0 { // whole, with no piece
		begin, content = strings.Replace(begin, `"input":{}`, `"input":`+b.input, 1), ""
	}
	list := []event{{"content_block_start", fmt.Sprintf(`{"type":"content_block_start","index":%d,"content_block":%s}`, i, begin)}}
	for _, piece := range runes(content, draw) {
		list = append(list, event{"content_block_delta", fmt.Sprintf(`{"type":"content_block_delta","index":%d,"delta":{"type":%q,%q:%s}}`, i, kind, field, quoted(piece))})
	}
	return append(list, event{"content_block_stop", fmt.Sprintf(`{"type":"content_block_stop","index":%d}`, i)})
}

// anthropicThought is a block that is no part of the reply: a thought, or a tool of the server's
// own.
func anthropicThought(i int, draw *rand.Rand) []event {
	begin, delta := `{"type":"thinking","thinking":"","signature":""}`, `{"type":"thinking_delta","thinking":"Hm."}`
	if draw.IntN(2) == 0 {
		begin, delta = `{"type":"server_tool_use","id":"srv","name":"web_search","input":{}}`, `{"type":"input_json_delta","partial_json":"{\"query\":\"x\"}"}`
	}
	return []event{{"content_block_start", fmt.Sprintf(`{"type":"content_block_start","index":%d,"content_block":%s}`, i, begin)},
		{"content_block_delta", fmt.Sprintf(`{"type":"content_block_delta","index":%d,"delta":%s}`, i, delta)},
		{"content_block_stop", fmt.Sprintf(`{"type":"content_block_stop","index":%d}`, i)}}
}

// woven puts events of blocks one behind the other, at times those of a block between those of
// others; blocks begin in their order.
func woven(turns [][]event, draw *rand.Rand) (list []event) {
	weaves := draw != nil && draw.IntN(3) == 0
	for open := 0; len(turns) > 0; {
		i := 0
		if weaves {
			i = draw.IntN(min(len(turns), open+1))
		}
		open = max(open, i+1)
		list, turns[i] = append(list, turns[i][0]), turns[i][1:]
		if len(turns[i]) == 0 {
			turns = append(turns[:i:i], turns[i+1:]...)
			open--
		}
	}
	return list
}

func openaiStream(blocks ...block) flow { return openaiFlow(blocks, fewTokens, "", nil) }

// openaiFlow streams a completion. With draw its pieces of calls come in turns, usage comes with
// the last choice or behind it, and a further choice is told of. refusal is what the model says
// instead of a reply.
func openaiFlow(blocks []block, u tokens, refusal string, draw *rand.Rand) flow {
	chance := func(n int) bool { return draw != nil && draw.IntN(n) == 0 }
	chunk := func(delta, stop, more string) event {
		return event{"", `{"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":` + delta + `,"logprobs":null,"finish_reason":` + stop + `}]` + more + `}`}
	}
	f := flow{begin: []event{chunk(`{"role":"assistant","content":"","refusal":null}`, "null", `,"usage":null`)}}
	var turns [][]event
	call := 0
	for _, b := range blocks {
		if !b.asksForTool() {
			for _, piece := range runes(b.text, draw) {
				f.blocks = append(f.blocks, chunk(`{"content":`+quoted(piece)+`}`, "null", ""))
			}
			continue
		}
		list := []event{chunk(fmt.Sprintf(`{"tool_calls":[{"index":%d,"id":%q,"type":"function","function":{"name":%q,"arguments":""}}]}`, call, b.id, b.name), "null", "")}
		for _, piece := range runes(b.input, draw) {
			list = append(list, chunk(fmt.Sprintf(`{"tool_calls":[{"index":%d,"function":{"arguments":%s}}]}`, call, quoted(piece)), "null", ""))
		}
		call++
		turns = append(turns, list)
	}
	f.blocks = append(f.blocks, woven(turns, draw)...)
	for _, piece := range runes(refusal, draw) {
		if piece != "" {
			f.blocks = append(f.blocks, chunk(`{"refusal":`+quoted(piece)+`}`, "null", ""))
		}
	}
	if chance(4) {
		f.blocks = append(f.blocks, event{"", `{"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":1,"delta":{"content":"another"},"finish_reason":"length"}]}`})
	}
	usage := fmt.Sprintf(`{"prompt_tokens":%d,"completion_tokens":%d,"total_tokens":%d,"prompt_tokens_details":{"cached_tokens":%d}}`, u.input, u.output, u.input+u.output, min(u.read, u.input))
	if chance(3) {
		usage = fmt.Sprintf(`{"prompt_tokens":%d,"completion_tokens":%d}`, u.input, u.output)
	}
	within, finished := chance(3), !chance(8)
	f.end = func(stop string) (list []event) {
		if within {
			list = []event{chunk("{}", fmt.Sprintf("%q", stop), `,"usage":`+usage)}
		} else {
			list = []event{chunk("{}", fmt.Sprintf("%q", stop), ""),
				{"", `{"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[],"usage":` + usage + `}`}}
		}
		if finished {
			list = append(list, event{"", "[DONE]"})
		}
		return list
	}
	return f
}

// plainly is a reply of one text; "" has neither words nor tokens.
func plainly(backend, text string) string {
	u := fewTokens
	if text == "" {
		text, u = "Done.", tokens{}
	}
	if backend == "openai" {
		return openaiFlow([]block{says(text)}, u, "", nil).text("stop")
	}
	s := anthropicFlow([]block{says(text)}, u, nil).text("end_turn")
	return strings.Replace(s, `"output_tokens":1}`, `"output_tokens":0}`, 1)
}
