package lsp

import (
	"errors"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"go.starlark.net/syntax"

	"starling/cmd/starling/place"
	"starling/cmd/starling/sources"
	"starling/lang"
	"starling/lang/check"
	"starling/lang/diagnostic"
	"starling/lang/infer"
)

// document is a file that is open in the editor.
type document struct {
	uri, path string
	version   int
	text      *text

	dirty    bool // its diagnostics are to be told
	outlined bool // outline is that of text, or text cannot be parsed
	studied  bool // so of study
	outline  *outline
	study    *study
	cost     time.Duration // of examining it, the last time
}

// study is what is known of a file with all that it loads, and of which text.
type study struct {
	text  *text
	file  *check.File // nil where the file has never compiled
	files []*check.File
	types *infer.Result
	reads map[string]bool // the files that were read, by path
	list  diagnostic.List
}

// reads tells whether what is known of a file depends on another.
func (d *document) reads(path string) bool {
	return d.study == nil || d.study.reads == nil || d.study.reads[path]
}

// pathOf is the file that a URI names. What is not on a disk, such as a file that has no name yet,
// is as if it lay in the root.
func pathOf(uri string) string {
	u, err := url.Parse(uri)
	if err != nil {
		return filepath.Clean("/" + uri)
	}
	if u.Path == "" {
		return filepath.Clean("/" + u.Opaque)
	}
	return filepath.Clean(u.Path)
}

// uriOf is the inverse of pathOf, for files. One that is open has the URI that the editor gave it.
func (s *Server) uriOf(path string) string {
	for uri, d := range s.open {
		if d.path == path {
			return uri
		}
	}
	return (&url.URL{Scheme: "file", Path: path}).String()
}

// read reads a file as the editor has it, or else the disk: below its root, out of which links do
// not lead.
func (s *Server) read(path string) ([]byte, error) {
	for _, d := range s.open {
		if d.path == path {
			return []byte(d.text.source), nil
		}
	}
	folder := s.rootOf(path)
	root, err := os.OpenRoot(folder)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	name, err := filepath.Rel(folder, path)
	if err != nil {
		return nil, err
	}
	return sources.Of(root)(name)
}

// nameOf is how a file is named from a root, as the command line would name it.
func nameOf(root, path string) string {
	name, err := filepath.Rel(root, path)
	if err != nil {
		return filepath.Base(path)
	}
	return filepath.ToSlash(name)
}

// examine reads a script with all that it loads, and finds out what there is to know. source stands
// in the place of the document's own text. Without a study the list says why.
func (s *Server) examine(d *document, source string) (*lang.Study, diagnostic.List, map[string]bool) {
	root := s.rootOf(d.path)
	reads := map[string]bool{d.path: true}
	bundle, err := lang.Read(nameOf(root, d.path), func(name string) ([]byte, error) {
		path := filepath.Join(root, filepath.FromSlash(name))
		reads[path] = true
		if path == d.path {
			return []byte(source), nil
		}
		return s.read(path)
	}, s.host.Library)
	if err != nil {
		var list diagnostic.List
		if !errors.As(err, &list) {
			list = diagnostic.List{{Message: err.Error()}}
		}
		return nil, list, reads
	}
	found := lang.Examine(bundle, s.host.Environment(d.path), s.project(root))
	return found, found.Diagnostics, reads
}

// project is what is known of the project in a folder. It is read again when its file has changed;
// one that cannot be read is as if it had nothing.
func (s *Server) project(root string) check.Project {
	stamp := ""
	if info, err := os.Stat(filepath.Join(root, place.ProjectFile)); err == nil {
		stamp = info.ModTime().String() + info.Mode().String()
	}
	state := s.known[root]
	if state == nil || state.stamp != stamp {
		state = &projectState{stamp: stamp}
		if stamp != "" {
			state.project, _ = s.host.Project(root)
		}
		s.known[root] = state
	}
	return state.project
}

// studyOf is what is known of a document: of its text, or while that does not compile, of the last
// one that did.
func (s *Server) studyOf(d *document) *study {
	if d.studied {
		return d.study
	}
	d.studied = true
	start := time.Now()
	found, list, reads := s.examine(d, d.text.source)
	d.cost = time.Since(start)
	if found == nil || !whole(found) {
		if d.study == nil {
			d.study = &study{text: d.text}
		}
		kept := *d.study
		kept.list, kept.reads = list, reads
		d.study = &kept
		return d.study
	}
	d.study = &study{d.text, found.Files[len(found.Files)-1], found.Files, found.Types, reads, list}
	return d.study
}

// whole tells whether all files of a study compile, so that there are types.
func whole(found *lang.Study) bool {
	for _, f := range found.Files {
		if f.Broken {
			return false
		}
	}
	return len(found.Files) > 0
}

// outlineOf is the outline of a document: of its text, or while that cannot be parsed, of the last
// one that could. Nil where none could.
func (s *Server) outlineOf(d *document) *outline {
	if !d.outlined {
		d.outlined = true
		if y := d.study; d.studied && y.file != nil && y.text == d.text {
			d.outline = outlineOf(d.path, d.text, y.file.Tree)
			return d.outline
		}
		if o := newOutline(d.path, d.text); o != nil {
			d.outline = o
		}
	}
	return d.outline
}

// outlineAt is the outline of any file: one that is open, one on the disk, or one of the library,
// whose path is its name in load. Nil where it cannot be had.
func (s *Server) outlineAt(path string) *outline {
	for _, d := range s.open {
		if d.path == path {
			return s.outlineOf(d)
		}
	}
	var source []byte
	var err error
	if name, ok := strings.CutPrefix(path, library); ok {
		source, err = s.host.Library(name)
	} else {
		source, err = s.read(path)
	}
	if err != nil {
		return nil
	}
	return newOutline(path, newText(string(source)))
}

// library is how the names of the library begin.
const library = "@std/"

// loadedFrom is the path of a file that another loads under a name.
func (s *Server) loadedFrom(from, name string) string {
	if strings.HasPrefix(name, library) {
		return name
	}
	if strings.HasPrefix(from, library) {
		return library + path.Join(path.Dir(from[len(library):]), name)
	}
	return filepath.Join(filepath.Dir(from), filepath.FromSlash(name))
}

// manyEntries is how much of a folder is looked at for scripts: an editor asks at each key.
const manyEntries = 20_000

// scriptsBelow lists the scripts of a folder that can be read, and no more than a program can have.
func scriptsBelow(root string) []string {
	found, _ := sources.BelowUpTo(root, lang.MaxModules, manyEntries)
	return found
}

// exprAt finds the innermost expression around an offset of a study's text, preferring names.
func (y *study) exprAt(offset int) syntax.Expr {
	if y.file == nil {
		return nil
	}
	var best syntax.Expr
	syntax.Walk(y.file.Tree, func(n syntax.Node) bool {
		e, ok := n.(syntax.Expr)
		if n == nil {
			return false
		}
		from, to := y.text.node(n)
		if offset < from || offset > to {
			_, isFile := n.(*syntax.File)
			return isFile
		}
		if ok {
			best = e
		}
		return true
	})
	return best
}
