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
// registry, and Neovim and Emacs without a screen, from the packages of a Debian (12, x86).
//
//	go test ./cmd/starling/lsp -run Real -real -timeout 20m
//
// They are installed into the user's cache folder; nothing is installed into the system.
var real = flag.Bool("real", false, "play editors of others themselves; needs Node, the npm registry, and apt-get")

const protocolClient = "vscode-languageserver-protocol@3.18.5"

// tokenizer is the one of VS Code, for the grammar of our extension.
var tokenizer = []string{"vscode-textmate@9.2.0", "vscode-oniguruma@2.0.1"}

// neovim are Neovim's package and all it needs beside what any Debian has.
const neovim = "neovim neovim-runtime libluajit-5.1-2 libluajit-5.1-common libmsgpackc2 libtermkey1 libtree-sitter0 libunibilium4 libuv1 libvterm0 lua-luv"

// emacs are Emacs's packages, that of eglot, and all they need beside what any Debian has.
const emacs = "emacs-nox emacs-bin-common emacs-common emacs-el elpa-eglot libasound2 libdbus-1-3 libgccjit0 libgpm2 libjansson4 liblcms2-2 libxml2 libicu72"

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
	emacsSaw = `mode: starling-mode
attached: true
diagnostic: starling [unknown_attribute]: Decision has no .chioce
mended: true
completion: true
hover: true
definition: words.star
renamed: true
laid out: x = 1
left: true
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
		root := unpacked(t, dir, "usr/bin/nvim", neovim)
		out := filepath.Join(t.TempDir(), "out")
		shell(t, dir, []string{"STARLING=" + starling, "OUT=" + out, "HOME=" + t.TempDir(), "LD_LIBRARY_PATH=" + filepath.Join(root, "usr/lib/x86_64-linux-gnu"),
			"VIMRUNTIME=" + filepath.Join(root, "usr/share/nvim/runtime")}, filepath.Join(root, "usr/bin/nvim"), "--headless", "-u", "NONE", "-c", "luafile "+filepath.Join(scripts, "session.lua"))
		got, err := os.ReadFile(out)
		if err != nil || string(got) != neovimSaw {
			t.Errorf("got %s (%v)\nwant %s", got, err, neovimSaw)
		}
	})
}

// The configuration of Emacs is the one that the page says to write.
func TestRealEmacs(t *testing.T) {
	if !*real {
		return // see above
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	scripts, err := filepath.Abs("../../../testdata/editors")
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("../../../docs/editors.md")
	if err != nil {
		t.Fatal(err)
	}
	_, config, _ := strings.Cut(string(page), "```elisp\n")
	config, _, ok := strings.Cut(config, "```")
	if !ok {
		t.Fatal("the page has no configuration of Emacs")
	}
	starling := filepath.Join(t.TempDir(), "starling")
	shell(t, ".", nil, "go", "build", "-o", starling, "..")
	dir := written(t, filepath.Join(cache, "starling", "editors", "emacs"))
	root := unpacked(t, dir, "usr/bin/emacs-nox", emacs)
	init, out := filepath.Join(t.TempDir(), "init.el"), filepath.Join(t.TempDir(), "out")
	if err := os.WriteFile(init, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	share, exec := filepath.Join(root, "usr/share/emacs/28.2"), filepath.Join(root, "usr/libexec/emacs/28.2/x86_64-linux-gnu")
	shell(t, dir, []string{"STARLING=" + starling, "OUT=" + out, "HOME=" + t.TempDir(), "LD_LIBRARY_PATH=" + filepath.Join(root, "usr/lib/x86_64-linux-gnu"),
		"EMACSLOADPATH=" + share + "/lisp", "EMACSDATA=" + share + "/etc", "EMACSDOC=" + share + "/etc", "EMACSPATH=" + exec},
		filepath.Join(root, "usr/bin/emacs-nox"), "--dump-file="+exec+"/emacs.pdmp", "--batch", "-Q", "-L", filepath.Join(root, "usr/share/emacs/site-lisp/elpa-src/eglot-1.9"),
		"-l", init, "-l", filepath.Join(scripts, "session.el"))
	got, err := os.ReadFile(out)
	if err != nil || string(got) != emacsSaw {
		t.Errorf("got %s (%v)\nwant %s", got, err, emacsSaw)
	}
}

// unpacked is a folder of the files of some Debian packages, among them a certain one.
func unpacked(t *testing.T, dir, file, packages string) string {
	t.Helper()
	root := filepath.Join(dir, "root")
	if _, err := os.Stat(filepath.Join(root, file)); err == nil {
		return root
	}
	shell(t, dir, nil, "apt-get", append([]string{"download"}, strings.Fields(packages)...)...)
	found, _ := filepath.Glob(filepath.Join(dir, "*.deb"))
	for _, p := range found {
		shell(t, dir, nil, "dpkg", "-x", p, root)
	}
	return root
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
