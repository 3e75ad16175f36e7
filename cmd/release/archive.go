package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"io/fs"
	"os"
	"path"
	"path/filepath"
)

// archive is the program in a folder of the archive's name, with the texts beside it.
func (r release) archive(p program) ([]byte, error) {
	entries := []entry{{name: r.name(p) + "/starling", mode: 0o755, text: p.bytes}}
	err := filepath.WalkDir(r.texts, func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(r.texts, file)
		entries = append(entries, entry{name: path.Join(r.name(p), filepath.ToSlash(name)), mode: 0o644, text: text})
		return err
	})
	if err != nil {
		return nil, err
	}
	packed, err := r.tar(entries)
	if err != nil {
		return nil, err
	}
	return zip(packed)
}

// entry is a file of an archive, or with a name that ends in a slash a folder.
type entry struct {
	name  string
	mode  int64
	owner int // user and group
	text  []byte
}

// tar packs entries, in their order and at the time of the release.
func (r release) tar(entries []entry) ([]byte, error) {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, e := range entries {
		// Without a type it is a folder where the name ends in a slash, and else a file.
		h := &tar.Header{Name: e.name, Mode: e.mode, Uid: e.owner, Gid: e.owner, Size: int64(len(e.text)), ModTime: r.time}
		if err := w.WriteHeader(h); err != nil {
			return nil, err
		}
		if _, err := w.Write(e.text); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil { // which writes the end
		return nil, err
	}
	return b.Bytes(), nil
}

// zip compresses. What it writes has neither a name nor a time.
func zip(text []byte) ([]byte, error) {
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(text); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}
