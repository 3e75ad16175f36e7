package modeltest

import (
	"encoding/json"
	"fmt"
	"strings"
)

// content is a text, or a list of blocks of which some have a text.
type content string

func (c *content) UnmarshalJSON(b []byte) error {
	var text string
	if json.Unmarshal(b, &text) == nil {
		*c = content(text)
		return nil
	}
	var blocks []struct{ Text string }
	_ = json.Unmarshal(b, &blocks) // what is neither has none
	for _, block := range blocks {
		*c += content(block.Text + "\n")
	}
	return nil
}

type message struct {
	Type, Role string
	Content    content
}

func anthropicTurns(body []byte) (turns []turn) {
	var asked struct{ Messages []message }
	_ = json.Unmarshal(body, &asked)
	for _, m := range asked.Messages {
		turns = append(turns, turn{m.Role == "assistant", string(m.Content)})
	}
	return turns
}

// anthropic answers as https://docs.anthropic.com/en/api/messages-streaming says. claude has a tool
// for structured output.
func anthropic(o *stream, s Step, body []byte) {
	var asked struct {
		Model string
		Tools []struct{ Name string }
	}
	_ = json.Unmarshal(body, &asked)
	for _, t := range asked.Tools {
		if t.Name == "StructuredOutput" && len(s.Structured) > 0 {
			s.Tool, s.Input = t.Name, s.Structured
		}
	}
	block, stop := object{"type": "text", "text": s.said()}, "end_turn"
	delta := object{"type": "text_delta", "text": s.said()}
	empty := object{"type": "text", "text": ""}
	if s.Tool != "" {
		id := fmt.Sprintf("toolu_%d", o.n)
		block, stop = object{"type": "tool_use", "id": id, "name": s.Tool, "input": input(s)}, "tool_use"
		empty = object{"type": "tool_use", "id": id, "name": s.Tool, "input": object{}}
		delta = object{"type": "input_json_delta", "partial_json": string(input(s))}
	}
	message := func(content []object, stop any, output int) object {
		return object{"id": fmt.Sprintf("msg_%d", o.n), "type": "message", "role": "assistant", "model": asked.Model,
			"content": content, "stop_reason": stop, "stop_sequence": nil, "usage": object{"input_tokens": 100,
				"cache_creation_input_tokens": 10, "cache_read_input_tokens": 20, "output_tokens": output}}
	}
	o.event(object{"type": "message_start", "message": message([]object{}, nil, 1)})
	o.event(object{"type": "content_block_start", "index": 0, "content_block": empty})
	o.event(object{"type": "content_block_delta", "index": 0, "delta": delta})
	o.event(object{"type": "content_block_stop", "index": 0})
	o.event(object{"type": "message_delta", "delta": object{"stop_reason": stop, "stop_sequence": nil},
		"usage": object{"output_tokens": 7}})
	o.event(object{"type": "message_stop"})
	o.whole(message([]object{block}, stop, 7))
}

func responsesTurns(body []byte) (turns []turn) {
	var asked struct{ Input []message }
	_ = json.Unmarshal(body, &asked)
	for _, m := range asked.Input {
		switch {
		case strings.HasSuffix(m.Type, "_call"):
			turns = append(turns, turn{model: true})
		case m.Role != "":
			turns = append(turns, turn{m.Role == "assistant", string(m.Content)})
		}
	}
	return turns
}

// responses answers as https://platform.openai.com/docs/api-reference/responses-streaming says.
func responses(o *stream, s Step, body []byte) {
	var asked struct{ Model string }
	_ = json.Unmarshal(body, &asked)
	item := object{"type": "message", "id": fmt.Sprintf("msg_%d", o.n), "role": "assistant", "status": "completed",
		"content": []object{{"type": "output_text", "text": s.said(), "annotations": []any{}}}}
	if s.Tool != "" {
		item = object{"type": "function_call", "id": fmt.Sprintf("fc_%d", o.n), "call_id": fmt.Sprintf("call_%d", o.n),
			"name": s.Tool, "arguments": string(input(s)), "status": "completed"}
		if s.Namespace != "" {
			item["namespace"] = s.Namespace
		}
	}
	response := func(status string, output []object, usage any) object {
		return object{"id": fmt.Sprintf("resp_%d", o.n), "object": "response", "created_at": 1, "model": asked.Model,
			"status": status, "output": output, "usage": usage, "error": nil, "incomplete_details": nil}
	}
	done := response("completed", []object{item}, object{"input_tokens": 130, "output_tokens": 7, "total_tokens": 137,
		"input_tokens_details": object{"cached_tokens": 20}, "output_tokens_details": object{"reasoning_tokens": 0}})
	o.event(object{"type": "response.created", "response": response("in_progress", []object{}, nil)})
	o.event(object{"type": "response.output_item.added", "output_index": 0, "item": item})
	if s.Tool == "" {
		o.event(object{"type": "response.output_text.delta", "item_id": item["id"], "output_index": 0,
			"content_index": 0, "delta": s.said()})
	}
	o.event(object{"type": "response.output_item.done", "output_index": 0, "item": item})
	o.event(object{"type": "response.completed", "response": done})
	o.whole(done)
}

// chat answers as https://platform.openai.com/docs/api-reference/chat-streaming says.
func chat(o *stream, s Step, body []byte) {
	var asked struct{ Model string }
	_ = json.Unmarshal(body, &asked)
	said, stop := object{"role": "assistant", "content": s.said()}, "stop"
	if s.Tool != "" {
		said, stop = object{"role": "assistant", "content": nil, "tool_calls": []object{{"index": 0, "type": "function",
			"id": fmt.Sprintf("call_%d", o.n), "function": object{"name": s.Tool, "arguments": string(input(s))}}}}, "tool_calls"
	}
	usage := object{"prompt_tokens": 130, "completion_tokens": 7, "total_tokens": 137,
		"prompt_tokens_details": object{"cached_tokens": 20}}
	chunk := func(kind string, choices []object, usage any) object {
		return object{"id": fmt.Sprintf("chatcmpl-%d", o.n), "object": kind, "created": 1, "model": asked.Model,
			"choices": choices, "usage": usage}
	}
	const piece = "chat.completion.chunk"
	o.event(chunk(piece, []object{{"index": 0, "delta": said, "finish_reason": nil}}, nil))
	o.event(chunk(piece, []object{{"index": 0, "delta": object{}, "finish_reason": stop}}, nil))
	o.event(chunk(piece, []object{}, usage))
	if o.streams {
		fmt.Fprint(o.w, "data: [DONE]\n\n")
	}
	o.whole(chunk("chat.completion", []object{{"index": 0, "message": said, "finish_reason": stop}}, usage))
}

type geminiAsked struct {
	Contents []struct {
		Role  string
		Parts []struct{ Text string }
	}
	Config struct {
		MIME   string          `json:"responseMimeType"`
		Schema json.RawMessage `json:"responseJsonSchema"`
	} `json:"generationConfig"`
}

func geminiTurns(body []byte) (turns []turn) {
	var asked geminiAsked
	_ = json.Unmarshal(body, &asked)
	for _, c := range asked.Contents {
		t := turn{model: c.Role == "model"}
		for _, p := range c.Parts {
			t.text += p.Text + "\n"
		}
		turns = append(turns, t)
	}
	return turns
}

// geminiAside tells whether Gemini CLI asks beside the conversation, which model is to serve or who
// speaks next: it asks for that as JSON.
func geminiAside(body []byte) bool {
	var asked geminiAsked
	_ = json.Unmarshal(body, &asked)
	return asked.Config.MIME == "application/json" || len(asked.Config.Schema) > 0
}

// settled is what ends all that Gemini CLI asks beside the conversation.
const settled = `{"reasoning": "as told", "next_speaker": "user", "model_choice": "flash", "complexity_reasoning": "none", "complexity_score": 1}`

// gemini answers as https://ai.google.dev/api/generate-content says.
func gemini(o *stream, s Step, _ []byte) {
	part := object{"text": s.said()}
	if s.Tool != "" {
		part = object{"functionCall": object{"name": s.Tool, "args": input(s)}}
	}
	done := object{"candidates": []object{{"index": 0, "content": object{"role": "model", "parts": []object{part}}, "finishReason": "STOP"}},
		"usageMetadata": object{"promptTokenCount": 130, "candidatesTokenCount": 7, "totalTokenCount": 137,
			"cachedContentTokenCount": 20}, "modelVersion": "told"}
	o.event(done)
	o.whole(done)
}
