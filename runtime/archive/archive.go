// Package archive is the form of an export: a run in a file, with its child runs and the contents
// that their journals name. There is no checkpoint in it, for a snapshot is only good in the store
// that wrote it: whoever imports it replays.
//
//	magic      "starling export\n"
//	format     uvarint, 1
//	sections   type byte · uvarint length · bytes, in this order:
//	  h        once: a dict, {run, store, at}: what was exported, from which store, when
//	  b        a content; its address is the SHA-256 of the bytes
//	  r        a run: a dict, {id, parent}; the first is the exported one, a child stands after its parent
//	  j        records of that run, as a store has those of one commit (journal/record.go); all of
//	           a run's together are its journal
//	  e        once, at the end: the SHA-256 of every byte before this section
//
// Numbers are as in the store. A reader refuses sections that it does not know.
package archive

import (
	"crypto/sha256"
	"encoding/binary"
	"slices"

	"starling/lang/effect"
	"starling/runtime/journal"
)

const (
	magic  = "starling export\n"
	format = 1

	sectionHeader  = 'h'
	sectionBlob    = 'b'
	sectionRun     = 'r'
	sectionJournal = 'j'
	sectionEnd     = 'e'
)

// Writer makes a file. Its methods may be called in any order; contents come to stand before runs.
type Writer struct {
	file []byte
	runs []byte
	has  map[string]bool
}

// NewWriter begins the export of a run of a store, made at a time in microseconds.
func NewWriter(run, store string, at int64) *Writer {
	var b effect.Object
	header := b.Text("run", run).Text("store", store).Int("at", at).Payload()
	file := section(binary.AppendUvarint([]byte(magic), format), sectionHeader, header)
	return &Writer{file: file, has: map[string]bool{}}
}

func section(b []byte, typ byte, content []byte) []byte {
	b = append(b, typ)
	b = binary.AppendUvarint(b, uint64(len(content)))
	return append(b, content...)
}

// Run adds a run with its journal, in values of commits. A child comes after its parent.
func (w *Writer) Run(id, parent string, journal [][]byte) {
	var b effect.Object
	w.runs = section(w.runs, sectionRun, b.Text("id", id).Text("parent", parent).Payload())
	for _, value := range journal {
		w.runs = section(w.runs, sectionJournal, value)
	}
}

// Has tells whether a content was added.
func (w *Writer) Has(hash string) bool { return w.has[hash] }

// Content adds a content.
func (w *Writer) Content(content []byte) {
	w.has[journal.HashOf(content)] = true
	w.file = section(w.file, sectionBlob, content)
}

// File ends the file.
func (w *Writer) File() []byte {
	w.file = append(w.file, w.runs...)
	sum := sha256.Sum256(w.file)
	return section(w.file, sectionEnd, sum[:])
}

// ContentsOf are the hashes of the contents that a record names.
func ContentsOf(r *journal.Record) []string {
	switch v := r.View(); r.Type {
	case journal.RunStarted, journal.RunMoved, journal.RunPinned:
		all := []string{journal.HashIn(v, "bundle"), journal.HashIn(v, "settings")}
		return slices.DeleteFunc(all, func(hash string) bool { return hash == "" })
	case journal.AttemptEnded:
		var list []string
		v.Sub("blobs").Each(func(_ string, b effect.View) { list = append(list, b.Text("hash")) })
		return list
	}
	return nil
}
