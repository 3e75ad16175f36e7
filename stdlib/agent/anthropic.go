package agent

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"
	"github.com/anthropics/anthropic-sdk-go/packages/param"
)

const (
	anthropicURL       = "https://api.anthropic.com/"
	anthropicMaxTokens = 16384
)

// askAnthropic streams a reply of the Messages API. The service is made without the SDK's client, which would read this process's environment.
func askAnthropic(ctx context.Context, t turn, l listener) (said, error) {
	d := t.definition
	opts := []option.RequestOption{option.WithBaseURL(firstOf(d.URL, anthropicURL)), option.WithMaxRetries(0)}
	if t.key != "" {
		opts = append(opts, option.WithAPIKey(t.key))
	}
	params := anthropic.MessageNewParams{
		Model:     anthropic.Model(d.Model),
		MaxTokens: orDefault(d.MaxTokens, anthropicMaxTokens),
		Messages:  anthropicMessages(t),
		Tools:     anthropicTools(t.tools),
	}
	if t.system != "" {
		params.System = []anthropic.TextBlockParam{{Text: t.system}}
	}
	if t.schema != nil {
		var schema map[string]any
		if err := json.Unmarshal(t.schema, &schema); err != nil {
			return said{}, err
		}
		params.OutputConfig = anthropic.OutputConfigParam{Format: anthropic.JSONOutputFormatParam{Schema: schema}}
	}
	service := anthropic.NewMessageService(opts...)
	stream := service.NewStreaming(ctx, params)
	defer stream.Close()
	var got said
	var text strings.Builder
	for stream.Next() && text.Len() <= maxReply {
		e := stream.Current()
		switch e.Type {
		case "message_start":
			u := e.Message.Usage
			got.tokens = usage{input: u.InputTokens + u.CacheReadInputTokens + u.CacheCreationInputTokens, cached: u.CacheReadInputTokens, output: u.OutputTokens}
			l.used(got.tokens)
		case "content_block_start":
			if e.ContentBlock.Type == "tool_use" {
				got.calls = append(got.calls, toolCall{id: e.ContentBlock.ID, name: e.ContentBlock.Name})
			}
		case "content_block_delta":
			text.WriteString(e.Delta.Text)
			l.text(e.Delta.Text)
			if n := len(got.calls); n > 0 && len(got.calls[n-1].input) <= maxReply {
				got.calls[n-1].input += e.Delta.PartialJSON // blocks come one after the other
			}
		case "message_delta":
			got.tokens.output = e.Usage.OutputTokens
			got.stopped = anthropicStop(e.Delta.StopReason)
		case "message_stop":
			got.whole = true
		}
	}
	got.text = text.String()
	return got, stream.Err()
}

// anthropicMessages is the conversation so far.
func anthropicMessages(t turn) []anthropic.MessageParam {
	list := []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock(t.prompt))}
	for _, r := range t.rounds {
		var asked, told []anthropic.ContentBlockParamUnion
		if strings.TrimSpace(r.text) != "" {
			asked = append(asked, anthropic.NewTextBlock(r.text))
		}
		for i, call := range r.calls {
			asked = append(asked, anthropic.NewToolUseBlock(call.id, object(call.input), call.name))
			told = append(told, anthropic.NewToolResultBlock(call.id, firstOf(r.results[i].text, "(nothing)"), r.results[i].failed))
		}
		list = append(list, anthropic.NewAssistantMessage(asked...), anthropic.NewUserMessage(told...))
	}
	return list
}

func anthropicTools(tools []modelTool) []anthropic.ToolUnionParam {
	var list []anthropic.ToolUnionParam
	for _, t := range tools {
		list = append(list, anthropic.ToolUnionParam{OfTool: &anthropic.ToolParam{Name: t.name, Description: anthropic.String(t.description),
			InputSchema: param.Override[anthropic.ToolInputSchemaParam](json.RawMessage(t.schema))}})
	}
	return list
}

// object is the input of a call as it is told again; what is none, the model shall not see as its own.
func object(input string) json.RawMessage {
	if v := json.RawMessage(input); json.Valid(v) && strings.HasPrefix(strings.TrimSpace(input), "{") {
		return v
	}
	return json.RawMessage("{}")
}

// anthropicStop says why a model ended before it was done.
func anthropicStop(reason anthropic.StopReason) string {
	switch reason {
	case anthropic.StopReasonEndTurn, anthropic.StopReasonStopSequence, anthropic.StopReasonToolUse:
		return ""
	case anthropic.StopReasonMaxTokens:
		return "the reply is longer than max_tokens; raise it in the project file, or ask for less"
	case anthropic.StopReasonRefusal:
		return "the model refuses to reply"
	}
	return "the model stopped: " + string(reason)
}

func anthropicError(err error) (apiError, bool) {
	var e *anthropic.Error
	if !errors.As(err, &e) {
		return apiError{}, false
	}
	var body struct {
		Error struct{ Message string }
	}
	_ = json.Unmarshal([]byte(e.RawJSON()), &body) // a proxy may answer in its own words
	return apiError{e.StatusCode, string(e.Type()), firstOf(body.Error.Message, e.RawJSON()), e.Response}, true
}

func orDefault(n, otherwise int64) int64 {
	if n == 0 {
		return otherwise
	}
	return n
}
