package agent

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/coder/acp-go-sdk"
	"go.starlark.net/starlark"

	"starling/lang/effect"
	"starling/stdlib/jail"
)

// Files that go with a task. A model behind an API is given their content. A program is told where
// they are, and given the images in its own way where it has one: claude in its message, codex by
// its option, gemini by a mention, and agents with acp in the blocks that they say they take.

const (
	MaxFiles     = 16       // files that go with one task
	maxFileBytes = 16 << 20 // bytes of them together
)

// file is one of them.
type file struct {
	name    string // as the script gives it, or of an artifact its own
	path    string // where a program finds it, "" for nowhere
	kind    string // "image/png", "application/pdf", "text/plain", or what else it looks like
	content []byte
	hash    string // SHA-256
	made    bool   // path is a file that was made for the attempt
}

func (f *file) isImage() bool {
	return slices.Contains([]string{"image/png", "image/jpeg", "image/gif", "image/webp"}, f.kind)
}

func (f *file) isText() bool { return strings.HasPrefix(f.kind, "text/") }

const pdfKind = "application/pdf"

func (f *file) base64() string { return base64.StdEncoding.EncodeToString(f.content) }

func (f *file) dataURL() string { return "data:" + f.kind + ";base64," + f.base64() }

// FileNames are the files that the arguments of a request name, in a list or a tuple.
func FileNames(args effect.View) (names []string) {
	if list, ok := args.Value("files").(starlark.Iterable); ok {
		for v := range starlark.Elements(list) {
			name, _ := starlark.AsString(v)
			names = append(names, name)
		}
	}
	return names
}

// IsArtifact tells the name that artifact gives to what it has kept from a path.
func IsArtifact(name string) bool { return regexp.MustCompile(`^[0-9a-f]{64}$`).MatchString(name) }

// readFiles reads the files of a request as they are now. An artifact is written into a file, which
// forget removes and of which nothing knows any more then.
func readFiles(a *effect.Attempt) (files []file, forget func(), err error) {
	forget = func() {
		for i, f := range files {
			if f.made {
				os.Remove(f.path)
				files[i].path = ""
			}
		}
	}
	defer func() {
		if err != nil {
			forget()
		}
	}()
	names := FileNames(effect.ViewOf(a.Args))
	if len(names) == 0 {
		return nil, forget, nil
	}
	tree, err := jail.Open(a.Settings.Workspace, a.Store, jail.Rights{})
	if err != nil {
		return nil, forget, err
	}
	defer tree.Close()
	room := maxFileBytes
	for i, name := range names {
		f, err := readFile(a, tree, name, room)
		if err != nil {
			return files, forget, fmt.Errorf("files[%d]: %w", i, err)
		}
		files = append(files, f)
		room -= len(f.content)
	}
	return files, forget, nil
}

func readFile(a *effect.Attempt, tree *jail.Tree, name string, room int) (f file, err error) {
	if IsArtifact(name) {
		return readArtifact(a, name, room)
	}
	f = file{name: name, path: filepath.Join(a.Settings.Workspace, filepath.FromSlash(name))}
	if f.content, err = tree.Read(name, room); err != nil {
		return f, err
	}
	sum := sha256.Sum256(f.content)
	f.kind, f.hash = kindOf(f.content), hex.EncodeToString(sum[:])
	return f, nil
}

func readArtifact(a *effect.Attempt, hash string, room int) (f file, err error) {
	var fault *effect.Error
	if f.name, f.content, fault = a.Artifact(hash); fault != nil {
		return f, fmt.Errorf("%s: %s", hash, fault.Message)
	}
	if len(f.content) > room {
		return f, &jail.Error{Path: f.name, Err: jail.ErrTooLarge}
	}
	f.kind, f.hash = kindOf(f.content), hash
	f.path, err = keptFile("starling-*-"+f.name, f.content)
	f.made = err == nil
	return f, err
}

// kindOf is the media type that content looks like. Text is what can be read as text: in UTF-8.
func kindOf(content []byte) string {
	kind, _, _ := strings.Cut(http.DetectContentType(content), ";")
	if strings.HasPrefix(kind, "text/") && !utf8.Valid(content) {
		return "application/octet-stream"
	}
	return kind
}

// describe lists files for a request: what each is and, unless that differs from machine to
// machine, where.
func describe(files []file, where bool) starlark.Value {
	list := starlark.NewList(nil)
	for _, f := range files {
		d := dict("name", f.name, "type", f.kind, "bytes", int64(len(f.content)), "sha256", f.hash)
		if where && f.path != "" {
			_ = d.SetKey(starlark.String("path"), starlark.String(f.path)) // a fresh dict
		}
		_ = list.Append(d) // a fresh list
	}
	return list
}

// acpFiles are the blocks of files: an image as it is for an agent that takes images, else a link,
// which every agent takes.
func acpFiles(files []file, able acp.PromptCapabilities) []acp.ContentBlock {
	var blocks []acp.ContentBlock
	for _, f := range files {
		if f.isImage() && able.Image {
			blocks = append(blocks, acp.ImageBlock(f.base64(), f.kind))
			continue
		}
		at := url.URL{Scheme: "file", Path: filepath.ToSlash(f.path)}
		link := acp.ResourceLinkBlock(f.name, at.String())
		link.ResourceLink.MimeType = &f.kind
		blocks = append(blocks, link)
	}
	return blocks
}

// unreadable is why a model behind an API cannot be given a file, nil where it can.
func (f *file) unreadable() error {
	if f.isImage() || f.isText() || f.kind == pdfKind {
		return nil
	}
	return fmt.Errorf("%s is %s; a model takes images (PNG, JPEG, GIF, WebP), PDFs and texts in UTF-8", f.name, f.kind)
}

// madeFiles are the paths of those that were made for the attempt, for a sandbox to show.
func madeFiles(q Question) []string {
	var paths []string
	for _, f := range q.Files {
		if f.made {
			paths = append(paths, f.path)
		}
	}
	return paths
}

// apart tells whether the agent is not on this machine.
func (d Definition) apart() bool {
	return d.Backend == backendAnthropic || d.Backend == backendOpenAI
}

// attached are the files that an attempt is given: none where the agent has had them.
func attached(q Question, continued bool) []file {
	if continued && !q.GoesOn {
		return nil
	}
	return q.Files
}
