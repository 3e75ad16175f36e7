package lsp_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net/textproto"
	"strconv"
	"strings"
	"testing"

	"starling/cmd/starling/lsp"
	"starling/lang/check"
	"starling/lang/effect"
	"starling/lang/vm"
	"starling/stdlib"
)

// FuzzEdits plays edits of a script, whatever they make of it, with every request in between. A
// panic of the server is an error of kind internal, and none may be seen. What the server thinks
// the text is, is held against an editor's own reckoning by asking for its layout.
func FuzzEdits(f *testing.F) {
	env := stdlib.Environment(stdlib.Options{Natives: vm.Natives()})
	f.Add(review, []byte{0, 3, 9, 40, 7, 1, 120, 2, 60, 5, 0, 11})
	f.Add(words, []byte{3, 3, 3, 3, 20, 4, 4, 4})
	f.Add("x = \"😀\" + (\r\n# é\rdef f(a, *b):\n\treturn a.b[\"", []byte{1, 4, 8, 2, 6, 3, 9})
	f.Fuzz(func(t *testing.T, source string, moves []byte) {
		playEdits(t, env, "a.star", source, moves)
		playEdits(t, env, "starling.toml", source, moves)
	})
}

// sessions is how many sessions TestEditsByChance plays:
//
//	nice go test ./cmd/starling/lsp -run TestEditsByChance -sessions 5000 -timeout 0
var sessions = flag.Uint64("sessions", 60, "how many sessions of edits by chance to play")

// The same with moves by chance, which needs no fuzzer.
func TestEditsByChance(t *testing.T) {
	env := stdlib.Environment(stdlib.Options{Natives: vm.Natives()})
	for seed := range *sessions {
		chance := rand.New(rand.NewPCG(seed, 0))
		moves := make([]byte, 39)
		for i := range moves {
			moves[i] = byte(chance.Uint32())
		}
		playEdits(t, env, []string{"a.star", "a.star", "starling.toml"}[seed%3], []string{review, words, described}[seed%3], moves)
	}
}

// playEdits plays one session.
func playEdits(t *testing.T, env *effect.Environment, name, source string, moves []byte) {
	if len(source) > 4_000 || len(moves) > 40 {
		return
	}
	var in, out bytes.Buffer
	send := func(id int, method string, params any) {
		m := map[string]any{"jsonrpc": "2.0", "method": method, "params": params}
		if id > 0 {
			m["id"] = id
		}
		body, _ := json.Marshal(m)
		fmt.Fprintf(&in, "Content-Length: %d\r\n\r\n%s", len(body), body)
	}
	doc := map[string]any{"uri": "file:///fuzz/" + name, "version": 1, "text": source}
	send(1, "initialize", map[string]any{})
	send(0, "textDocument/didOpen", map[string]any{"textDocument": doc})
	pieces := []string{"", "(", ")", "\"", "'''", "\n", "    ", ".", "def f(x):\n", "é", "😀", "#", "load(\"", "x", " = ", "\r", ",", "[", "]", "{"}
	for i := 0; i+2 < len(moves); i += 3 {
		line, col := int(moves[i])%40, int(moves[i+1])%60
		at := map[string]any{"line": line, "character": col}
		end := map[string]any{"line": line, "character": col + int(moves[i+2])%7}
		send(0, "textDocument/didChange", map[string]any{"textDocument": doc, "contentChanges": []any{
			map[string]any{"range": map[string]any{"start": at, "end": end}, "text": pieces[int(moves[i+2])%len(pieces)]}}})
		for n, method := range []string{"completion", "hover", "signatureHelp", "definition", "references", "rename", "documentSymbol", "foldingRange",
			"formatting", "codeAction", "inlayHint", "codeLens", "semanticTokens/full"} {
			send(100*i+n+2, "textDocument/"+method, map[string]any{"textDocument": doc, "position": at, "newName": "other", "range": map[string]any{"start": at, "end": end}})
		}
	}
	err := lsp.Serve(lsp.Host{Library: stdlib.Library, Modules: stdlib.LibraryNames(),
		Environment: func(string) *effect.Environment { return env },
		Root:        func(string) (string, bool) { return "/fuzz", true },
		Project:     func(string) (check.Project, error) { return check.Project{}, nil }}, &in, &out)
	if err != nil {
		t.Fatal(err)
	}
	r := bufio.NewReader(&out)
	for {
		header, err := textproto.NewReader(r).ReadMIMEHeader()
		if err == io.EOF {
			return
		}
		n, _ := strconv.Atoi(header.Get("Content-Length"))
		body := make([]byte, n)
		io.ReadFull(r, body)
		if strings.Contains(string(body), "panic:") {
			t.Fatalf("%s", body)
		}
	}
}
