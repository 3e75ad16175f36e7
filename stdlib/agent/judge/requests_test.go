package judge

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/shared"
)

// intended are the differences between the requests that are to be, by API and where, with what
// each sends, "" for anything. A list's places are all "[]". One that no request shows any more
// fails the test.
var intended = []struct{ backend, at, how, why string }{
	{"anthropic", "body.messages[].content[].is_error", "we send <nil>, they send false", "false is what the API takes it for when it is not there"},
	{"anthropic", "header.Accept", `we send "application/json, text/event-stream", they send "application/json"`, "ours asks for a stream, and says so"},
	{"openai", "header.Accept", `we send "application/json, text/event-stream", they send "application/json"`, "ours asks for a stream, and says so"},
	{"anthropic", "header.User-Agent", "", "each has its own name"},
	{"openai", "header.User-Agent", "", "each has its own name"},
	{"anthropic", "header.X-Stainless", "", "figures about the maker's client, which ours is not"},
	{"openai", "header.X-Stainless", "", "figures about the maker's client, which ours is not"},
}

// The files of a task: of one pixel, without a page, in words.
const (
	picture  = "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR"
	document = "%PDF-1.7\n%%EOF\n"
	notes    = "# Notes\n"

	picture64  = "iVBORw0KGgoAAAANSUhEUg=="
	document64 = "JVBERi0xLjcKJSVFT0YK"
)

// What Starling says, whoever is asked.
const (
	listed = "Look.\n\nThese files belong to it:\n- a.png (image/png)\n- spec.pdf (application/pdf)\n- notes.md (text/plain)"
	wanted = "Reply with one JSON value that meets this JSON Schema, and with nothing else:\n```json\n" +
		`{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","properties":{"n":{"type":"integer"}},"required":["n"],"additionalProperties":false}` + "\n```"
	rejected = `{"n": "x"}`
	feedback = "Your previous reply was not accepted. Reply again, whole. What was wrong with it:\n- n: got \"x\", want int\n\n" + wanted
	strict   = `{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"],"additionalProperties":false}`
	input    = `{"additionalProperties":false,"properties":{"bytes":{"type":"integer"},"name":{"type":"string"},"query":{"type":"string"},"table":{"type":"string"}},"type":"object"}`
)

// conversation is one that both clients have.
type conversation struct {
	name       string
	section    string // of the agent
	set        func(*starling)
	anthropic  anthropic.MessageNewParams
	openai     openai.ChatCompletionNewParams
	asks       map[string][]string // the streams of the turns before the last request
	withServer bool                // db, which has tools
}

func object(text string) (m map[string]any) {
	if err := json.Unmarshal([]byte(text), &m); err != nil {
		panic(err)
	}
	return m
}

func conversations() []conversation {
	user := func(text string) anthropic.MessageParam {
		return anthropic.NewUserMessage(anthropic.NewTextBlock(text))
	}
	format := anthropic.OutputConfigParam{Format: anthropic.JSONOutputFormatParam{Schema: object(strict)}}
	var reply openai.ChatCompletionNewParamsResponseFormatUnion
	reply.OfJSONSchema = &shared.ResponseFormatJSONSchemaParam{JSONSchema: shared.ResponseFormatJSONSchemaJSONSchemaParam{
		Name: "reply", Strict: openai.Bool(true), Schema: object(strict)}}
	return []conversation{
		{name: "a word",
			anthropic: anthropic.MessageNewParams{MaxTokens: 16384, Messages: []anthropic.MessageParam{user("Look.")}},
			openai:    openai.ChatCompletionNewParams{Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage("Look.")}}},
		{name: "instructions, a bound and a schema", section: "max_tokens = 99\ninstructions = 'Be <brief> & \"kind\".'\n",
			set: func(s *starling) { s.returns = "{n: int}" },
			anthropic: anthropic.MessageNewParams{MaxTokens: 99, System: []anthropic.TextBlockParam{{Text: `Be <brief> & "kind".`}},
				Messages: []anthropic.MessageParam{user("Look.\n\n" + wanted)}, OutputConfig: format},
			openai: openai.ChatCompletionNewParams{MaxTokens: openai.Int(99), ResponseFormat: reply,
				Messages: []openai.ChatCompletionMessageParamUnion{openai.SystemMessage(`Be <brief> & "kind".`), openai.UserMessage("Look.\n\n" + wanted)}}},
		{name: "asked again", set: func(s *starling) { s.returns, s.rejected = "{n: int}", rejected },
			anthropic: anthropic.MessageNewParams{MaxTokens: 16384, OutputConfig: format, Messages: []anthropic.MessageParam{
				user("Look.\n\n" + wanted), anthropic.NewAssistantMessage(anthropic.NewTextBlock(rejected)), user(feedback)}},
			openai: openai.ChatCompletionNewParams{ResponseFormat: reply, Messages: []openai.ChatCompletionMessageParamUnion{
				openai.UserMessage("Look.\n\n" + wanted), openai.AssistantMessage(rejected), openai.UserMessage(feedback)}}},
		files(), tools(),
	}
}

func files() conversation {
	pdf := anthropic.NewDocumentBlock(anthropic.Base64PDFSourceParam{Data: document64})
	pdf.OfDocument.Title = anthropic.String("spec.pdf")
	text := anthropic.NewDocumentBlock(anthropic.PlainTextSourceParam{Data: notes})
	text.OfDocument.Title = anthropic.String("notes.md")
	return conversation{name: "files", set: func(s *starling) {
		s.files = []string{"a.png", "spec.pdf", "notes.md"}
		for name, content := range map[string]string{"a.png": picture, "spec.pdf": document, "notes.md": notes} {
			if err := os.WriteFile(filepath.Join(s.settings.Workspace, name), []byte(content), 0o600); err != nil {
				s.t.Fatal(err)
			}
		}
	},
		anthropic: anthropic.MessageNewParams{MaxTokens: 16384, Messages: []anthropic.MessageParam{anthropic.NewUserMessage(
			anthropic.NewImageBlockBase64("image/png", picture64), pdf, text, anthropic.NewTextBlock(listed))}},
		openai: openai.ChatCompletionNewParams{Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage(
			[]openai.ChatCompletionContentPartUnionParam{
				openai.ImageContentPart(openai.ChatCompletionContentPartImageImageURLParam{URL: "data:image/png;base64," + picture64}),
				openai.FileContentPart(openai.ChatCompletionContentPartFileFileParam{Filename: openai.String("spec.pdf"),
					FileData: openai.String("data:application/pdf;base64," + document64)}),
				openai.TextContentPart("notes.md:\n" + notes), openai.TextContentPart(listed)})}}}
}

// tools is a conversation in which the model has asked for two tools at once, one of which fails.
func tools() conversation {
	var schema anthropic.ToolInputSchemaParam
	if err := json.Unmarshal([]byte(input), &schema); err != nil {
		panic(err)
	}
	tool := func(name, doc string) anthropic.ToolUnionParam {
		return anthropic.ToolUnionParam{OfTool: &anthropic.ToolParam{Name: name, Description: anthropic.String(doc), InputSchema: schema}}
	}
	function := func(name, doc string) openai.ChatCompletionToolUnionParam {
		return openai.ChatCompletionFunctionTool(shared.FunctionDefinitionParam{Name: name, Description: openai.String(doc), Parameters: object(input)})
	}
	call := func(id, name, arguments string) openai.ChatCompletionMessageToolCallUnionParam {
		return openai.ChatCompletionMessageToolCallUnionParam{OfFunction: &openai.ChatCompletionMessageFunctionToolCallParam{ID: id,
			Function: openai.ChatCompletionMessageFunctionToolCallFunctionParam{Name: name, Arguments: arguments}}}
	}
	asked := openai.ChatCompletionMessageParamUnion{OfAssistant: &openai.ChatCompletionAssistantMessageParam{
		ToolCalls: []openai.ChatCompletionMessageToolCallUnionParam{call("c1", "db__select", `{"query":"orders"}`), call("c2", "db__fail", "{}")}}}
	asked.OfAssistant.Content.OfString = openai.String("I look.")
	return conversation{name: "tools", section: "tools = ['db.select', 'db.fail']\n", withServer: true,
		asks: map[string][]string{
			"anthropic": {anthropicStream(says("I look."), asks("c1", "db__select", `{"query":"orders"}`), asks("c2", "db__fail", "")).text("tool_use")},
			"openai":    {openaiStream(says("I look."), asks("c1", "db__select", `{"query":"orders"}`), asks("c2", "db__fail", "")).text("tool_calls")},
		},
		anthropic: anthropic.MessageNewParams{MaxTokens: 16384, Tools: []anthropic.ToolUnionParam{tool("db__fail", "Fail."), tool("db__select", "Ask the database.")},
			Messages: []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock("Look.")),
				anthropic.NewAssistantMessage(anthropic.NewTextBlock("I look."), anthropic.NewToolUseBlock("c1", object(`{"query":"orders"}`), "db__select"),
					anthropic.NewToolUseBlock("c2", object("{}"), "db__fail")),
				anthropic.NewUserMessage(anthropic.NewToolResultBlock("c1", "rows of orders", false), anthropic.NewToolResultBlock("c2", "no such table", true))}},
		openai: openai.ChatCompletionNewParams{Tools: []openai.ChatCompletionToolUnionParam{function("db__fail", "Fail."), function("db__select", "Ask the database.")},
			Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage("Look."), asked,
				openai.ToolMessage("rows of orders", "c1"), openai.ToolMessage("error: no such table", "c2")}}}
}

// Both clients send the same, but for what is listed.
func TestRequests(t *testing.T) {
	t.Setenv("TOOL_SERVER", "1")
	shown := map[string]bool{}
	srv := newServer(t)
	for _, c := range conversations() {
		for _, backend := range []string{"anthropic", "openai"} {
			own := srv.play(func(w http.ResponseWriter, nth int) {
				if before := c.asks[backend]; nth <= len(before) {
					events(w, []byte(before[nth-1]))
					return
				}
				events(w, []byte(plainly(backend, `{"n": 1}`)))
			}, func() { askOurs(t, srv.URL, backend, c) })
			theirs := srv.play(func(w http.ResponseWriter, _ int) { events(w, []byte(plainly(backend, "Well."))) },
				func() { askTheirs(t, srv.URL, backend, c) })
			if len(own) != len(c.asks[backend])+1 || len(theirs) != 1 {
				t.Fatalf("%s, %s: %d requests of ours and %d of theirs", c.name, backend, len(own), len(theirs))
			}
			for at, said := range differences(own[len(own)-1], theirs[0]) {
				if !intends(backend, at, said, shown) {
					t.Errorf("%s, %s: %s: %s", c.name, backend, at, said)
				}
			}
		}
	}
	for _, d := range intended {
		if !shown[d.backend+d.at] {
			t.Errorf("no request to %s differs any more in %s, as %q has it: take it off the list", d.backend, d.at, d.why)
		}
	}
}

func intends(backend, at, said string, shown map[string]bool) bool {
	at = regexp.MustCompile(`\[\d+\]`).ReplaceAllString(at, "[]")
	if strings.HasPrefix(at, "header.X-Stainless-") {
		at = "header.X-Stainless"
	}
	for _, d := range intended {
		if d.backend == backend && d.at == at && (d.how == "" || d.how == said) {
			shown[d.backend+d.at] = true
			return true
		}
	}
	return false
}

func askOurs(t *testing.T, url, backend string, c conversation) {
	t.Helper()
	section := c.section
	if c.withServer {
		section += fmt.Sprintf("[tools.db]\ncommand = [%q, 'log', %q]\nenv = ['TOOL_SERVER']\n", os.Args[0], filepath.Join(t.TempDir(), "calls"))
	}
	s := newStarling(t, backend, url, section)
	if c.set != nil {
		c.set(s)
	}
	if r := s.ask(); r.Err != nil {
		t.Fatalf("%s, %s: %v", c.name, backend, r.Err)
	}
}

func askTheirs(t *testing.T, url, backend string, c conversation) {
	t.Helper()
	var err error
	if backend == "openai" {
		c.openai.Model, c.openai.StreamOptions.IncludeUsage = "m", openai.Bool(true)
		service := completions(url)
		stream := service.NewStreaming(t.Context(), c.openai)
		for stream.Next() {
		}
		err = stream.Err()
	} else {
		c.anthropic.Model = "m"
		service := messages(url)
		stream := service.NewStreaming(t.Context(), c.anthropic)
		for stream.Next() {
		}
		err = stream.Err()
	}
	if err != nil {
		t.Fatalf("%s, %s: %v", c.name, backend, err)
	}
}

// differences are the places where two requests differ, and how.
func differences(own, theirs wire) map[string]string {
	found := map[string]string{}
	a, b := leaves(own), leaves(theirs)
	for _, at := range slices.Concat(slices.Collect(maps.Keys(a)), slices.Collect(maps.Keys(b))) {
		if x, y := a[at], b[at]; !reflect.DeepEqual(x, y) {
			found[at] = fmt.Sprintf("we send %#v, they send %#v", x, y)
		}
	}
	return found
}

// leaves are all plain values of a request, by their place, and what is empty. The length of a body
// goes with it.
func leaves(w wire) map[string]any {
	all := map[string]any{"method": w.Method, "path": w.Path}
	for name, values := range w.Header {
		if name != "Content-Length" {
			all["header."+name] = strings.Join(values, ", ")
		}
	}
	collect(all, "body", w.Body)
	return all
}

func collect(all map[string]any, at string, v any) {
	switch v := v.(type) {
	case map[string]any:
		if len(v) == 0 {
			all[at] = "{}"
		}
		for name, field := range v {
			collect(all, at+"."+name, field)
		}
	case []any:
		if len(v) == 0 {
			all[at] = "[]"
		}
		for i, e := range v {
			collect(all, fmt.Sprintf("%s[%d]", at, i), e)
		}
	default:
		all[at] = v
	}
}
