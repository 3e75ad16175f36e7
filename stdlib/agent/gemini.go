package agent

import (
	"encoding/json"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"go.starlark.net/starlark"

	"starling/lang/effect"
)

// gemini speaks with Gemini CLI: the prompt on standard input, which is no terminal and so asks for
// one reply, a stream of JSON on standard output. It knows no schema: the reply is found in the
// text.
//
//	{"type":"init","session_id":…,"model":…}
//	{"type":"message","role":"assistant","content":…,"delta":true}
//	{"type":"tool_use","tool_name":…,"tool_id":…,"parameters":{…}}    {"type":"tool_result","tool_id":…,"status":"success"|"error","error":{…}}
//	{"type":"error","severity":"warning"|"error","message":…}         {"type":"result","status":"success"|"error","error":{…},"stats":{…}}
type gemini struct {
	session string
	said    strings.Builder // since the last tool
	tools   toolNames
	denials []string
	result  *geminiLine
}

type geminiLine struct {
	Type       string          `json:"type"`
	SessionID  string          `json:"session_id"`
	Model      string          `json:"model"`
	Role       string          `json:"role"`
	Content    string          `json:"content"`
	ToolName   string          `json:"tool_name"`
	ToolID     string          `json:"tool_id"`
	Parameters json.RawMessage `json:"parameters"`
	Status     string          `json:"status"`
	Severity   string          `json:"severity"`
	Message    string          `json:"message"`
	Error      struct {
		Type    string `json:"type"`
		Message string `json:"message"`
	} `json:"error"`
	Stats struct {
		Input  int64 `json:"input_tokens"`
		Output int64 `json:"output_tokens"`
		Cached int64 `json:"cached"`

		Models map[string]json.RawMessage `json:"models"` // that served, beside the one that was to
	} `json:"stats"`
}

func (g *gemini) invoke(q Question) (invocation, error) {
	d := q.Definition
	args := []string{"--output-format", "stream-json", "--approval-mode", "default"}
	if d.Modifies {
		args[len(args)-1] = "auto_edit"
	}
	if d.Model != "" {
		args = append(args, "--model", d.Model)
	}
	if len(d.Tools) > 0 {
		args = append(args, "--allowed-tools", strings.Join(d.Tools, ","))
	}
	resumes := resumed(q)
	if resumes {
		args = append(args, "--resume", q.Session)
	}
	text, err := prompt(q, resumes)
	for _, f := range attached(q, resumes) {
		if f.isImage() || f.kind == pdfKind {
			text += "\n\n@" + geminiPath(f.path)
			if f.made {
				args = append(args, "--include-directories", filepath.Dir(f.path))
			}
		}
	}
	return invocation{args: args, env: geminiTrust(), stdin: []byte(text), forget: func() {}}, err
}

// geminiPath is a path as a mention has it.
func geminiPath(path string) string {
	return regexp.MustCompile(`[^\pL\pN/._-]`).ReplaceAllString(path, `\$0`)
}

// geminiTrust has Gemini CLI trust the folder that it works in: whoever runs a script there has
// said that work is done there, and a worktree is new each time. Elsewhere it uses no tool servers,
// and without a terminal it ends.
func geminiTrust() []string { return []string{"GEMINI_CLI_TRUST_WORKSPACE=true"} }

func (g *gemini) line(line string, emit emitter) (counts bool) {
	var l geminiLine
	if !decode(line, &l) {
		return false
	}
	switch l.Type {
	case "init":
		g.session = l.SessionID
		emit.say("session", "id", l.SessionID, "model", l.Model)
	case "message":
		if l.Role == "assistant" {
			g.said.WriteString(l.Content)
			emit.say("delta", "text", l.Content)
		}
	case "tool_use":
		g.said.Reset() // what it said before was about what it was going to do
		g.use(&l, emit)
	case "tool_result":
		g.used(&l, emit)
	case "error":
		emit.say("trouble", "text", l.Message, "severity", l.Severity)
	case "result":
		g.result = &l
	}
	return l.Type == "message"
}

func (g *gemini) use(l *geminiLine, emit emitter) {
	g.tools.begin(l.ToolID, l.ToolName)
	emit.say("tool", "name", l.ToolName, "id", l.ToolID, "input", []byte(l.Parameters))
}

func (g *gemini) used(l *geminiLine, emit emitter) {
	name := g.tools.end(l.ToolID)
	if l.Status == "error" && (refusal(l.Error.Type, l.Error.Message) || withheld(name, l.Error.Message)) {
		g.denials = append(g.denials, firstOf(name, l.ToolID))
		emit.say("permission", "tool", firstOf(name, l.ToolID), "id", l.ToolID, "allowed", false, "by", "program")
	}
	emit.say("tool_result", "id", l.ToolID, "name", name, "ok", l.Status != "error", "text", l.Error.Message)
}

// ownTools are tools of Gemini CLI that it does not register where nobody could be asked about
// them: packages/core/src/tools/tool-names.ts of its repository.
var ownTools = []string{"run_shell_command", "write_file", "replace", "web_fetch", "google_web_search",
	"save_memory"}

// withheld tells whether a tool of its own failed because it was not registered: the model is told
// that there is none of that name.
func withheld(tool, text string) bool {
	return slices.Contains(ownTools, tool) && strings.Contains(text, "not found")
}

// refusal tells whether Gemini CLI refused a call. It has types for that and for failures of tools:
// what a tool, or a server of tools, says of its own refusals is no word of the program's. Only
// what has no type of its own is read for words.
func refusal(kind, text string) bool {
	text = strings.ToLower(text)
	switch kind {
	case "policy_violation":
		return true
	case "unhandled_exception", "TOOL_EXECUTION_ERROR":
		return strings.Contains(text, "requires user confirmation") || strings.Contains(text, "requires approval")
	case "": // in versions before there were types
		return slices.ContainsFunc([]string{"denied", "not allowed", "requires user confirmation", "requires approval"},
			func(word string) bool { return strings.Contains(text, word) })
	}
	return false
}

func (g *gemini) answer() (answer, *fault) {
	switch {
	case g.result == nil:
		return answer{}, &fault{message: "it ended without a result", kind: effect.KindAgent, class: effect.Retryable}
	case g.result.Status == "error":
		return answer{}, toldFault(firstOf(g.result.Error.Message, g.result.Error.Type, "it reports an error and does not say which"))
	case len(g.denials) > 0:
		return answer{}, denied(g.denials[0], "", len(g.denials))
	}
	return answer{text: g.said.String(), status: "ok", session: g.session, usage: g.spent()}, nil
}

func (g *gemini) spent() starlark.Value {
	if g.result == nil {
		return nil
	}
	stats := g.result.Stats
	tokens := usage{input: stats.Input, output: stats.Output, cached: stats.Cached}
	return tokens.ofModel(onlyOne(slices.Collect(maps.Keys(stats.Models)))) // each has a price of its own
}

// exit: 41, 52 and 55 are about how it is set up, 42 about what it was given, 53 about how long it
// may go on.
func (*gemini) exit(code int) (class effect.Failure, meaning string) {
	switch code {
	case 41:
		return effect.Final, " (not logged in)"
	case 42:
		return effect.Final, " (input refused)"
	case 52:
		return effect.Final, " (configuration)"
	case 53:
		return effect.Final, " (turn limit)"
	case 55:
		return effect.Final, " (folder not trusted)"
	}
	return exitFailure(code)
}

func (g *gemini) conversation() string { return g.session }
