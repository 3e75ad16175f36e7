package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestWatchAtATerminal saves a file as an editor does, and presses enter: each round begins on an
// empty screen, and ctrl-c leaves.
func TestWatchAtATerminal(t *testing.T) {
	for _, name := range []string{"CI", "NO_COLOR"} { // of whoever runs the tests
		t.Setenv(name, "")
	}
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name+".new"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(filepath.Join(dir, name+".new"), filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	write("starling.toml", "")
	write("a_test.star", "def test_a():\n    assert.eq(1, 2)\n")
	write("b_test.star", "def test_b():\n    pass\n")
	s := openScreen(t, dir, "test", "--watch")
	s.expect(`(got 1, want 2)`)
	s.expect(`(watching 2 files of tests; wrong: a_test.star; enter plays all, ctrl-c leaves)`)

	write("a_test.star", "def test_a():\n    assert.eq(1, 1)\n")
	s.expect(`(changed: a_test.star)`)
	s.expect(`(watching 2 files of tests; enter)`)
	if now := strings.Join(s.rows(), "\n"); strings.Contains(now, "got 1") || strings.Contains(now, "b_test.star") || !strings.Contains(now, "ok    a_test.star") {
		t.Errorf("got the screen\n%s\nwant only what was played again", now)
	}

	if _, err := s.tty.WriteString("\r"); err != nil {
		t.Fatal(err)
	}
	s.expect(`(ok    a_test.star)`)
	s.expect(`(ok    b_test.star)`)
	s.expect(`(watching 2 files of tests; enter)`)
	if _, err := s.tty.WriteString("\x03"); err != nil {
		t.Fatal(err)
	}
	if code := s.end(); code != 130 {
		t.Errorf("got exit code %d, want 130", code)
	}
}
