package agent

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"starling/stdlib/project"
	"starling/stdlib/tool"
)

// Programs that have a tool loop of their own are told of one endpoint of this process for each
// tool server, and reach the servers through it only. So the list of allowed tools holds there too.
// What else a program has been set up with by its user is the user's: claude is told to leave it,
// gemini to use none of it, codex cannot be told.

// wire tells a program of the endpoint: in its own configuration, and other programs in
// STARLING_TOOLS, a file in the form that most harnesses read.
func wire(preset string, e *tool.Endpoint, told invocation) (invocation, error) {
	if e == nil {
		return told, nil
	}
	if preset == project.Codex {
		told.env = append(told.env, tool.TokenVariable+"="+e.Token)
		told.args = slices.Insert(told.args, 1, codexServers(e)...) // behind exec
		return told, nil
	}
	file, err := serversFile(preset, e)
	if err != nil {
		told.forget()
		return told, err
	}
	told.files = append(told.files, file)
	forget := told.forget
	told.forget = func() { forget(); os.Remove(file) }
	switch preset {
	case project.Claude:
		told.args = append(told.args, "--mcp-config", file, "--strict-mcp-config")
	case project.Gemini:
		told.env = append(told.env, "GEMINI_CLI_SYSTEM_DEFAULTS_PATH="+file)
		for _, name := range e.Names() {
			told.args = append(told.args, "--allowed-mcp-server-names", wireName(name))
		}
	default:
		told.env = append(told.env, "STARLING_TOOLS="+file)
	}
	return told, nil
}

// wireName is the name of a server in a program's configuration, where its user may have one of the
// same name.
func wireName(server string) string { return "starling_" + server }

// codexServers are settings for the command line. The token is in the environment: arguments can be
// read by all.
func codexServers(e *tool.Endpoint) []string {
	var args []string
	for _, name := range e.Names() {
		at := "mcp_servers." + wireName(name) + "."
		args = append(args, "-c", fmt.Sprintf("%surl=%q", at, e.URL(name)), "-c", fmt.Sprintf("%sbearer_token_env_var=%q", at, tool.TokenVariable), "-c", at+"required=true",
			"-c", fmt.Sprintf("%sdefault_tools_approval_mode=%q", at, "approve"))
	}
	return args
}

// serversFile writes a file that only this user can read: it has the token.
func serversFile(preset string, e *tool.Endpoint) (string, error) {
	servers := map[string]any{}
	for _, name := range e.Names() {
		headers := map[string]string{"Authorization": "Bearer " + e.Token}
		server := map[string]any{"type": "http", "url": e.URL(name), "headers": headers}
		if preset == project.Gemini {
			server = map[string]any{"httpUrl": e.URL(name), "headers": headers, "trust": true}
		}
		servers[wireName(name)] = server
	}
	text, err := json.Marshal(map[string]any{"mcpServers": servers})
	if err != nil {
		return "", err
	}
	return keptFile("starling-tools-*.json", text)
}

// keptFile writes a file for one attempt, readable by this user alone. It lies in the user's cache:
// Gemini CLI passes over, without a word, what lies below a folder that others may write, as /tmp
// is.
func keptFile(pattern string, text []byte) (string, error) {
	f, err := os.CreateTemp(keptFolder(), pattern)
	if err != nil {
		return "", err
	}
	_, err = f.Write(text)
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err != nil {
		os.Remove(f.Name())
		return "", err
	}
	return f.Name(), nil
}

// keptAge is how old a file is that a process which was killed has left.
const keptAge = 7 * 24 * time.Hour

// keptFolder is the folder of such files, "" for that of temporary ones where there is no cache.
func keptFolder() string {
	cache, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	folder := filepath.Join(cache, "starling", "attempts")
	if os.MkdirAll(folder, 0o700) != nil {
		return ""
	}
	files, _ := os.ReadDir(folder) // what cannot be listed is not cleared
	for _, f := range files {
		if info, err := f.Info(); err == nil && time.Since(info.ModTime()) > keptAge {
			_ = os.Remove(filepath.Join(folder, f.Name())) // the next attempt tries again
		}
	}
	return folder
}

// allowedTools is what claude may use without asking: its own tools that are listed, and all that
// the endpoint offers.
func allowedTools(q Question) string {
	list := q.Definition.Tools
	for _, g := range q.Definition.Servers {
		list = append(list[:len(list):len(list)], "mcp__"+wireName(g.Name))
	}
	return strings.Join(list, ",")
}
