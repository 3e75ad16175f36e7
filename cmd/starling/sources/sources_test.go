package sources_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"starling/cmd/starling/sources"
)

func TestBelowUpTo(t *testing.T) {
	dir := t.TempDir()
	for i := range 30 {
		for _, name := range []string{fmt.Sprintf("a%02d.star", i), fmt.Sprintf("b/%02d.txt", i), fmt.Sprintf("c/%02d.star", i)} {
			path := filepath.Join(dir, name)
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, test := range []struct{ most, entries, want int }{{10, 1000, 10}, {1000, 1000, 60}, {1000, 21, 20}, {1000, 70, 37}} {
		found, err := sources.BelowUpTo(dir, test.most, test.entries)
		if err != nil || len(found) != test.want {
			t.Errorf("up to %d of %d entries: found %d (%v), want %d", test.most, test.entries, len(found), err, test.want)
		}
	}
	if all, err := sources.Below(dir); err != nil || len(all) != 60 {
		t.Errorf("found %d (%v), want 60", len(all), err)
	}
}
