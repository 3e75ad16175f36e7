package sandbox

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Tools are what programs need that a user has installed for himself: versions managers and
// toolchains in the home folder.
type Tools struct {
	Read   []string // to be read
	Env    []string // variables, "NAME=value", by which the tools are found though HOME is another
	Caches []Cache  // what they have fetched and built before
}

// manager is a tool that keeps what it manages in a folder of the home folder.
type manager struct {
	folder   string
	variable string // that names the folder
}

func managers() []manager {
	return []manager{
		{".pyenv", "PYENV_ROOT"}, {".nvm", "NVM_DIR"}, {".asdf", "ASDF_DATA_DIR"}, {".rustup", "RUSTUP_HOME"}, {".volta", "VOLTA_HOME"},
		{".rbenv", "RBENV_ROOT"}, {".nodenv", "NODENV_ROOT"}, {".goenv", "GOENV_ROOT"}, {".sdkman", "SDKMAN_DIR"}, {".bun", "BUN_INSTALL"},
		{".deno", "DENO_INSTALL"}, {".cargo", ""}, {".ghcup", ""}, {".juliaup", ""}, {".elan", "ELAN_HOME"}, {".local/share/mise", "MISE_DATA_DIR"}, {".local/share/uv", ""},
		{".local/share/fnm", "FNM_DIR"}, {".local/share/pnpm", "PNPM_HOME"}, {".local/share/pipx", "PIPX_HOME"}, {".local/pipx", ""},
		{".local/share/rtx", ""}, {".pixi", ""}, {"miniconda3", ""}, {"anaconda3", ""}, {"miniforge3", ""},
	}
}

// caches are where tools keep what they have fetched, below the home folder, unless a variable says
// otherwise.
func caches() []Cache {
	return []Cache{
		{"GOCACHE", ".cache/go-build"}, {"GOMODCACHE", "go/pkg/mod"}, {"CARGO_HOME", ".cargo"}, {"npm_config_cache", ".npm"},
		{"PIP_CACHE_DIR", ".cache/pip"}, {"UV_CACHE_DIR", ".cache/uv"}, {"YARN_CACHE_FOLDER", ".cache/yarn"}, {"CCACHE_DIR", ".cache/ccache"}, {"GRADLE_USER_HOME", ".gradle"},
		{"DENO_DIR", ".cache/deno"},
	}
}

// secretNames are files in these folders that hold keys.
func secretNames() []string {
	return []string{"credentials", "credentials.toml", "config.toml", "gradle.properties", "init.gradle", ".npmrc", "_logs", "auth.json", "token", ".netrc"}
}

// FindTools looks for the tools that a list of folders (PATH) and programs lead to. The list is
// that of the program; home is the home folder of the user, and get reads the user's variables.
// Where a program lies beside the libraries that it needs, as PREFIX/bin/NAME does, the prefix is
// among what is read.
func FindTools(places []string, home string, get func(name string) string) Tools {
	var t Tools
	if home = realOf(home); home == "" || home == "/" {
		home = "\x00" // below which nothing lies
	}
	for _, place := range places {
		for _, path := range []string{filepath.Clean(place), realOf(place)} {
			if filepath.IsAbs(path) {
				t.follow(path, home)
			}
		}
	}
	for _, m := range managers() {
		folder := filepath.Join(home, m.folder)
		if m.folder == ".rustup" && slices.ContainsFunc(t.Read, func(p string) bool { return within(p, filepath.Join(home, ".cargo")) }) {
			t.Read = append(t.Read, folder) // whose programs are links to one that looks there
		}
		if m.variable != "" && slices.ContainsFunc(t.Read, func(p string) bool { return within(p, folder) }) {
			t.Env = append(t.Env, m.variable+"="+folder)
		}
	}
	for _, c := range caches() {
		folder := get(c.Variable)
		if !filepath.IsAbs(folder) {
			folder = filepath.Join(home, c.Folder)
		}
		if info, err := os.Stat(folder); err == nil && info.IsDir() {
			t.Caches = append(t.Caches, Cache{c.Variable, folder})
		}
	}
	slices.Sort(t.Read)
	t.Read = slices.Compact(t.Read)
	return t
}

// follow adds what a folder of programs, or a program, needs beside itself.
func (t *Tools) follow(path, home string) {
	if within(home, path) {
		return // all of the home folder
	}
	for _, m := range managers() {
		if folder := filepath.Join(home, m.folder); within(path, folder) {
			t.Read = append(t.Read, withoutSecrets(folder)...)
			return
		}
	}
	t.Read = append(t.Read, path)
	if at, _, ok := strings.Cut(path, "/node_modules/"); ok {
		t.Read = append(t.Read, at+"/node_modules") // packages lie beside those that they need
		return
	}
	dir := path
	if info, err := os.Stat(path); err == nil && !info.IsDir() {
		dir = filepath.Dir(path)
	}
	prefix := filepath.Dir(dir)
	if filepath.Base(dir) != "bin" || within(home, prefix) || prefix == filepath.Join(home, ".local") {
		return
	}
	for _, beside := range []string{"lib", "lib64", "libexec", "pkg/tool"} {
		if info, err := os.Stat(filepath.Join(prefix, beside)); err == nil && info.IsDir() {
			t.Read = append(t.Read, prefix)
			return
		}
	}
}

// withoutSecrets is a folder, or what is in it where it holds keys.
func withoutSecrets(folder string) []string {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil
	}
	var all []string
	for _, e := range entries {
		if !slices.Contains(secretNames(), e.Name()) {
			all = append(all, filepath.Join(folder, e.Name()))
		}
	}
	if len(all) == len(entries) {
		return []string{folder}
	}
	return all
}

// realOf is a path without symbolic links, "" where there is nothing.
func realOf(path string) string {
	real, err := filepath.EvalSymlinks(path)
	if err != nil || strings.TrimSpace(path) == "" {
		return ""
	}
	return real
}

// within tells whether a clean path is a folder or below it.
func within(path, folder string) bool {
	return path == folder || strings.HasPrefix(path, strings.TrimSuffix(folder, "/")+"/")
}
