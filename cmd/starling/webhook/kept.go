package webhook

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/itchyny/gojq"

	"starling/runtime"
	"starling/runtime/wholefile"
	"starling/stdlib/redact"
)

// Kept is a delivery that was refused though its sender is known and may do what it asks for: a
// filter or a contract was not met, or there was no such script. It waits to be done when the
// project has been mended.
type Kept struct {
	Refused
	Posted json.RawMessage `json:"posted"` // the document, without secrets
}

// Shelf has kept deliveries, each a file of a folder in the store's: their number, their size and
// their age are bounded. Processes share it.
type Shelf struct {
	folder func() string
}

const (
	shelfFolder = "webhooks"
	maxKept     = 100      // deliveries
	maxKeptSize = 16 << 20 // bytes of all of them
	keptFor     = 30 * 24 * time.Hour
)

// NewShelf keeps deliveries in a folder, which is asked for when there is something to keep.
func NewShelf(folder func() string) *Shelf { return &Shelf{folder: folder} }

func (s *Shelf) path() string { return filepath.Join(s.folder(), shelfFolder) }

// mendable tells whether a delivery that was refused could be taken when the project is another:
// not what its token may not do, nor what others have decided.
func mendable(kind runtime.ErrorKind) bool {
	switch kind {
	case runtime.ErrDenied, runtime.ErrWrongTarget, runtime.ErrDecided, runtime.ErrExpired, runtime.ErrClaimed, runtime.ErrClosed, runtime.ErrKeyConflict, runtime.ErrExists:
		return false
	}
	return true
}

// nameOf ends the file of a delivery, whenever it was sent.
func nameOf(webhook, delivery string) string {
	sum := sha256.Sum256([]byte(webhook + "/" + delivery))
	return "-" + hex.EncodeToString(sum[:8]) + ".json"
}

// Keep keeps a delivery, in place of the same one that was kept before, and drops the oldest where
// there are too many.
func (s *Shelf) Keep(k Kept) error {
	if err := os.MkdirAll(s.path(), 0o700); err != nil {
		return err
	}
	if err := s.Drop(k.Webhook, k.Delivery); err != nil {
		return err
	}
	file := fmt.Sprintf("%016x%s", k.At.UnixMicro(), nameOf(k.Webhook, k.Delivery)) // in the order of the times
	err := wholefile.Replace(filepath.Join(s.path(), file), func(w io.Writer) error { return json.NewEncoder(w).Encode(k) })
	return errors.Join(err, s.bound(k.At))
}

// bound drops what is too much, or too old.
func (s *Shelf) bound(now time.Time) error {
	files, err := s.files()
	if err != nil {
		return err
	}
	slices.Reverse(files) // the newest first
	size := int64(0)
	for i, f := range files {
		info, err := f.Info()
		if err != nil {
			continue // somebody else has dropped it
		}
		size += info.Size()
		old := f.Name() < fmt.Sprintf("%016x", now.Add(-keptFor).UnixMicro())
		if i < maxKept && size <= maxKeptSize && !old {
			continue
		}
		if err := s.remove(f.Name()); err != nil {
			return err
		}
	}
	return nil
}

// files are those of the deliveries, the oldest first.
func (s *Shelf) files() ([]fs.DirEntry, error) {
	files, err := os.ReadDir(s.path())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return slices.DeleteFunc(files, func(f fs.DirEntry) bool { return !strings.HasSuffix(f.Name(), ".json") }), err
}

// Drop drops a delivery, which need not be there: it is done.
func (s *Shelf) Drop(webhook, delivery string) error {
	files, err := s.files()
	for _, f := range files {
		if strings.HasSuffix(f.Name(), nameOf(webhook, delivery)) {
			err = errors.Join(err, s.remove(f.Name()))
		}
	}
	return err
}

func (s *Shelf) remove(name string) error {
	if err := os.Remove(filepath.Join(s.path(), name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// List is what is kept, the oldest first. What cannot be read is left out: somebody has touched it.
func (s *Shelf) List() ([]Kept, error) {
	files, err := s.files()
	list := []Kept{}
	for _, f := range files {
		var k Kept
		text, err := os.ReadFile(filepath.Join(s.path(), f.Name()))
		if err == nil && json.Unmarshal(text, &k) == nil {
			list = append(list, k)
		}
	}
	return list, err
}

// keep keeps what was posted, without the project's secrets and what its sender puts there of its
// own. What would be no document without them is not kept.
func (p *posting) keep(noted Refused, posted any) error {
	if object, ok := posted.(map[string]any); ok && len(p.from.secrets) > 0 {
		shown := map[string]any{}
		for key, value := range object {
			if !slices.Contains(p.from.secrets, key) {
				shown[key] = value
			}
		}
		posted = shown
	}
	text, err := gojq.Marshal(posted)
	if err != nil {
		return err
	}
	hide := new(redact.Redactor)
	for name, value := range p.hidden {
		hide.Hide(name, value)
	}
	for _, declared := range p.file.Secrets {
		if value, ok := p.Getenv(declared.Env); ok && declared.Env != "" {
			hide.Hide(declared.Name, value)
		}
	}
	text = []byte(hide.Redact(string(text)))
	if !json.Valid(text) || bytes.Equal(text, []byte("null")) {
		return nil
	}
	return p.Shelf.Keep(Kept{noted, text})
}
