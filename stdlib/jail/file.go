package jail

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
)

// Exists tells whether a path leads to something. One that leads out of the workspace is an error,
// not absent.
func (t *Tree) Exists(path string) (bool, error) {
	p, err := t.walk(path, way{follow: true})
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer p.close()
	return p.info != nil, nil
}

// Read returns the content of a file of at most so many bytes.
func (t *Tree) Read(path string, limit int) ([]byte, error) {
	p, err := t.walk(path, way{follow: true})
	if err != nil {
		return nil, err
	}
	defer p.close()
	content, err := p.read(limit)
	if err != nil {
		return nil, &Error{path, err}
	}
	return content, nil
}

func (p *place) read(limit int) ([]byte, error) {
	switch {
	case p.info == nil:
		return nil, fs.ErrNotExist
	case !p.info.Mode().IsRegular():
		return nil, fmt.Errorf("%w: it is a %s, wanted a file", ErrKind, kind(p.info.Mode()))
	case p.info.Size() > int64(limit):
		return nil, fmt.Errorf("%w: it has %d bytes, at most %d are read", ErrTooLarge, p.info.Size(), limit)
	}
	f, err := p.open()
	if err != nil {
		return nil, err
	}
	defer f.Close()
	content, err := io.ReadAll(io.LimitReader(f, int64(limit)+1))
	if err == nil && len(content) > limit {
		err = fmt.Errorf("%w: at most %d bytes are read", ErrTooLarge, limit)
	}
	return content, err
}

// open opens the file that was seen on arrival, and no other.
func (p *place) open() (*os.File, error) {
	f, err := p.dir().OpenFile(p.name, os.O_RDONLY|syscall.O_NONBLOCK, 0) // what was swapped in meanwhile may be a pipe
	if err != nil {
		return nil, err
	}
	if info, err := f.Stat(); err != nil || !os.SameFile(info, p.info) {
		f.Close()
		return nil, errors.Join(err, errChanged)
	}
	return f, nil
}

func kind(m fs.FileMode) string {
	switch {
	case m.IsDir():
		return "folder"
	case m&fs.ModeSymlink != 0:
		return "link"
	case m.IsRegular():
		return "file"
	}
	return "device, pipe or socket"
}

// Write gives a file its content, whole or not at all, and makes the folders that are missing on
// the way. A file that has this content already is left alone; one that is replaced keeps its
// permissions. What a crash leaves is a file beside it that the next write with the same key takes
// over.
func (t *Tree) Write(path string, content []byte, key string) error {
	return t.write(path, content, key, nil)
}

// Replace is Write of a file that still is what the caller has seen: was is the SHA-256 of its
// content in hexadecimal, "" for no file. A file that is neither that nor has the new content is
// left alone, with ErrChanged. Between the look and the rename lies a moment in which somebody
// else's change would be lost.
func (t *Tree) Replace(path string, content []byte, key, was string) error {
	return t.write(path, content, key, &was)
}

func (t *Tree) write(path string, content []byte, key string, was *string) error {
	if err := t.rights.Check(path); err != nil {
		return &Error{path, err}
	}
	p, err := t.walk(path, way{follow: true, make: true})
	if err != nil {
		return err
	}
	defer p.close()
	if err := p.write(content, key, was); err != nil {
		return &Error{path, err}
	}
	return nil
}

func (p *place) write(content []byte, key string, was *string) error {
	if err := p.checkChange(); err != nil {
		return err
	}
	mode := fs.FileMode(0o666) // less the mask of this process
	if p.info != nil {
		if !p.info.Mode().IsRegular() {
			return fmt.Errorf("%w: it is a %s, wanted a file", ErrKind, kind(p.info.Mode()))
		}
		if old, err := p.read(len(content)); err == nil && bytes.Equal(old, content) {
			return nil
		}
		mode = p.info.Mode().Perm()
	}
	if err := p.unchanged(was); err != nil {
		return err
	}
	sum := sha256.Sum256([]byte(key + "\x00" + p.name))
	beside := ".starling-" + hex.EncodeToString(sum[:8])
	if err := p.put(beside, content, mode); err != nil {
		p.dir().Remove(beside)
		return err
	}
	if err := p.dir().Rename(beside, p.name); err != nil {
		p.dir().Remove(beside)
		return err
	}
	return p.sync()
}

// unchanged refuses a file that is not what somebody has seen; nil is for whoever has seen nothing.
func (p *place) unchanged(was *string) error {
	switch {
	case was == nil:
		return nil
	case p.info == nil && *was == "":
		return nil
	case p.info == nil:
		return fmt.Errorf("%w: it is not there any more", ErrChanged)
	case *was == "":
		return fmt.Errorf("%w: it is there by now", ErrChanged)
	}
	f, err := p.open()
	if err != nil {
		return err
	}
	sum := sha256.New()
	_, err = io.Copy(sum, f)
	if err = errors.Join(err, f.Close()); err == nil && hex.EncodeToString(sum.Sum(nil)) != *was {
		err = ErrChanged
	}
	return err
}

func (p *place) put(name string, content []byte, mode fs.FileMode) error {
	if err := p.dir().Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := p.dir().OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	if p.info != nil && err == nil {
		err = f.Chmod(mode) // the mask is for new files
	}
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// sync makes a change of names durable.
func (p *place) sync() error {
	d, err := p.dir().Open(".")
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// Remove removes a file, a link (not what it leads to) or an empty folder; with all, a folder and
// what is in it. What is not there is removed already.
func (t *Tree) Remove(path string, all bool) error {
	p, err := t.walk(path, way{})
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer p.close()
	if err := p.remove(all); err != nil {
		return &Error{path, err}
	}
	return nil
}

func (p *place) remove(all bool) error {
	switch {
	case p.info == nil:
		return nil
	case p.name == ".":
		return fmt.Errorf("%w: name what is in it", errFolderInUse)
	case p.tree.holdsStore(p.info):
		return ErrStore
	}
	if err := p.checkRemoval(all); err != nil {
		return err
	}
	remove := p.dir().Remove
	if all {
		remove = p.dir().RemoveAll
	}
	if err := remove(p.name); err != nil {
		return err
	}
	return p.sync()
}

var errFolderInUse = errors.New("a folder that is worked in is not removed")
