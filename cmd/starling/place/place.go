// Package place finds where a command works: the project, and the store.
package place

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"starling/lang/effect"
	"starling/runtime"
	"starling/runtime/postgres"
	"starling/stdlib/project"
	"starling/stdlib/redact"
	"starling/stdlib/secret"
)

const (
	ProjectFile  = "starling.toml" // of a project
	StoreFolder  = ".starling"     // the store of a project, where nothing else is said
	repositoryOf = ".git"
)

// Place is where a command works. All paths are absolute.
type Place struct {
	Work    string // the current directory
	Root    string // the project: where starling.toml is, else the current directory
	Project string // the path of starling.toml, "" without one
	// Store is the directory of the store. Of a store in a database it is the folder in which this
	// machine keeps what is its own: who owns the store here, locks, and what was acknowledged.
	Store    string
	Database string         // the address of the database that holds the store, with its secrets; "" for none
	Lease    time.Duration  // of the owner of a store in a database, 0 for the usual
	Engine   project.Engine // server that drives the runs; its Key is the key itself
	Contents string         // the address of the database in which what is too large for that server lies, with its secrets; "" for none
	// Err is why the store cannot be named. It counts for what needs the store.
	Err error
}

// Name is the store as people may see it.
func (p *Place) Name() string {
	switch {
	case p.Engine.Temporal != "":
		return "the Temporal server " + p.Engine.Temporal
	case p.Database != "":
		return postgres.Name(p.Database)
	}
	return p.Store
}

// Home is a path in the folder of the project that the store belongs to.
func (p *Place) Home() string {
	if p.Database != "" {
		return filepath.Join(p.Root, StoreFolder)
	}
	return p.Store
}

// Find finds project and store: the store is the one that is asked for, a directory or the address
// of a database; else the one that starling.toml names; else .starling in the project.
func Find(ctx context.Context, asked string, getenv func(string) (string, bool)) (*Place, error) {
	work, err := os.Getwd()
	if err != nil {
		return nil, runtime.Refusef(runtime.ErrInternal, "cannot tell the current directory: %v", err)
	}
	p := &Place{Work: work, Root: work}
	if dir, ok := FindProject(work); ok {
		p.Root, p.Project = dir, filepath.Join(dir, ProjectFile)
	}
	if p.Project != "" {
		p.Err = p.read(ctx, asked == "", getenv)
	}
	if err := Scheme(asked); err != nil {
		p.Err, asked = err, ""
	}
	if postgres.IsAddress(asked) {
		p.Database = asked
	}
	if p.Database != "" && p.Err == nil {
		p.Store, p.Err = folderOf(p.Database, getenv)
		return p, nil
	}
	p.Store, err = filepath.Abs(cmp.Or(asked, filepath.Join(p.Root, StoreFolder)))
	return p, err
}

// Scheme refuses a store whose name begins as an address does, but as none that there is: a folder
// of that name is not what was meant. What is behind the scheme may be a secret.
func Scheme(store string) error {
	scheme, _, is := strings.Cut(store, "://")
	if !is || postgres.IsAddress(store) || strings.Trim(strings.ToLower(scheme), "abcdefghijklmnopqrstuvwxyz0123456789+.-") != "" {
		return nil
	}
	help := "postgres://USER@HOST:5432/DATABASE, or the path of a folder"
	if scheme == "http" || scheme == "https" {
		help += "; --server URL asks another machine"
	}
	return runtime.Refuse(runtime.ErrUsage, help, "the store: got an address that begins with %s://, want postgres://, postgresql:// or a folder", scheme)
}

// read reads what the project says of its store. A file that cannot be read says nothing, unless it
// may say where the store is.
func (p *Place) read(ctx context.Context, wanted bool, getenv func(string) (string, bool)) error {
	text, err := os.ReadFile(p.Project)
	if err != nil || !bytes.Contains(text, []byte("[store]")) && !bytes.Contains(text, []byte("[engine]")) {
		return nil
	}
	f, err := project.Parse(ProjectFile, text)
	if err != nil {
		if wanted && (bytes.Contains(text, []byte("url")) || bytes.Contains(text, []byte("[engine]"))) {
			return err
		}
		return nil
	}
	p.Lease = f.Lease
	a := &effect.Attempt{Env: getenv, Settings: &effect.Settings{ProjectFile: p.Project, Project: text}}
	if !wanted {
		return nil
	}
	database := &p.Database
	if f.Engine.Temporal != "" {
		database = &p.Contents
		if err := p.readEngine(ctx, f, a); err != nil {
			return err
		}
	}
	*database, err = addressIn(ctx, f, a)
	return err
}

// addressIn is the address of the database that [store] names, "" for none.
func addressIn(ctx context.Context, f *project.File, a *effect.Attempt) (string, error) {
	if f.StoreURL == "" {
		return "", nil
	}
	if err := noProgram(f, "[store] url", f.StoreURL); err != nil {
		return "", err
	}
	address, err := filled(ctx, f.StoreURL, a)
	switch {
	case err != nil:
		said, _, _ := strings.Cut(err.Error(), "; set it") // and resume a run, it says to scripts
		return "", runtime.Refuse(runtime.ErrStoreUnreachable, "", "%s: [store] url: %s", ProjectFile, said)
	case !postgres.IsAddress(address):
		return "", runtime.Refuse(runtime.ErrUsage, "such as postgres://USER@HOST:5432/DATABASE", "%s: [store] url is no address of a PostgreSQL database", ProjectFile)
	}
	return address, nil
}

// readEngine takes the server that drives the runs, with its key.
func (p *Place) readEngine(ctx context.Context, f *project.File, a *effect.Attempt) (err error) {
	p.Engine = f.Engine
	if p.Engine.Key == "" {
		return nil
	}
	if err := noProgram(f, "[engine] key", p.Engine.Key); err != nil {
		return err
	}
	if p.Engine.Key, err = secret.Fill(ctx, a, p.Engine.Key, new(redact.Redactor)); err != nil {
		said, _, _ := strings.Cut(err.Error(), "; set it")
		return runtime.Refuse(runtime.ErrStoreUnreachable, "", "%s: [engine] key: %s", ProjectFile, said)
	}
	return nil
}

// noProgram refuses a secret that a program prints where the store is looked for: that is done for
// every command, in a folder that nobody has trusted yet, and trust itself lies in the store.
func noProgram(f *project.File, what, text string) error {
	s, printed := f.Printed(text)
	if !printed {
		return nil
	}
	return runtime.Refuse(
		runtime.ErrUsage, "give the secret by env or file; PGPASSWORD and ~/.pgpass are read as well",
		"%s: %s: the secret %s is printed by a program, and none is started to find the store",
		ProjectFile, what, s.Name)
}

// filled puts secrets into an address: one that is all of it as it is, others escaped as a part.
func filled(ctx context.Context, address string, a *effect.Attempt) (string, error) {
	hidden := new(redact.Redactor) // nothing of it is shown
	if project.Placeholder().FindString(address) == address {
		return secret.Fill(ctx, a, address, hidden)
	}
	var failed error
	address = project.Placeholder().ReplaceAllStringFunc(address, func(m string) string {
		value, err := secret.Fill(ctx, a, m, hidden)
		failed = cmp.Or(failed, err)
		return strings.ReplaceAll(url.QueryEscape(value), "+", "%20")
	})
	return address, failed
}

// folderOf is this machine's folder of a store in a database, one for each user and store.
func folderOf(address string, getenv func(string) (string, bool)) (string, error) {
	state, _ := getenv("XDG_STATE_HOME")
	if !filepath.IsAbs(state) {
		home, ok := getenv("HOME")
		if !ok || !filepath.IsAbs(home) {
			return "", runtime.Refuse(runtime.ErrUsage, "set HOME or XDG_STATE_HOME", "there is no folder for what this machine keeps of %s", postgres.Name(address))
		}
		state = filepath.Join(home, ".local", "state")
	}
	sum := sha256.Sum256([]byte(postgres.Name(address)))
	return filepath.Join(state, "starling", hex.EncodeToString(sum[:8])), nil
}

// Machine is what this machine is called in a store that machines share: its name, and what tells
// it from others of that name. It is "" for a store of this machine alone.
func (p *Place) Machine() (string, error) {
	if p.Database == "" {
		return "", nil
	}
	path := filepath.Join(p.Store, "machine")
	if err := os.MkdirAll(p.Store, 0o700); err != nil {
		return "", err
	}
	mark, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		mark, err = markMachine(path)
	}
	name, _ := os.Hostname() // for people
	return name + "/" + strings.TrimSpace(string(mark)), err
}

// markMachine makes what tells this machine from others, unless another process has just done so.
func markMachine(path string) (mark []byte, err error) {
	temp, err := os.CreateTemp(filepath.Dir(path), "machine.*")
	if err != nil {
		return nil, err
	}
	defer os.Remove(temp.Name())
	_, werr := fmt.Fprintln(temp, strings.ToLower(rand.Text()[:8]))
	if err := errors.Join(werr, temp.Close()); err != nil {
		return nil, err
	}
	if err := os.Link(temp.Name(), path); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	return os.ReadFile(path)
}

// FindProject looks for starling.toml from dir upward, to the root of the repository and no
// further.
func FindProject(dir string) (string, bool) {
	for {
		if Exists(filepath.Join(dir, ProjectFile)) {
			return dir, true
		}
		up := filepath.Dir(dir)
		if up == dir || Exists(filepath.Join(dir, repositoryOf)) {
			return "", false
		}
		dir = up
	}
}

// Exists tells whether there is something at a path.
func Exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
