package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestPayload(t *testing.T) {
	file := filepath.Join(t.TempDir(), "data.json")
	if err := os.WriteFile(file, []byte("[1]"), 0o600); err != nil {
		t.Fatal(err)
	}
	c := &call{stdin: strings.NewReader(`{"a":1}`)}
	for _, test := range []struct{ flag, want string }{{"", ""}, {"[2]", "[2]"}, {"@" + file, "[1]"}, {"-", `{"a":1}`}} {
		if got, err := c.payload(test.flag); err != nil || string(got) != test.want {
			t.Errorf("%q: got %s, %v; want %s", test.flag, got, err, test.want)
		}
	}
	if _, err := c.payload("@" + file + ".missing"); err == nil || !strings.Contains(err.Error(), "no such file") {
		t.Errorf("a missing file: got %v", err)
	}
}
