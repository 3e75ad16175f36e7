package jail_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"starling/stdlib/jail"
)

// What decides what runs may do is refused under every name that leads to it, whether it is there
// or not, and what is beside it is not.
func TestRights(t *testing.T) {
	rights := jail.NewRights([]string{"judge.py", "tools/run.sh", "absent.py", "data"},
		[]string{"lib/**"})
	for path, want := range map[string]error{
		"starling.toml": jail.ErrRights, "Starling.TOML": jail.ErrRights,
		"src/starling.toml": jail.ErrRights,
		"./starling.toml":   jail.ErrRights, "src/../starling.toml": jail.ErrRights,
		"starling\u200c.toml": jail.ErrRights, "\u017ftarling.toml": jail.ErrRights,
		"starling.toml/x": jail.ErrRights, "starling.toml.bak": nil, "starling": nil,
		".git": jail.ErrRepository, ".GIT/config": jail.ErrRepository,
		"src/.g\u200dit/hooks/x": jail.ErrRepository,
		".gitignore":             nil, ".gitattributes": nil, ".gitmodules": nil,
		".starling": jail.ErrStore, "src/.Starling/badger": jail.ErrStore,
		".starling-trees/x": jail.ErrStore,
		".claude":           jail.ErrRights, ".claude/settings.json": jail.ErrRights,
		".claude/hooks/x":   jail.ErrRights,
		".claude/knowledge": nil, ".claude/knowledge/map.md": nil,
		".claude/knowledge/../settings.json": jail.ErrRights,
		".claude/knowledge/starling.toml":    jail.ErrRights,
		".mcp.json":                          jail.ErrRights, ".codex/config.toml": jail.ErrRights,
		".gemini/settings.json": jail.ErrRights,
		"judge.py":              jail.ErrRights, "JUDGE.py": jail.ErrRights, "absent.py": jail.ErrRights,
		"judge.pyc":    nil,
		"src/judge.py": nil, "tools/run.sh": jail.ErrRights, "tools/other.sh": nil, "data/x": nil,
		"lib/a/b.py": jail.ErrRights, "LIB/a": jail.ErrRights, "libs/a": nil,
	} {
		if err := rights.Check(path); !errors.Is(err, want) || want == nil && err != nil {
			t.Errorf("%q: got %v, want %v", path, err, want)
		}
	}
}

// Links, hard links, folders that are replaced, and folders that hold it lead to it, too.
func TestRightsByEveryWay(t *testing.T) {
	top := t.TempDir()
	for path, content := range map[string]string{
		"starling.toml": "own", "judge.py": "own", "tools/run.sh": "own", "src/sub/starling.toml": "own",
		"src/code.go": "code", "nested/.git/config": "own", ".claude/knowledge/map.md": "map",
	} {
		path = filepath.Join(top, path)
		err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(content),
			0o644))
		if err != nil {
			t.Fatal(err)
		}
	}
	err := errors.Join(os.Symlink("starling.toml", filepath.Join(top, "soft")),
		os.Symlink("nowhere/../starling.toml", filepath.Join(top, "dead")), os.Symlink("tools",
			filepath.Join(top, "alias")),
		os.Symlink("../.mcp.json", filepath.Join(top, "src", "servers")),
		os.Link(filepath.Join(top, "judge.py"), filepath.Join(top, "hard")))
	if err != nil {
		t.Fatal(err)
	}
	tree, err := jail.Open(top, "", jail.NewRights([]string{"judge.py", "tools/run.sh"}, nil))
	if err != nil {
		t.Fatal(err)
	}
	defer tree.Close()
	before := snapshot(t, top)
	for _, path := range []string{"starling.toml", "soft", "hard", "alias/run.sh", "src/servers",
		"src/sub/starling.toml", "new/starling.toml"} {
		if err := tree.Write(path, []byte("!"), "k"); !errors.Is(err, jail.ErrRights) {
			t.Errorf("write %s: got %v", path, err)
		}
		if err := tree.Reach(path, true); !errors.Is(err, jail.ErrRights) {
			t.Errorf("reach %s: got %v", path, err)
		}
	}
	for path, want := range map[string]error{
		"starling.toml": jail.ErrRights, "hard": jail.ErrRights, "alias/run.sh": jail.ErrRights,
		"tools": jail.ErrRights, "src": jail.ErrRights,
		"nested": jail.ErrRepository, ".claude": jail.ErrRights,
	} {
		if err := tree.Remove(path, true); !errors.Is(err, want) {
			t.Errorf("remove %s: got %v, want %v", path, err, want)
		}
	}
	if after := snapshot(t, top); after != before {
		t.Errorf("before\n%s\nafter\n%s", before, after)
	}
	said := "it decides what runs may do and what is run for them, so no script changes it; edit it by hand"
	if err := tree.Remove("src", true); err == nil ||
		err.Error() != "src: it holds sub/starling.toml: "+said {
		t.Errorf("got %v", err)
	}
	for _, path := range []string{"src/code.go", ".claude/knowledge/new/map.md", "soft2"} {
		if err := tree.Write(path, []byte("!"), "k"); err != nil {
			t.Error(err)
		}
	}
}

// Files names what a sandbox is to keep: folders that a command was given to work in are not.
func TestRightsFiles(t *testing.T) {
	top := t.TempDir()
	err := errors.Join(os.MkdirAll(filepath.Join(top, "data"), 0o755), os.MkdirAll(filepath.Join(top,
		".claude", "knowledge"), 0o755),
		os.MkdirAll(filepath.Join(top, "lib"), 0o755), os.WriteFile(filepath.Join(top, "lib", "a.py"),
			nil, 0o644))
	if err != nil {
		t.Fatal(err)
	}
	list := jail.NewRights([]string{"judge.py", "data"}, []string{"lib/*"}).Files(top)
	got := strings.ReplaceAll(strings.Join(list, " "), top+"/", "")
	const want = "starling.toml .claude/settings.json .claude/settings.local.json .codex .gemini .mcp.json judge.py lib/a.py"
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
