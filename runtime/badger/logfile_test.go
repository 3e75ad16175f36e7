package badger

import (
	"os"
	"path/filepath"
	"testing"
)

// Whatever bytes a log has, reading it ends within it, and what counts as a transaction ends where
// its records do or before.
func FuzzLog(f *testing.F) {
	seed, err := os.ReadFile("testdata/v4.mem")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(seed)
	f.Add(seed[:len(seed)-1])
	f.Add(seed[:logHeader])
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, content []byte) {
		path := filepath.Join(t.TempDir(), "log")
		must(t, os.WriteFile(path, content, 0o600))
		log, err := openLog(path)
		must(t, err)
		defer log.close()
		end, err := log.records(false, func(logRecord, int64) {})
		must(t, err)
		whole, err := log.transactions(func(_ int64, records []logRecord) {
			if len(records) == 0 {
				t.Error("a transaction without records")
			}
		})
		must(t, err)
		if whole > end || end > max(logHeader, int64(len(content))) {
			t.Errorf("transactions end at %d, records at %d, and there are %d bytes", whole, end, len(content))
		}
	})
}

// A log that Badger wrote once must be read by every later version of this package.
func TestKeptLog(t *testing.T) {
	log, err := openLog("testdata/v4.mem")
	must(t, err)
	defer log.close()
	var spans []span
	end, err := log.transactions(func(_ int64, records []logRecord) {
		for _, r := range records {
			if s, ok := spanOf(r.value); ok && string(r.key) == string(ownKey(tagSequence)) {
				spans = append(spans, s)
			}
		}
	})
	must(t, err)
	if len(spans) != 3 || spans[0] != (span{1, 1}) || spans[2] != (span{3, 3}) || end != log.size {
		t.Errorf("got batches %v up to byte %d of %d, wanted 1 to 3 and all of it", spans, end, log.size)
	}
}
