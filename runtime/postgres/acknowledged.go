package postgres

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"errors"

	"starling/runtime"
)

// acknowledged is the file acknowledged in the folder of an owner or a standby: one line with the
// store's id and the highest number of batches that this machine has seen acknowledged. It need not
// survive a power cut, for it tells of the database and not of itself.
type acknowledged struct {
	path string

	mu   sync.Mutex // guards what is below
	file *os.File   // nil where there is no folder
	id   string
	most uint64
}

const acknowledgedName = "acknowledged"

// line is the line; it always has the same length, so that it is replaced as a whole.
const line = "%-32s %020d\n"

func openAcknowledged(folder string) (*acknowledged, error) {
	if folder == "" {
		return new(acknowledged), nil
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, err
	}
	a := &acknowledged{path: filepath.Join(folder, acknowledgedName)}
	content, err := os.ReadFile(a.path)
	if err == nil {
		fmt.Sscanf(string(content), "%s %d", &a.id, &a.most) // what cannot be read tells of nothing
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	a.file, err = os.OpenFile(a.path, os.O_WRONLY|os.O_CREATE, 0o600)
	return a, err
}

// compare refuses a store that has fewer batches than were acknowledged, and learns from one that
// has more.
func (a *acknowledged) compare(r row) error {
	if a.id == r.id && r.sequence < a.most {
		return missing(r.sequence, a.most, a.path)
	}
	a.write(runtime.StoreInfo{ID: r.id}, r.sequence)
	return nil
}

// missing is the error of a database that lacks acknowledged batches.
func missing(found, wanted uint64, path string) error {
	what := "batches are"
	if wanted-found == 1 {
		what = "batch is"
	}
	help := ""
	if path != "" {
		help = fmt.Sprintf("; to go on without what they held, remove %s on every machine that serves this store", path)
	}
	return fmt.Errorf("%w: %d acknowledged %s missing: the database has %d, wanted %d, as it is when a replica is promoted, or a backup restored, that lacks them%s",
		runtime.ErrDamaged, wanted-found, what, found, wanted, help)
}

// write notes how many batches were acknowledged. That it fails loses nothing but the note.
func (a *acknowledged) write(info runtime.StoreInfo, sequence uint64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.file == nil || a.id == info.ID && a.most == sequence {
		return
	}
	a.id, a.most = info.ID, sequence
	_, _ = a.file.WriteAt(fmt.Appendf(nil, line, a.id, sequence), 0)
}

func (a *acknowledged) close() {
	if a != nil && a.file != nil {
		a.file.Close()
	}
}
