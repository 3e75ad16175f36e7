// Package watch plays again what has read a file that has changed since.
//
// Files are looked at, a few times a second. What the system tells of changes was rejected: it is
// another thing on each system, is silent over network folders and in many containers, has bounds
// on how much is watched, and every editor replaces files in a way of its own. A look asks for the
// state of the files that were read, a few hundred at most, and lists the folders; it rests twenty
// times as long as that takes.
package watch

import (
	"os"
	"path/filepath"
	"sync"
	"time"

	"starling/lang"
)

// stamp tells one state of a file from another. It is zero for a file that is not there.
type stamp struct {
	size    int64
	changed time.Time
	mode    os.FileMode
}

func stampOf(path string) stamp {
	info, err := os.Stat(path)
	if err != nil {
		return stamp{}
	}
	return stamp{info.Size(), info.ModTime(), info.Mode()}
}

// Reach is the files that a play has asked for, whether they are there or not, and how they were
// when it first asked. Its methods may be called concurrently.
type Reach struct {
	mu    sync.Mutex
	files map[string]stamp
}

// Saw notes a file before it is read.
func (r *Reach) Saw(path string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, known := r.files[path]; !known {
		r.note(path)
	}
}

// Wrote notes a file that the play has written itself.
func (r *Reach) Wrote(path string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.note(path)
}

func (r *Reach) note(path string) {
	if r.files == nil {
		r.files = map[string]stamp{}
	}
	r.files[path] = stampOf(path)
}

// Source notes what is read from the files below a folder.
func (r *Reach) Source(folder string, files lang.Source) lang.Source {
	return func(name string) ([]byte, error) {
		r.Saw(filepath.Join(folder, filepath.FromSlash(name)))
		return files(name)
	}
}
