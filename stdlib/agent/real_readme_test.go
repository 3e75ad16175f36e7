package agent_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"starling/stdlib/agent/modeltest"
)

// TestRealReadme plays what docs/agents.md prints about the coding agents of others, as it stands
// there: the programs are found by their names and are logged in as their users log them in.
func TestRealReadme(t *testing.T) {
	if !*real {
		return // see TestRealPrograms
	}
	cache, starling := realTools(t)
	models := modeltest.Start(t)
	page, err := os.ReadFile("../../docs/agents.md")
	if err != nil {
		t.Fatal(err)
	}
	programs := map[string]realProgram{}
	for _, p := range realPrograms {
		programs[p.name] = p
	}
	login := map[string]string{
		".claude/settings.json": fmt.Sprintf(`{"env": {"ANTHROPIC_BASE_URL": %q, "ANTHROPIC_API_KEY": "sk-told-claude", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"}}`, models.URL),
		".codex/config.toml":    strings.NewReplacer("URL", models.URL, `env_key = "OPENAI_API_KEY"`, `experimental_bearer_token = "sk-told-codex"`).Replace(codexConfig),
		".gemini/settings.json": geminiHome[".gemini/settings.json"],
		".gemini/.env":          "GEMINI_API_KEY=told-gemini\nGOOGLE_GEMINI_BASE_URL=" + models.URL + "\n",
	}
	for _, c := range []struct {
		name, holds string   // the fragment is the first that holds this text
		programs    []string // that are installed
		more        string   // lines that the page says belong elsewhere
		expression  string
		want        string
	}{
		{"two coding agents", `preset = "codex"`, []string{"claude", "codex"}, "",
			`[agent("judge", plan('{"text": "seen"}')).backend, agent("claude", plan('{"text": "one"}')).text, agent("codex", plan('{"text": "two"}')).text]`,
			`["claude","one","two"]`},
		{"the first is missing", `preset = "codex"`, []string{"codex"}, "", `agent("judge", plan('{"text": "seen"}')).backend`, `"codex"`},
		{"gemini over ACP", `command = ["gemini", "--acp"]`, []string{"gemini"}, "\n[tools.critic]\ncommand = [\"true\"]\n",
			`[agent("coder", plan(EDIT, '{"text": "done"}')).text, fs.read("answer.txt")]`, `["done","ready"]`},
	} {
		t.Run(c.name, func(t *testing.T) {
			var folders []string
			for _, name := range c.programs {
				bin, _ := programs[name].install(t, cache)
				folders = append(folders, bin)
			}
			p := realProgram{name: c.programs[0], edit: geminiEdit}
			w := newRealWorld(t, p, cache, strings.Join(folders, ":"), starling, models)
			for name, text := range login {
				w.write(filepath.Join("..", "home", name), text)
			}
			w.write("starling.toml", fragment(t, string(page), c.holds)+c.more)
			w.script(c.expression)
			out, _ := w.starling("run", "go.star", "--json") // said tells
			why := w.said(out, c.want)
			if why != "" {
				t.Errorf("%s (%s)", why, w.dir)
			}
			w.close(why)
		})
	}
}

// fragment is the first block of TOML that holds a text.
func fragment(t *testing.T, document, holds string) string {
	t.Helper()
	for _, m := range regexp.MustCompile("(?s)```toml\n(.*?)```").FindAllStringSubmatch(document, -1) {
		if strings.Contains(m[1], holds) {
			return m[1]
		}
	}
	t.Fatalf("no block of TOML holds %s", holds)
	return ""
}

// realTools are the folder in which programs are installed, and this program as it is.
func realTools(t *testing.T) (cache, starling string) {
	t.Helper()
	user, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := exec.LookPath("bwrap"); err != nil {
		t.Fatalf("%v; codex runs its commands in it: install bubblewrap", err)
	}
	starling = filepath.Join(t.TempDir(), "starling")
	if out, err := exec.Command("go", "build", "-o", starling, "../../cmd/starling").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return filepath.Join(user, "starling", "real"), starling
}
