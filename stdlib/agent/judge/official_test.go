package judge

import (
	"errors"
	"strings"
	"testing"

	"github.com/anthropics/anthropic-sdk-go"
	anthropicoption "github.com/anthropics/anthropic-sdk-go/option"
	"github.com/openai/openai-go/v3"
	openaioption "github.com/openai/openai-go/v3/option"
)

// Services are made without the clients around them, which would read this process's environment.

func messages(url string, opts ...anthropicoption.RequestOption) anthropic.MessageService {
	all := []anthropicoption.RequestOption{anthropicoption.WithBaseURL(url), anthropicoption.WithAPIKey(key), anthropicoption.WithMaxRetries(0)}
	return anthropic.NewMessageService(append(all, opts...)...)
}

func completions(url string, opts ...openaioption.RequestOption) openai.ChatCompletionService {
	all := []openaioption.RequestOption{openaioption.WithBaseURL(url), openaioption.WithAPIKey(key), openaioption.WithMaxRetries(0)}
	return openai.NewChatCompletionService(append(all, opts...)...)
}

var (
	anthropicLook = anthropic.MessageNewParams{Model: "m", MaxTokens: 9,
		Messages: []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock("Look."))}}
	openaiLook = openai.ChatCompletionNewParams{Model: "m",
		Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage("Look.")}}
)

var errCut = errors.New("the stream ends before the message does")

// official is how the official client reads what a server answers. A message that nothing has ended
// is a failure: the client leaves it to its user to look.
func official(t *testing.T, backend, url string) reading {
	if backend == "openai" {
		return officialOpenAI(t, url)
	}
	return officialAnthropic(t, url)
}

func officialAnthropic(t *testing.T, url string) (got reading) {
	service := messages(url)
	stream := service.NewStreaming(t.Context(), anthropicLook)
	defer stream.Close()
	var m anthropic.Message
	var err error
	whole := false
	for err == nil && stream.Next() {
		err = m.Accumulate(stream.Current())
		whole = whole || stream.Current().Type == "message_stop"
	}
	if err = errors.Join(err, stream.Err()); err == nil && !whole {
		err = errCut
	}
	u := m.Usage
	got = reading{Input: u.InputTokens + u.CacheReadInputTokens + u.CacheCreationInputTokens, Output: u.OutputTokens, Cached: u.CacheReadInputTokens}
	switch m.StopReason {
	case "end_turn", "stop_sequence", "tool_use":
	case "max_tokens":
		got.Stop = "length"
	default:
		got.Stop = string(m.StopReason)
	}
	for _, b := range m.Content {
		got.Text += b.Text
		if b.Type == "tool_use" {
			got.Calls = append(got.Calls, toolCall{b.ID, b.Name, parsed(string(b.Input))})
		}
	}
	return got.ended(err)
}

func officialOpenAI(t *testing.T, url string) (got reading) {
	service := completions(url)
	stream := service.NewStreaming(t.Context(), openaiLook)
	defer stream.Close()
	var acc openai.ChatCompletionAccumulator
	var err error
	for err == nil && stream.Next() {
		if !acc.AddChunk(stream.Current()) {
			err = errors.New("the accumulator refuses the piece")
		}
	}
	err = errors.Join(err, stream.Err())
	u := acc.Usage
	got = reading{Input: u.PromptTokens, Output: u.CompletionTokens, Cached: u.PromptTokensDetails.CachedTokens}
	if len(acc.Choices) == 0 || acc.Choices[0].FinishReason == "" {
		return got.ended(errors.Join(err, errCut))
	}
	c := acc.Choices[0]
	switch got.Stop = c.FinishReason; {
	case c.Message.Refusal != "":
		got.Stop = "refusal"
	case got.Stop == "stop" || got.Stop == "tool_calls":
		got.Stop = ""
	}
	got.Text = c.Message.Content
	for _, call := range c.Message.ToolCalls {
		got.Calls = append(got.Calls, toolCall{call.ID, call.Function.Name, parsed(call.Function.Arguments)})
	}
	return got.ended(err)
}

// ended leaves out what is nobody's reply.
func (r reading) ended(err error) reading {
	if err != nil {
		r.Failed = err.Error()
	}
	if r.Failed != "" || r.Stop != "" {
		r.Text, r.Calls = "", nil
	}
	if strings.TrimSpace(r.Text) == "" && len(r.Calls) > 0 {
		r.Text = "" // it is not told again
	}
	return r
}
