package sandbox

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// What a PATH leads to is read without the keys that lie beside it, and nothing else of a home
// folder.
func TestFindTools(t *testing.T) {
	home := realOf(t.TempDir())
	for _, file := range []string{
		".pyenv/shims/python", ".pyenv/version", ".cargo/bin/cargo", ".cargo/credentials.toml",
		".rustup/settings.toml", ".local/bin/tool", ".local/share/keyrings/login", ".ssh/id",
		"sdk/go/bin/go", "sdk/go/pkg/tool/compile", "work/bin/mine", "work/secret",
		"app/node_modules/pkg/cli.js", ".npm/_cacache/x", "go/pkg/mod/x",
	} {
		path := filepath.Join(home, file)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	at := func(name string) string { return filepath.Join(home, name) }
	if err := os.Symlink(at("app/node_modules/pkg/cli.js"), at(".local/bin/cli")); err != nil {
		t.Fatal(err)
	}
	found := FindTools([]string{at(".pyenv/shims"), at(".cargo/bin"), at(".local/bin"), at("sdk/go/bin"), at("work/bin"), at(".local/bin/cli"), home, "bin", ""}, home,
		func(string) string { return "" })
	want := []string{".cargo/bin", ".local/bin", ".local/bin/cli", ".pyenv", ".rustup", "app/node_modules", "app/node_modules/pkg/cli.js", "sdk/go", "work/bin"}
	for i, name := range want {
		want[i] = at(name)
	}
	slices.Sort(want)
	got := slices.DeleteFunc(slices.Clone(found.Read), func(p string) bool { return !within(p, home) || p == at("sdk/go/bin") })
	if !slices.Equal(got, want) {
		t.Errorf("got  %s\nwant %s", strings.Join(got, "\n     "), strings.Join(want, "\n     "))
	}
	if want := []string{"PYENV_ROOT=" + at(".pyenv"), "RUSTUP_HOME=" + at(".rustup")}; !slices.Equal(found.Env, want) {
		t.Errorf("got %q, want %q", found.Env, want)
	}
	wanted := []Cache{{"GOMODCACHE", at("go/pkg/mod")}, {"CARGO_HOME", at(".cargo")}, {"npm_config_cache", at(".npm")}}
	if !slices.Equal(found.Caches, wanted) {
		t.Errorf("got %v, want %v", found.Caches, wanted)
	}
}
