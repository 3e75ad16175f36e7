package agent

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/packages/ssestream"
	"github.com/openai/openai-go/v3/shared"
)

const openaiURL = "https://api.openai.com/v1/"

// askOpenAI streams a reply of the Chat Completions API, which most servers of models speak. The service is made without the SDK's client, which would read this
// process's environment.
func askOpenAI(ctx context.Context, t turn, l listener) (said, error) {
	d := t.definition
	opts := []option.RequestOption{option.WithBaseURL(firstOf(d.URL, openaiURL)), option.WithMaxRetries(0)}
	if t.key != "" {
		opts = append(opts, option.WithAPIKey(t.key))
	}
	service := openai.NewChatCompletionService(opts...)
	stream := service.NewStreaming(ctx, openaiParams(t))
	defer stream.Close()
	var got said
	var text, refusal strings.Builder
	for stream.Next() && text.Len() <= maxReply {
		chunk := stream.Current()
		if u := chunk.Usage; u.TotalTokens > 0 {
			got.tokens = usage{input: u.PromptTokens, output: u.CompletionTokens, cached: u.PromptTokensDetails.CachedTokens}
		}
		for _, c := range chunk.Choices {
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
	}
	if got.text = text.String(); refusal.Len() > 0 {
		got.stopped = "the model refuses to reply: " + refusal.String()
	}
	return got, stream.Err()
}

func openaiParams(t turn) openai.ChatCompletionNewParams {
	d := t.definition
	params := openai.ChatCompletionNewParams{Model: d.Model, StreamOptions: openai.ChatCompletionStreamOptionsParam{IncludeUsage: openai.Bool(true)}}
	if t.system != "" {
		params.Messages = append(params.Messages, openai.SystemMessage(t.system))
	}
	params.Messages = append(params.Messages, openai.UserMessage(t.prompt))
	for _, r := range t.rounds {
		params.Messages = append(params.Messages, openaiRound(r)...)
	}
	for _, tool := range t.tools {
		var schema shared.FunctionParameters
		_ = json.Unmarshal(tool.schema, &schema) // an object, as it was made
		params.Tools = append(params.Tools, openai.ChatCompletionFunctionTool(shared.FunctionDefinitionParam{Name: tool.name, Description: openai.String(tool.description),
			Parameters: schema}))
	}
	switch {
	case d.MaxTokens > 0 && d.URL == "":
		params.MaxCompletionTokens = openai.Int(d.MaxTokens)
	case d.MaxTokens > 0: // the name that others know
		params.MaxTokens = openai.Int(d.MaxTokens)
	}
	if t.schema != nil {
		params.ResponseFormat = openai.ChatCompletionNewParamsResponseFormatUnion{OfJSONSchema: &shared.ResponseFormatJSONSchemaParam{
			JSONSchema: shared.ResponseFormatJSONSchemaJSONSchemaParam{Name: "reply", Strict: openai.Bool(true), Schema: json.RawMessage(t.schema)}}}
	}
	return params
}

// openaiCalls adds what a piece of the stream has of calls.
func openaiCalls(calls []toolCall, pieces []openai.ChatCompletionChunkChoiceDeltaToolCall) []toolCall {
	for _, p := range pieces {
		if p.Index < 0 || p.Index > int64(len(calls)) {
			continue // a server that counts otherwise
		}
		if p.Index == int64(len(calls)) {
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
func openaiRound(r toolRound) []openai.ChatCompletionMessageParamUnion {
	asked := openai.ChatCompletionAssistantMessageParam{}
	if r.text != "" {
		asked.Content.OfString = openai.String(r.text)
	}
	list := []openai.ChatCompletionMessageParamUnion{{OfAssistant: &asked}}
	for i, call := range r.calls {
		asked.ToolCalls = append(asked.ToolCalls, openai.ChatCompletionMessageToolCallUnionParam{OfFunction: &openai.ChatCompletionMessageFunctionToolCallParam{ID: call.id,
			Function: openai.ChatCompletionMessageFunctionToolCallFunctionParam{Name: call.name, Arguments: string(object(call.input))}}})
		text := firstOf(r.results[i].text, "(nothing)")
		if r.results[i].failed {
			text = "error: " + text
		}
		list = append(list, openai.ToolMessage(text, call.id))
	}
	return list
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

func openaiError(err error) (apiError, bool) {
	var e *openai.Error
	if errors.As(err, &e) {
		return apiError{e.StatusCode, firstOf(e.Code, e.Type), firstOf(e.Message, e.RawJSON()), e.Response}, true
	}
	var within *ssestream.StreamError
	if !errors.As(err, &within) {
		return apiError{}, false
	}
	var body struct {
		Error struct{ Message, Type string }
	}
	_ = json.Unmarshal(within.Event.Data, &body) // else the SDK's words will do
	return apiError{200, body.Error.Type, firstOf(body.Error.Message, within.Message), nil}, true
}
