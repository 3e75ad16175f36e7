package agent_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"starling/lang/effect"
)

// A picture of one pixel, and a document without a page, as their programs know them.
const (
	picture  = "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR"
	document = "%PDF-1.7\n%%EOF\n"

	picture64  = "iVBORw0KGgoAAAANSUhEUg=="
	document64 = "JVBERi0xLjcKJSVFT0YK"
)

const askWithFiles = `agent("a", "Look.", files = ["a b.png", "spec.pdf", "notes.md"])`

// withFiles puts files of each kind into a workspace.
func withFiles(s *stage) *stage {
	s.write("a b.png", picture)
	s.write("spec.pdf", document)
	s.write("notes.md", "# Notes\n")
	return s
}

// named are the words of a prompt about the files. dir is "" for an agent that is not on this
// machine.
func named(dir string) string {
	var lines []string
	for _, f := range []string{"a b.png (image/png)", "spec.pdf (application/pdf)", "notes.md (text/plain)"} {
		line := "- " + f
		if dir != "" {
			line += ": " + filepath.Join(dir, f[:strings.LastIndex(f, " (")])
		}
		lines = append(lines, line)
	}
	return "Look.\n\nThese files belong to it:\n" + strings.Join(lines, "\n")
}

// A program that is given its request as it is, and a scripted agent, find the files in it.
func TestFilesInTheRequest(t *testing.T) {
	command := withFiles(newStage(t, shell("a", `printf '{"text": "got it"}'; cat >request`), ""))
	if r := command.ask(t.Context(), askWithFiles); r.Err != nil {
		t.Fatal(r.Err)
	}
	var request struct {
		Files []struct {
			Name, Type, Path, SHA256 string
			Bytes                    int
		}
	}
	if err := json.Unmarshal([]byte(command.read("request")), &request); err != nil {
		t.Fatal(err)
	}
	if len(request.Files) != 3 {
		t.Fatalf("got %+v, want three files", request.Files)
	}
	f := request.Files[0]
	if text, err := os.ReadFile(f.Path); err != nil || string(text) != picture {
		t.Errorf("the path of the file has %q, %v", text, err)
	}
	if f.Name != "a b.png" || f.Type != "image/png" || f.Bytes != len(picture) || len(f.SHA256) != 64 {
		t.Errorf("got %+v", f)
	}
	if got := strings.Join(command.events, "\n"); !strings.Contains(got, f.SHA256) || strings.Contains(got, command.settings.Workspace) {
		t.Errorf("the journal does not say what was given, or says where it lies:\n%s", got)
	}
	scripted := withFiles(newStage(t, "", `def a(req): return [f["type"] for f in req.files]`))
	for _, call := range []string{askWithFiles, `handoff("a", 1, files = ["a b.png", "spec.pdf", "notes.md"])`} {
		if got := scripted.ask(t.Context(), call); show(got) != `ok output=["image/png", "application/pdf", "text/plain"]` {
			t.Errorf("%s: %s", call, show(got))
		}
	}
}

// What goes with the next task of a conversation is shown in it, too.
func TestFilesOfTheNextTask(t *testing.T) {
	for preset, args := range map[string]string{
		"claude": "-p --output-format stream-json --verbose --permission-mode default --resume s-1 --input-format stream-json",
		"codex":  "exec --json --skip-git-repo-check --sandbox read-only --image=DIR/a b.png resume s-1 -",
		"gemini": "--output-format stream-json --approval-mode default --resume s-1",
	} {
		s := withFiles(stub(t, preset, "", ""))
		r, fault := s.request(askWithFiles)
		if fault != nil {
			t.Fatal(fault)
		}
		a := s.attempt(r)
		a.Session, a.GoesOn = "s-1", true
		s.env.Handlers[r.Kind].Perform(t.Context(), a)
		if got, want := strings.ReplaceAll(strings.TrimSpace(s.read("args")), "\n", " "), strings.ReplaceAll(args, "DIR", s.settings.Workspace); got != want {
			t.Errorf("%s\ngot  %s\nwant %s", preset, got, want)
		}
		if got := s.read("stdin"); !strings.Contains(got, "a b.png (image/png)") || preset == "claude" && !strings.Contains(got, picture64) {
			t.Errorf("%s is not shown the picture: %s", preset, got)
		}
	}
}

// Programs that can see are shown what they can see, in their own ways; all of them are told where
// the files are.
func TestFilesOfPresets(t *testing.T) {
	for _, c := range []struct{ preset, args, stdin string }{
		{"claude", "-p --output-format stream-json --verbose --permission-mode default --input-format stream-json",
			`{"type":"user","message":{"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"` + picture64 + `"}},` +
				`{"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"` + document64 + `"},"title":"spec.pdf"},{"type":"text","text":PROMPT}]}}` + "\n"},
		{"codex", "exec --json --skip-git-repo-check --sandbox read-only --image=DIR/a b.png -", "PROMPT"},
		{"gemini", "--output-format stream-json --approval-mode default", "PROMPT\n\n@DIR/a\\ b.png\n\n@DIR/spec.pdf"},
	} {
		s := withFiles(stub(t, c.preset, "", ""))
		dir := s.settings.Workspace
		s.ask(t.Context(), askWithFiles)
		if got := strings.ReplaceAll(strings.TrimSpace(s.read("args")), "\n", " "); got != strings.ReplaceAll(c.args, "DIR", dir) {
			t.Errorf("%s\ngot  %s\nwant %s", c.preset, got, c.args)
		}
		words := named(dir)
		if strings.HasPrefix(c.stdin, "{") {
			quoted, _ := json.Marshal(words) // a text
			words = string(quoted)
		}
		want := strings.ReplaceAll(strings.ReplaceAll(c.stdin, "DIR", dir), "PROMPT", words)
		if got := s.read("stdin"); got != want {
			t.Errorf("%s\ngot  %s\nwant %s", c.preset, got, want)
		}
	}
}

// An agent with ACP is given images where it takes them, and links otherwise; what it is told
// afterwards has none.
func TestFilesOfACP(t *testing.T) {
	for _, able := range []string{"images", "says="} {
		s := withFiles(acpStage(t, "", able, "log=prompts", "says=ok"))
		if r := s.ask(t.Context(), askWithFiles); show(r) != `ok text="ok"` {
			t.Fatal(show(r))
		}
		at := "file://" + s.settings.Workspace
		want := "image image/png " + picture64 + "\n"
		if able != "images" {
			want = "link a b.png image/png " + at + "/a%20b.png\n"
		}
		want += "link spec.pdf application/pdf " + at + "/spec.pdf\nlink notes.md text/plain " + at + "/notes.md\n"
		if got := s.read("prompts"); !strings.Contains(got, want) {
			t.Errorf("%s\ngot  %s\nwant %s", able, got, want)
		}
	}
}

// A model behind an API is given the content, and no path.
func TestFilesOfModels(t *testing.T) {
	for _, c := range []struct {
		speech dialectOfAPI
		want   string
	}{
		{anthropicSpeech(), `[{"source":{"data":"` + picture64 + `","media_type":"image/png","type":"base64"},"type":"image"},` +
			`{"source":{"data":"` + document64 + `","media_type":"application/pdf","type":"base64"},"title":"spec.pdf","type":"document"},` +
			`{"source":{"data":"# Notes\n","media_type":"text/plain","type":"text"},"title":"notes.md","type":"document"},{"text":PROMPT,"type":"text"}]`},
		{openaiSpeech(), `[{"image_url":{"url":"data:image/png;base64,` + picture64 + `"},"type":"image_url"},` +
			`{"file":{"file_data":"data:application/pdf;base64,` + document64 + `","filename":"spec.pdf"},"type":"file"},` +
			`{"text":"notes.md:\n# Notes\n","type":"text"},{"text":PROMPT,"type":"text"}]`},
	} {
		s := newAPI(t, c.speech.reply(c.speech.stops[0], "All is well."))
		st := withFiles(modelStage(t, c.speech, s.URL, ""))
		if r := st.ask(t.Context(), askWithFiles); r.Err != nil {
			t.Fatal(r.Err)
		}
		messages := s.requests[0].body["messages"].([]any)
		got, err := json.Marshal(messages[len(messages)-1].(map[string]any)["content"])
		if err != nil {
			t.Fatal(err)
		}
		words, _ := json.Marshal(named("")) // a text
		if want := strings.Replace(c.want, "PROMPT", string(words), 1); string(got) != want {
			t.Errorf("%s\ngot  %s\nwant %s", c.speech.backend, got, want)
		}
		st.write("x.zip", "PK\x03\x04")
		const refused = "final refused: a: x.zip is application/zip; a model takes images (PNG, JPEG, GIF, WebP), PDFs and texts in UTF-8"
		if r := st.ask(t.Context(), `agent("a", files = ["x.zip"])`); show(r) != refused || len(s.requests) != 1 {
			t.Errorf("got %s", show(r))
		}
	}
}

// What a step of the run has left is a file as long as the attempt lasts, under its own name.
func TestArtifactsAsFiles(t *testing.T) {
	hash := strings.Repeat("ab", 32)
	s := newStage(t, shell("a", `cat >request; sed 's/.*"path":"\([^"]*\)".*/\1/' request >where; cat "$(cat where)" >seen; echo done`), "")
	r, fault := s.request(`agent("a", files = ["` + hash + `"])`)
	if fault != nil {
		t.Fatal(fault)
	}
	a := s.attempt(r)
	a.Artifact = func(h string) (string, []byte, *effect.Error) {
		if h != hash {
			return "", nil, effect.Errorf(effect.KindRefused, "no")
		}
		return "shot.png", []byte(picture), nil
	}
	if got := s.env.Handlers["agent"].Perform(t.Context(), a); got.Err != nil {
		t.Fatal(got.Err)
	}
	if s.read("seen") != picture {
		t.Errorf("the agent has seen %q", s.read("seen"))
	}
	where := strings.TrimSpace(s.read("where"))
	if _, err := os.Stat(where); err == nil || !strings.HasSuffix(where, "-shot.png") {
		t.Errorf("%s is still there, or has another name: %v", where, err)
	}
}

// A file that cannot be given ends the attempt before anybody is asked, and says which it is.
func TestFilesThatAreNot(t *testing.T) {
	s := newStage(t, shell("a", "cat >/dev/null; touch asked; echo done"), "")
	s.write("big", strings.Repeat("x", 9<<20))
	if err := os.Symlink("/etc/passwd", filepath.Join(s.settings.Workspace, "out")); err != nil {
		t.Fatal(err)
	}
	s.write(".starling/owner.json", "{}")
	for _, c := range []struct{ files, want string }{
		{`["big", "none.png"]`, `final refused: a: files[1]: none.png: file does not exist`},
		{`["out"]`, `final refused: a: files[0]: out: it leads out of the workspace`},
		{`["big", "big"]`, `final refused: a: files[1]: big: it is too large`},
		{`["."]`, `final refused: a: files[0]: .: it is of another kind`},
		{`[".starling/owner.json"]`, `final refused: a: files[0]: .starling/owner.json: it leads into the store, which is not for scripts`},
	} {
		got := show(s.ask(t.Context(), `agent("a", files = `+c.files+`)`))
		if !strings.HasPrefix(got, c.want) {
			t.Errorf("%s\ngot  %s\nwant %s", c.files, got, c.want)
		}
	}
	if _, err := os.Stat(filepath.Join(s.settings.Workspace, "asked")); err == nil {
		t.Error("the agent was asked")
	}
	for _, c := range []struct{ files, want string }{
		{`["../x"]`, "agent: for parameter files: [0]: ../x: it leads out of the workspace"},
		{`[1]`, "agent: for parameter files: [0]: got int, want string"},
		{`["x"] * 17`, "agent: for parameter files: got 17, want at most 16"},
	} {
		names := interpreted(s.env, func(*effect.Request) {})
		_, err := starlark.EvalOptions(&syntax.FileOptions{}, new(starlark.Thread), "test.star", `agent("a", files = `+c.files+`)`, names)
		if err == nil || err.Error() != c.want {
			t.Errorf("%s: got %v, want %s", c.files, err, c.want)
		}
	}
}
