package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"
)

const (
	anthropicURL       = "https://api.anthropic.com/"
	anthropicVersion   = "2023-06-01" // of the API
	anthropicMaxTokens = 16384
)

// The Messages API, as far as it is spoken here: https://docs.claude.com/en/api/messages

type anthropicRequest struct {
	Model        string             `json:"model"`
	MaxTokens    int64              `json:"max_tokens"`
	System       []anthropicBlock   `json:"system,omitempty"`
	Messages     []anthropicMessage `json:"messages"`
	Tools        []anthropicTool    `json:"tools,omitempty"`
	OutputConfig *anthropicOutput   `json:"output_config,omitempty"`
	Stream       bool               `json:"stream"`
}

type anthropicMessage struct {
	Role    string           `json:"role"`
	Content []anthropicBlock `json:"content"`
}

// anthropicBlock is a text, an image or document (Source, Title), a tool_use (ID, Name, Input) or a
// tool_result (ToolUseID, Content, IsError).
type anthropicBlock struct {
	Type      string           `json:"type"`
	Text      string           `json:"text,omitempty"`
	Source    *anthropicSource `json:"source,omitempty"`
	Title     string           `json:"title,omitempty"`
	ID        string           `json:"id,omitempty"`
	Name      string           `json:"name,omitempty"`
	Input     json.RawMessage  `json:"input,omitempty"`
	ToolUseID string           `json:"tool_use_id,omitempty"`
	Content   []anthropicBlock `json:"content,omitempty"`
	IsError   bool             `json:"is_error,omitempty"`
}

type anthropicSource struct {
	Type      string `json:"type"` // "base64" or "text"
	MediaType string `json:"media_type"`
	Data      string `json:"data"`
}

type anthropicTool struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	InputSchema json.RawMessage `json:"input_schema"`
}

type anthropicOutput struct {
	Format struct {
		Type   string          `json:"type"`
		Schema json.RawMessage `json:"schema"`
	} `json:"format"`
}

// anthropicEvent is an event of the stream.
type anthropicEvent struct {
	Type    string `json:"type"`
	Index   int    `json:"index"` // of the block
	Message struct {
		Usage anthropicUsage `json:"usage"`
	} `json:"message"`
	Block anthropicBlock `json:"content_block"`
	Delta struct {
		Text       string `json:"text"`
		Input      string `json:"partial_json"`
		StopReason string `json:"stop_reason"`
	} `json:"delta"`
	Usage anthropicUsage `json:"usage"`
}

// anthropicUsage is of the whole message each time it comes; what is not said anew stays as it was.
type anthropicUsage struct {
	Input   int64 `json:"input_tokens"`
	Output  int64 `json:"output_tokens"`
	Read    int64 `json:"cache_read_input_tokens"`
	Written int64 `json:"cache_creation_input_tokens"`
}

func (u anthropicUsage) tokens() usage {
	return usage{input: u.Input + u.Read + u.Written, cached: u.Read, output: u.Output}
}

func toAnthropic(d Definition, key, path string, body any) wireRequest {
	w := wireRequest{base: firstOf(d.URL, anthropicURL), path: path, body: body,
		header: map[string]string{"Anthropic-Version": anthropicVersion}}
	if key != "" {
		w.header["X-Api-Key"] = key
	}
	return w
}

// askAnthropic streams a reply of the Messages API.
func askAnthropic(ctx context.Context, t turn, l listener) (said, error) {
	w := toAnthropic(t.definition, t.key, "v1/messages", anthropicBody(t))
	var got said
	var u anthropicUsage
	var blocks anthropicReply
	err := w.send(ctx, func(data []byte) bool {
		var e anthropicEvent
		_ = json.Unmarshal(data, &e) // what has another type than is known is left out
		switch e.Type {
		case "message_start":
			u = e.Message.Usage
			l.used(u.tokens())
		case "content_block_start":
			blocks.start(e)
			l.text(e.Block.Text)
		case "content_block_delta":
			blocks.add(blocks.part(e.Index), e.Delta.Text, e.Delta.Input)
			l.text(e.Delta.Text)
		case "message_delta":
			_ = json.Unmarshal(data, &struct{ Usage *anthropicUsage }{&u}) // likewise
			if e.Delta.StopReason != "" {                                  // some tell only of usage
				got.stopped = anthropicStop(e.Delta.StopReason)
			}
		case "message_stop":
			got.whole = true
		}
		return blocks.size <= maxReply && !got.whole
	})
	got.tokens = u.tokens()
	got.text, got.calls = blocks.said()
	return got, err
}

// anthropicReply are the blocks of a reply, the first first. Pieces of several may come in turns.
type anthropicReply struct {
	blocks []*anthropicPart
	size   int // bytes of text
}

type anthropicPart struct {
	index       int
	text, input strings.Builder
	call        *toolCall // nil for what is no call of a tool of ours
}

// part is the newest block with an index.
func (r *anthropicReply) part(index int) *anthropicPart {
	for _, b := range slices.Backward(r.blocks) {
		if b.index == index {
			return b
		}
	}
	r.blocks = append(r.blocks, &anthropicPart{index: index})
	return r.blocks[len(r.blocks)-1]
}

// start begins a block. Servers of others may have the whole text or input here, and no pieces.
func (r *anthropicReply) start(e anthropicEvent) {
	b := &anthropicPart{index: e.Index}
	if r.blocks = append(r.blocks, b); e.Block.Type == "tool_use" {
		b.call = &toolCall{id: e.Block.ID, name: e.Block.Name, input: string(e.Block.Input)}
	}
	r.add(b, e.Block.Text, "")
}

func (r *anthropicReply) add(b *anthropicPart, text, input string) {
	b.text.WriteString(text)
	if r.size += len(text); b.input.Len() <= maxReply {
		b.input.WriteString(input)
	}
}

func (r *anthropicReply) said() (text string, calls []toolCall) {
	for _, b := range r.blocks {
		text += b.text.String()
		if b.call != nil {
			b.call.input = firstOf(b.input.String(), b.call.input)
			calls = append(calls, *b.call)
		}
	}
	return text, calls
}

func anthropicBody(t turn) *anthropicRequest {
	body := &anthropicRequest{Model: t.definition.Model, Stream: true, Messages: anthropicMessages(t),
		MaxTokens: cmp.Or(t.definition.MaxTokens, anthropicMaxTokens)}
	if t.system != "" {
		body.System = []anthropicBlock{textBlock(t.system)}
	}
	for _, tool := range t.tools {
		body.Tools = append(body.Tools, anthropicTool{tool.name, tool.description, tool.schema})
	}
	if t.schema != nil {
		body.OutputConfig = new(anthropicOutput)
		body.OutputConfig.Format.Type, body.OutputConfig.Format.Schema = "json_schema", t.schema
	}
	return body
}

func textBlock(text string) anthropicBlock { return anthropicBlock{Type: "text", Text: text} }

// anthropicMessages is the conversation so far.
func anthropicMessages(t turn) []anthropicMessage {
	list := []anthropicMessage{{"user", append(anthropicFiles(t.files), textBlock(t.prompt))}}
	if t.rejected != "" {
		list = append(list, anthropicMessage{"assistant", []anthropicBlock{textBlock(t.rejected)}},
			anthropicMessage{"user", []anthropicBlock{textBlock(t.feedback)}})
	}
	for _, r := range t.rounds {
		var asked, told []anthropicBlock
		if strings.TrimSpace(r.text) != "" {
			asked = append(asked, textBlock(r.text))
		}
		for i, call := range r.calls {
			asked = append(asked, anthropicBlock{Type: "tool_use", ID: call.id, Name: call.name,
				Input: object(call.input)})
			result := []anthropicBlock{textBlock(firstOf(r.results[i].text, "(nothing)"))}
			told = append(told, anthropicBlock{Type: "tool_result", ToolUseID: call.id, Content: result,
				IsError: r.results[i].failed})
		}
		list = append(list, anthropicMessage{"assistant", asked}, anthropicMessage{"user", told})
	}
	return list
}

// anthropicFiles are the blocks of files, which the API wants before the words about them.
func anthropicFiles(files []file) []anthropicBlock {
	var blocks []anthropicBlock
	for _, f := range files {
		b := anthropicBlock{Type: "document", Title: f.name, Source: &anthropicSource{"base64", f.kind, ""}}
		switch {
		case f.isImage():
			b.Type, b.Title, b.Source.Data = "image", "", f.base64()
		case f.isText():
			b.Source.Type, b.Source.MediaType, b.Source.Data = "text", "text/plain", string(f.content)
		default:
			b.Source.Data = f.base64()
		}
		blocks = append(blocks, b)
	}
	return blocks
}

// object is the input of a call as it is told again; what is none, the model shall not see as its
// own.
func object(input string) json.RawMessage {
	if v := json.RawMessage(input); json.Valid(v) && strings.HasPrefix(strings.TrimSpace(input), "{") {
		return v
	}
	return json.RawMessage("{}")
}

// anthropicStop says why a model ended before it was done.
func anthropicStop(reason string) string {
	switch reason {
	case "end_turn", "stop_sequence", "tool_use":
		return ""
	case "max_tokens":
		return "the reply is longer than max_tokens; raise it in the project file, or ask for less"
	case "refusal":
		return "the model refuses to reply"
	}
	return "the model stopped: " + reason
}
