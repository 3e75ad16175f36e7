package agent

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"
)

const (
	anthropicURL       = "https://api.anthropic.com/"
	anthropicMaxTokens = 16384
)

// askAnthropic streams a reply of the Messages API. The service is made without the SDK's client, which would read this process's environment.
func askAnthropic(ctx context.Context, t turn, heard func(string)) (said, error) {
	d := t.definition
	opts := []option.RequestOption{option.WithBaseURL(firstOf(d.URL, anthropicURL)), option.WithMaxRetries(0)}
	if t.key != "" {
		opts = append(opts, option.WithAPIKey(t.key))
	}
	params := anthropic.MessageNewParams{
		Model:     anthropic.Model(d.Model),
		MaxTokens: orDefault(d.MaxTokens, anthropicMaxTokens),
		Messages:  []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock(t.prompt))},
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
		case "content_block_delta":
			text.WriteString(e.Delta.Text)
			heard(e.Delta.Text)
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

// anthropicStop says why a model ended before it was done.
func anthropicStop(reason anthropic.StopReason) string {
	switch reason {
	case anthropic.StopReasonEndTurn, anthropic.StopReasonStopSequence:
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
