package lsp

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"runtime/debug"
	"slices"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"starling/lang"
	"starling/lang/check"
	"starling/lang/doc"
	"starling/lang/effect"
)

// Host is what a server asks of the program that it is part of.
type Host struct {
	Version     string
	Environment func(path string) *effect.Environment     // what a file sees
	Library     lang.Source                               // the files of @std
	Modules     []string                                  // their names, as load writes them
	Project     func(root string) (check.Project, error)  // what is known of the project whose folder it is
	Root        func(path string) (root string, has bool) // the folder of the project that a file is in
}

// Server serves one editor. See the comment of the package.
type Server struct {
	host    Host
	wire    *wire
	folders []string // of the workspace
	open    map[string]*document
	manuals map[*effect.Environment]*manual
	known   map[string]*projectState // by root
}

// projectState is what is known of a project, and of which state of its file.
type projectState struct {
	stamp   string
	project check.Project
}

// errCode is an answer that is an error.
func errCode(code int64, format string, args ...any) error {
	return &jsonrpc.Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// codeFailed is the protocol's own code of a request that cannot be done.
const codeFailed = -32803

// Serve serves the editor at in and out until it says goodbye or goes away. Errors are those of
// writing; an editor that goes away without a word is none.
func Serve(h Host, in io.Reader, out io.Writer) error {
	s := &Server{host: h, wire: &wire{bufio.NewReader(in), out}, open: map[string]*document{}, manuals: map[*effect.Environment]*manual{}, known: map[string]*projectState{}}
	messages := make(chan incoming)
	done := make(chan struct{})
	defer close(done)
	go s.receive(messages, done)
	for {
		m, err := s.next(messages)
		switch {
		case err != nil:
			return err
		case m.err != nil:
			s.finish()
			return m.end()
		}
		if leave, err := s.take(m.message); leave || err != nil {
			return err
		}
	}
}

// next is the next message. Until it comes, diagnostics are looked for.
func (s *Server) next(messages <-chan incoming) (incoming, error) {
	for {
		d := s.changed()
		if d == nil {
			return <-messages, nil
		}
		select { // what waits comes first
		case m := <-messages:
			return m, nil
		default:
		}
		select {
		case m := <-messages:
			return m, nil
		case <-d.pause():
		}
		if err := s.work(d); err != nil {
			return incoming{}, err
		}
	}
}

// finish tells what is still to be told when nothing more is asked, to whoever still listens.
func (s *Server) finish() {
	for d := s.changed(); d != nil; d = s.changed() {
		if s.work(d) != nil {
			return
		}
	}
}

// How long a file rests before it is examined: not at all where that costs little, else as long as
// it takes, within bounds, so that it is not examined at each key.
const (
	cheap    = 200 * time.Millisecond
	maxPause = time.Second
)

// pause is when a file has rested.
func (d *document) pause() <-chan time.Time {
	if d.cost > cheap {
		return time.After(min(d.cost, maxPause))
	}
	now := make(chan time.Time)
	close(now)
	return now
}

// incoming is a message, or why there are no more.
type incoming struct {
	message jsonrpc.Message
	err     error
}

// end is the error that the end of messages is.
func (m incoming) end() error {
	if errors.Is(m.err, io.EOF) || errors.Is(m.err, io.ErrUnexpectedEOF) || errors.Is(m.err, io.ErrClosedPipe) {
		return nil
	}
	return m.err
}

// receive reads messages. What is no JSON is left out: whom it would be answered to is not known.
func (s *Server) receive(messages chan<- incoming, done <-chan struct{}) {
	for {
		m, err := s.wire.read()
		var bad *jsonrpc.Error
		if errors.As(err, &bad) {
			continue
		}
		select {
		case messages <- incoming{m, err}:
		case <-done:
			return
		}
		if err != nil {
			return
		}
	}
}

// changed is a file whose diagnostics are to be looked for, nil if there is none.
func (s *Server) changed() *document {
	for _, uri := range slices.Sorted(maps.Keys(s.open)) {
		if d := s.open[uri]; d.dirty {
			return d
		}
	}
	return nil
}

// work tells the diagnostics of a file.
func (s *Server) work(d *document) error {
	d.dirty = false
	list, err := guarded(func() ([]diagnosed, error) { return s.diagnose(d), nil })
	if err != nil {
		return s.log(err)
	}
	return s.wire.notify("textDocument/publishDiagnostics", published{d.uri, d.version, list})
}

// log tells the editor of a mistake of the server's own.
func (s *Server) log(err error) error {
	const levelError = 1
	return s.wire.notify("window/logMessage", map[string]any{"type": levelError, "message": err.Error()})
}

// guarded calls a function whose panic is an error: one request that fails must not end the
// session, with all that is not saved.
func guarded[T any](f func() (T, error)) (t T, err error) {
	defer func() {
		if x := recover(); x != nil {
			err = errCode(jsonrpc.CodeInternalError, "panic: %v\n%s", x, debug.Stack())
		}
	}()
	return f()
}

// take handles one message, and tells whether it was the last.
func (s *Server) take(m jsonrpc.Message) (leave bool, err error) {
	r, ok := m.(*jsonrpc.Request)
	if !ok {
		return false, nil // nothing was asked of the editor
	}
	if r.Method == "exit" {
		return true, nil
	}
	var p params
	malformed := json.Unmarshal(r.Params, &p)
	result, err := guarded(func() (any, error) {
		if len(r.Params) > 0 && malformed != nil {
			return nil, errCode(jsonrpc.CodeInvalidParams, "%s: %v", r.Method, malformed)
		}
		return s.handle(r.Method, &p)
	})
	if !r.IsCall() {
		if err != nil && !isUnknown(err) {
			return false, s.log(err)
		}
		return false, nil
	}
	return false, s.answer(r.ID, result, err)
}

func isUnknown(err error) bool {
	var known *jsonrpc.Error
	return errors.As(err, &known) && known.Code == jsonrpc.CodeMethodNotFound
}

// answer answers a request.
func (s *Server) answer(id jsonrpc.ID, result any, err error) error {
	r := &jsonrpc.Response{ID: id}
	if err != nil {
		var known *jsonrpc.Error
		if !errors.As(err, &known) {
			known = &jsonrpc.Error{Code: codeFailed, Message: err.Error()}
		}
		r.Error = known
		return s.wire.write(r)
	}
	if r.Result, err = json.Marshal(result); err != nil {
		return err
	}
	return s.wire.write(r)
}

// handle is what each method does.
func (s *Server) handle(method string, p *params) (any, error) {
	switch method {
	case "initialize":
		return s.initialize(p), nil
	case "initialized", "$/setTrace", "$/cancelRequest":
		return nil, nil
	case "shutdown":
		return nil, nil
	case "textDocument/didOpen", "textDocument/didChange", "textDocument/didClose", "textDocument/didSave",
		"workspace/didChangeWatchedFiles", "workspace/didChangeConfiguration":
		return nil, s.edit(method, p)
	}
	ask, ok := requests()[method]
	if !ok {
		return nil, errCode(jsonrpc.CodeMethodNotFound, "there is no method %s", method)
	}
	d := s.open[p.TextDocument.URI]
	if d == nil {
		return nil, errCode(jsonrpc.CodeInvalidParams, "%s: %s is not open", method, p.TextDocument.URI)
	}
	if d.isProject() && !slices.Contains([]string{"textDocument/codeAction", "textDocument/completion", "textDocument/hover"}, method) {
		return nil, nil // the others are about scripts
	}
	return ask(s, d, p)
}

// requests are those about a file.
func requests() map[string]func(*Server, *document, *params) (any, error) {
	return map[string]func(*Server, *document, *params) (any, error){
		"textDocument/completion":          (*Server).complete,
		"textDocument/hover":               (*Server).hover,
		"textDocument/signatureHelp":       (*Server).signatureHelp,
		"textDocument/definition":          (*Server).definition,
		"textDocument/references":          (*Server).references,
		"textDocument/prepareRename":       (*Server).prepareRename,
		"textDocument/rename":              (*Server).rename,
		"textDocument/documentSymbol":      (*Server).symbols,
		"textDocument/foldingRange":        (*Server).folding,
		"textDocument/formatting":          (*Server).formatting,
		"textDocument/codeAction":          (*Server).codeActions,
		"textDocument/inlayHint":           (*Server).inlayHints,
		"textDocument/codeLens":            (*Server).codeLenses,
		"textDocument/semanticTokens/full": (*Server).semanticTokens,
	}
}

func (s *Server) initialize(p *params) json.RawMessage {
	for _, f := range p.WorkspaceFolders {
		s.folders = append(s.folders, pathOf(f.URI))
	}
	if len(s.folders) == 0 && p.RootURI != "" {
		s.folders = []string{pathOf(p.RootURI)}
	}
	return capabilities(s.host.Version)
}

// edit notes what the editor tells of files.
func (s *Server) edit(method string, p *params) error {
	uri := p.TextDocument.URI
	d := s.open[uri]
	switch method {
	case "textDocument/didOpen":
		d = &document{uri: uri, path: pathOf(uri), version: p.TextDocument.Version, text: newText(p.TextDocument.Text)}
		s.open[uri] = d
	case "textDocument/didClose":
		delete(s.open, uri)
		if d != nil {
			return s.wire.notify("textDocument/publishDiagnostics", published{uri, d.version, []diagnosed{}})
		}
		return nil
	case "textDocument/didChange":
		if d == nil {
			return errCode(jsonrpc.CodeInvalidParams, "%s is not open", uri)
		}
		for _, c := range p.ContentChanges {
			d.text = d.text.change(c)
		}
		d.version = p.TextDocument.Version
	}
	if d != nil {
		d.outlined, d.studied = false, false
	}
	if d != nil && d.isProject() && method == "textDocument/didSave" {
		d = nil // it is about all scripts
	}
	s.soil(d)
	return nil
}

// soil notes that a file has changed, and so what loads it has; nil for one that is not open.
func (s *Server) soil(changed *document) {
	for _, d := range s.open {
		if d == changed || changed == nil || d.reads(changed.path) {
			d.dirty, d.studied = true, false
		}
	}
}

// manual is what is written about the names of an environment.
type manual struct {
	entries []doc.Entry
	byName  map[string]*doc.Entry
}

// manual is read once.
func (s *Server) manual(d *document) *manual {
	env := s.host.Environment(d.path)
	m := s.manuals[env]
	if m == nil {
		m = &manual{entries: doc.Of(env), byName: map[string]*doc.Entry{}}
		for i := range m.entries {
			m.byName[m.entries[i].Name] = &m.entries[i]
		}
		s.manuals[env] = m
	}
	return m
}

// rootOf is the folder that a file may load from: its project's, the workspace's, or its own.
func (s *Server) rootOf(path string) string {
	if root, ok := s.host.Root(path); ok {
		return root
	}
	for _, folder := range s.folders {
		if rel, err := filepath.Rel(folder, path); err == nil && filepath.IsLocal(rel) {
			return folder
		}
	}
	return filepath.Dir(path)
}
