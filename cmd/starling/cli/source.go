package cli

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"starling/cmd/starling/sources"
	"starling/lang"
	"starling/runtime"
	"starling/stdlib"
)

// readBundle reads a script and all it needs. The script may load from its root and below: the
// project, if the script lies in it, else the current directory, else its own folder. Names in
// messages are relative to that root.
func (c *call) readBundle(script string) (*lang.Bundle, error) {
	entry, root, err := c.rooted(script)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	files := c.asMended(root)
	var lacks error // what the system lacks is no mistake of the script
	bundle, err := lang.Read(entry, func(name string) ([]byte, error) {
		text, err := files(name)
		if errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) {
			lacks = err
		}
		return text, err
	}, stdlib.Library)
	if lacks != nil {
		return nil, runtime.Refusef(runtime.ErrUsage, "cannot read the script %s: %v", script, lacks)
	}
	return bundle, err
}

// asMended serves the files below a folder, those that are being mended as they would be.
func (c *call) asMended(root *os.Root) lang.Source {
	files := sources.Of(root)
	return func(name string) ([]byte, error) {
		if text, ok := c.mended[filepath.Join(root.Name(), filepath.FromSlash(name))]; ok {
			return text, nil
		}
		return files(name)
	}
}

// rooted opens the folder that a script may load from, and names the script from there.
func (c *call) rooted(script string) (entry string, root *os.Root, err error) {
	path, err := filepath.Abs(script)
	if err != nil {
		return "", nil, runtime.Refusef(runtime.ErrUsage, "%s: %v", script, err)
	}
	folder := c.rootOf(path)
	if entry, err = filepath.Rel(folder, path); err != nil {
		return "", nil, runtime.Refusef(runtime.ErrUsage, "%s: %v", script, err)
	}
	if root, err = os.OpenRoot(folder); err != nil {
		return "", nil, runtime.Refusef(runtime.ErrUsage, "cannot read the script %s: %v", script, err)
	}
	return filepath.ToSlash(entry), root, nil
}

// rootOf is the folder that a script may load from.
func (c *call) rootOf(path string) string {
	for _, dir := range []string{c.place.Root, c.place.Work} {
		if strings.HasPrefix(path, dir+string(filepath.Separator)) {
			return dir
		}
	}
	return filepath.Dir(path)
}
