package main

import (
	"os"
	"path/filepath"
	"testing"
)

// The folder of a project may have any name.
func TestQuestionsInAnyFolder(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "[a]*")
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"open.json": `{"question": "Which?"}`, "answered.json": `{"question": "Which?", "answer": "a"}`, "none.txt": `{"question": "Which?"}`} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if n := questions(folder); n != 1 {
		t.Errorf("got %d, want 1", n)
	}
}

func TestLinesThatAreLeftOut(t *testing.T) {
	for _, test := range []struct {
		text string
		most int
		want string
	}{
		{"one\ntwo\n", 8, "one\ntwo\n"},
		{"one\ntwo\n", 7, "one\n… 1 more lines in F\n"},
		{"one\ntwo\nthree", 5, "one\n… 2 more lines in F\n"},
		{"a line without an end", 5, "… 1 more lines in F\n"},
		{"one\n", -1, "… 1 more lines in F\n"},
	} {
		if got := cutLines(test.text, test.most, "F"); got != test.want {
			t.Errorf("%q, %d: got %q, want %q", test.text, test.most, got, test.want)
		}
	}
}
