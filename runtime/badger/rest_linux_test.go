package badger

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"starling/runtime"
)

// What is given back is read again as it was.
func TestRest(t *testing.T) {
	dir := t.TempDir()
	s, err := Open(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	noise := rand.NewChaCha8([32]byte{})
	for n := range uint64(40) {
		b := &runtime.Batch{Fences: []runtime.Fence{{Run: "r", Expect: n, Next: n + 1}}}
		for i := range 20 {
			value := make([]byte, 4<<10) // which is not compressed
			_, _ = noise.Read(value)
			b.Writes = append(b.Writes, runtime.Write{Key: fmt.Appendf(nil, "j/r%04d.%02d", n, i), Value: value})
		}
		if err := s.Commit(t.Context(), b); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if s, err = Open(dir, Options{}); err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	before := all(t, s)
	resident := residentTables(t, dir)
	Rest()
	left := residentTables(t, dir)
	most := resident / 2
	var fs unix.Statfs_t
	if err := unix.Statfs(dir, &fs); err != nil || fs.Type == unix.TMPFS_MAGIC {
		most = resident // it is memory that has nowhere else to go
	}
	if resident < 2<<20 || left > most {
		t.Errorf("%d bytes of tables were in memory, and %d are left", resident, left)
	}
	if after := all(t, s); after != before {
		t.Error("what is read again is something else")
	}
}

func all(t *testing.T, s *Store) string {
	var text strings.Builder
	err := s.Scan([]byte("j/"), []byte("j0"), func(key, value []byte) error {
		fmt.Fprintf(&text, "%s=%x\n", key, value)
		return context.Cause(t.Context())
	})
	if err != nil {
		t.Fatal(err)
	}
	return text.String()
}

// residentTables is how much of the tables of a store is mapped and in memory, bytes.
func residentTables(t *testing.T, dir string) (bytes int) {
	f, err := os.Open("/proc/self/smaps")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	table := false
	for lines := bufio.NewScanner(f); lines.Scan(); {
		line, kB := lines.Text(), 0
		if strings.Contains(line, "-") && !strings.Contains(line, ": ") {
			table = strings.Contains(line, dir) && strings.HasSuffix(line, ".sst")
		}
		if n, _ := fmt.Sscanf(line, "Rss: %d kB", &kB); n == 1 && table {
			bytes += kB << 10
		}
	}
	return bytes
}
