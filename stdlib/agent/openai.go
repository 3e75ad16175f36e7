package agent

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
)

const openaiURL = "https://api.openai.com/v1/"

// The Chat Completions API, as far as it is spoken here:
// https://platform.openai.com/docs/api-reference/chat

type openaiRequest struct {
	Model               string          `json:"model"`
	Messages            []openaiMessage `json:"messages"`
	Tools               []openaiTool    `json:"tools,omitempty"`
	MaxCompletionTokens int64           `json:"max_completion_tokens,omitempty"`
	MaxTokens           int64           `json:"max_tokens,omitempty"` // the name that other servers know
	ResponseFormat      *openaiFormat   `json:"response_format,omitempty"`
	Stream              bool            `json:"stream"`
	StreamOptions       struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`
}

type openaiMessage struct {
	Role       string       `json:"role"`
	Content    openaiWords  `json:"content,omitzero"`
	ToolCalls  []openaiCall `json:"tool_calls,omitempty"`
	ToolCallID string       `json:"tool_call_id,omitempty"`
}

// openaiWords are a text, or a text with files, which servers that take no files need not know.
type openaiWords struct {
	text  string
	parts []openaiPart
}

// MarshalJSON writes the list of parts where there are files.
func (w openaiWords) MarshalJSON() ([]byte, error) {
	if len(w.parts) == 0 {
		return json.Marshal(w.text)
	}
	return json.Marshal(append(slices.Clone(w.parts), openaiPart{Type: "text", Text: w.text}))
}

// IsZero leaves out what has no words.
func (w openaiWords) IsZero() bool { return w.text == "" && len(w.parts) == 0 }

// openaiPart is a text, an image_url or a file.
type openaiPart struct {
	Type  string          `json:"type"`
	Text  string          `json:"text,omitempty"`
	Image *openaiImage    `json:"image_url,omitempty"`
	File  *openaiDocument `json:"file,omitempty"`
}

type openaiImage struct {
	URL string `json:"url"`
}

type openaiDocument struct {
	Name string `json:"filename"`
	Data string `json:"file_data"`
}

type openaiCall struct {
	Index    int             `json:"index,omitempty"` // only of a piece of a stream
	ID       string          `json:"id,omitempty"`
	Type     string          `json:"type,omitempty"`
	Function openaiArguments `json:"function"`
}

type openaiArguments struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

type openaiTool struct {
	Type     string         `json:"type"`
	Function openaiFunction `json:"function"`
}

type openaiFunction struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"`
}

type openaiFormat struct {
	Type   string       `json:"type"`
	Schema openaiSchema `json:"json_schema"`
}

type openaiSchema struct {
	Name   string          `json:"name"`
	Strict bool            `json:"strict"`
	Schema json.RawMessage `json:"schema"`
}

// openaiChunk is an event of the stream.
type openaiChunk struct {
	Choices []struct {
		Index int `json:"index"` // one is asked for; others are none of ours
		Delta struct {
			Content   string       `json:"content"`
			Refusal   string       `json:"refusal"`
			ToolCalls []openaiCall `json:"tool_calls"`
		} `json:"delta"`
		FinishReason string `json:"finish_reason"`
	} `json:"choices"`
	Usage struct {
		Prompt     int64 `json:"prompt_tokens"`
		Completion int64 `json:"completion_tokens"`
		Details    struct {
			Cached int64 `json:"cached_tokens"`
		} `json:"prompt_tokens_details"`
	} `json:"usage"`
}

func toOpenAI(d Definition, key, path string, body any) wireRequest {
	w := wireRequest{base: firstOf(d.URL, openaiURL), path: path, body: body, header: map[string]string{}}
	if key != "" {
		w.header["Authorization"] = "Bearer " + key
	}
	return w
}

// askOpenAI streams a reply of the Chat Completions API, which most servers of models speak.
func askOpenAI(ctx context.Context, t turn, l listener) (said, error) {
	w := toOpenAI(t.definition, t.key, "chat/completions", openaiBody(t))
	var got said
	var text, refusal strings.Builder
	err := w.send(ctx, func(data []byte) bool {
		var chunk openaiChunk
		_ = json.Unmarshal(data, &chunk) // what has another type than is known is left out
		if u := chunk.Usage; u.Prompt+u.Completion > 0 {
			got.tokens = usage{input: u.Prompt, output: u.Completion, cached: u.Details.Cached}
		}
		for _, c := range chunk.Choices {
			if c.Index != 0 {
				continue
			}
			text.WriteString(c.Delta.Content)
			refusal.WriteString(c.Delta.Refusal)
			got.calls = openaiCalls(got.calls, c.Delta.ToolCalls)
			if c.Delta.Content != "" {
				l.text(c.Delta.Content)
			}
			if c.FinishReason != "" {
				got.whole, got.stopped = true, openaiStop(c.FinishReason)
			}
		}
		return text.Len() <= maxReply
	})
	if got.text = text.String(); refusal.Len() > 0 {
		got.stopped = "the model refuses to reply: " + refusal.String()
	}
	return got, err
}

func openaiBody(t turn) *openaiRequest {
	d := t.definition
	body := &openaiRequest{Model: d.Model, Stream: true}
	body.StreamOptions.IncludeUsage = true
	if t.system != "" {
		body.Messages = append(body.Messages, openaiMessage{Role: "system", Content: openaiWords{text: t.system}})
	}
	body.Messages = append(body.Messages, openaiMessage{Role: "user", Content: openaiWords{t.prompt, openaiFiles(t.files)}})
	if t.rejected != "" {
		body.Messages = append(body.Messages, openaiMessage{Role: "assistant", Content: openaiWords{text: t.rejected}},
			openaiMessage{Role: "user", Content: openaiWords{text: t.feedback}})
	}
	for _, r := range t.rounds {
		body.Messages = append(body.Messages, openaiRound(r)...)
	}
	for _, tool := range t.tools {
		f := openaiFunction{tool.name, tool.description, tool.schema}
		body.Tools = append(body.Tools, openaiTool{"function", f})
	}
	if d.URL == "" {
		body.MaxCompletionTokens = d.MaxTokens
	} else {
		body.MaxTokens = d.MaxTokens
	}
	if t.schema != nil {
		body.ResponseFormat = &openaiFormat{"json_schema", openaiSchema{"reply", true, t.schema}}
	}
	return body
}

// openaiFiles are the parts of files. A text is words, under its name.
func openaiFiles(files []file) []openaiPart {
	var parts []openaiPart
	for _, f := range files {
		switch {
		case f.isImage():
			parts = append(parts, openaiPart{Type: "image_url", Image: &openaiImage{f.dataURL()}})
		case f.isText():
			parts = append(parts, openaiPart{Type: "text", Text: f.name + ":\n" + string(f.content)})
		default:
			parts = append(parts, openaiPart{Type: "file", File: &openaiDocument{f.name, f.dataURL()}})
		}
	}
	return parts
}

// openaiCalls adds what a piece of the stream has of calls.
func openaiCalls(calls []toolCall, pieces []openaiCall) []toolCall {
	for _, p := range pieces {
		if p.Index < 0 || p.Index > len(calls) {
			continue // a server that counts otherwise
		}
		if p.Index == len(calls) {
			calls = append(calls, toolCall{})
		}
		c := &calls[p.Index]
		c.id, c.name = firstOf(c.id, p.ID), firstOf(c.name, p.Function.Name)
		if len(c.input) <= maxReply {
			c.input += p.Function.Arguments
		}
	}
	return calls
}

// openaiRound is what was asked for and told.
func openaiRound(r toolRound) []openaiMessage {
	asked := openaiMessage{Role: "assistant", Content: openaiWords{text: r.text}}
	var told []openaiMessage
	for i, call := range r.calls {
		f := openaiArguments{call.name, string(object(call.input))}
		asked.ToolCalls = append(asked.ToolCalls, openaiCall{ID: call.id, Type: "function", Function: f})
		text := firstOf(r.results[i].text, "(nothing)")
		if r.results[i].failed {
			text = "error: " + text
		}
		told = append(told, openaiMessage{Role: "tool", Content: openaiWords{text: text}, ToolCallID: call.id})
	}
	return append([]openaiMessage{asked}, told...)
}

// openaiStop says why a model ended before it was done.
func openaiStop(reason string) string {
	switch reason {
	case "stop", "tool_calls":
		return ""
	case "length":
		return "the reply is longer than max_tokens; raise it in the project file, or ask for less"
	case "content_filter":
		return "the reply was withheld by a content filter"
	}
	return "the model stopped: " + reason
}
