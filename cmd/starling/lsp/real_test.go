package lsp_test

import (
	"bytes"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Editors are played by a client of our own in the other tests. With this flag clients that nobody
// here wrote are played: the reference implementation of the protocol's client, from the npm
// registry, and Neovim without a screen, from the packages of a Debian (12, x86).
//
//	go test ./cmd/starling/lsp -run RealEditor -real -timeout 20m
//
// They are installed into the user's cache folder; nothing is installed into the system.
var real = flag.Bool("real", false, "play editors of others themselves; needs Node, the npm registry, and apt-get")

const protocolClient = "vscode-languageserver-protocol@3.18.5"

// tokenizer is the one of VS Code, for the grammar of our extension.
var tokenizer = []string{"vscode-textmate@9.2.0", "vscode-oniguruma@2.0.1"}

// neovim are Neovim's package and all it needs beside what any Debian has.
const neovim = "neovim neovim-runtime libluajit-5.1-2 libluajit-5.1-common libmsgpackc2 libtermkey1 libtree-sitter0 libunibilium4 libuv1 libvterm0 lua-luv"

const (
	protocolSaw = `{"what":"server","value":"starling"}
{"what":"clean","value":0}
{"what":"mistake","value":[["unknown_attribute",{"line":18,"character":9}]]}
{"what":"action","value":["Write choice"]}
{"what":"mended","value":0}
{"what":"completion","value":true}
{"what":"hover","value":"gate"}
{"what":"signature","value":"shout(text)"}
{"what":"definition","value":true}
{"what":"references","value":3}
{"what":"rename","value":2}
{"what":"symbols","value":["Verdict","ask","main"]}
{"what":"folds","value":true}
{"what":"tokens","value":0}
{"what":"hints","value":[": contract",": Result",": Result",": Decision"]}
{"what":"lenses","value":["starling.run"]}
{"what":"laid out","value":["    r = ask(target, depth = 2)\n"]}
{"what":"exit","value":0}
`
	neovimSaw = `attached: true
diagnostic: unknown_attribute
mended: true
completion: true
hover: true
laid out: x = 1
`
)

func TestRealEditor(t *testing.T) {
	if !*real {
		return // see above
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	cache = filepath.Join(cache, "starling", "editors")
	starling := filepath.Join(t.TempDir(), "starling")
	shell(t, ".", nil, "go", "build", "-o", starling, "..")
	scripts, err := filepath.Abs("../../../testdata/editors")
	if err != nil {
		t.Fatal(err)
	}
	t.Run("vscode-languageserver-protocol", func(t *testing.T) {
		dir := written(t, filepath.Join(cache, "npm"))
		shell(t, dir, nil, "npm", "install", "--no-audit", "--no-fund", protocolClient)
		if got := shell(t, dir, nil, "node", filepath.Join(scripts, "session.mjs"), starling, dir); got != protocolSaw {
			t.Errorf("got %s\nwant %s", got, protocolSaw)
		}
	})
	t.Run("grammar", func(t *testing.T) {
		dir := written(t, filepath.Join(cache, "grammar"))
		shell(t, dir, nil, "npm", append([]string{"install", "--no-audit", "--no-fund"}, tokenizer...)...)
		grammar, err := filepath.Abs("../../../docs/editors/vscode/syntaxes/starling.tmLanguage.json")
		if err != nil {
			t.Fatal(err)
		}
		got := strings.Split(shell(t, dir, nil, "node", filepath.Join(scripts, "grammar.mjs"), grammar, filepath.Join(dir, "review.star"), dir), "\n")
		wantAll(t, "tokens", got, "ask entity.name.function.starling", "return keyword.control.starling", "gate support.function.effect.starling",
			"notes string.quoted.contract.starling entity.name.tag.starling", "string string.quoted.contract.starling support.type.starling",
			`"pass" string.quoted.contract.starling string.quoted.double.starling`, "depth variable.parameter.starling", "2 constant.numeric.starling")
	})
	t.Run("neovim", func(t *testing.T) {
		dir := written(t, filepath.Join(cache, "neovim"))
		root := filepath.Join(dir, "root")
		if _, err := os.Stat(filepath.Join(root, "usr/bin/nvim")); err != nil {
			shell(t, dir, nil, "apt-get", append([]string{"download"}, strings.Fields(neovim)...)...)
			packages, _ := filepath.Glob(filepath.Join(dir, "*.deb"))
			for _, p := range packages {
				shell(t, dir, nil, "dpkg", "-x", p, root)
			}
		}
		out := filepath.Join(t.TempDir(), "out")
		shell(t, dir, []string{"STARLING=" + starling, "OUT=" + out, "HOME=" + t.TempDir(), "LD_LIBRARY_PATH=" + filepath.Join(root, "usr/lib/x86_64-linux-gnu"),
			"VIMRUNTIME=" + filepath.Join(root, "usr/share/nvim/runtime")}, filepath.Join(root, "usr/bin/nvim"), "--headless", "-u", "NONE", "-c", "luafile "+filepath.Join(scripts, "session.lua"))
		got, err := os.ReadFile(out)
		if err != nil || string(got) != neovimSaw {
			t.Errorf("got %s (%v)\nwant %s", got, err, neovimSaw)
		}
	})
}

// written makes a folder that has the scripts of the tests.
func written(t *testing.T, dir string) string {
	t.Helper()
	for name, text := range map[string]string{"review.star": review, "more/words.star": words} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// shell runs a program and gives what it prints.
func shell(t *testing.T, dir string, env []string, name string, args ...string) string {
	t.Helper()
	cmd := exec.Command(name, args...)
	var said bytes.Buffer
	cmd.Dir, cmd.Env, cmd.Stderr = dir, append(os.Environ(), env...), &said
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s%s", name, strings.Join(args, " "), err, out, said.String())
	}
	return string(out)
}
