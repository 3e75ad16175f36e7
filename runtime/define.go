package runtime

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"starling/lang"
	"starling/lang/effect"
)

// Definitions keeps scripts under names: each change of a script is a further version, and none is
// ever lost. A run that is started from one is pinned to its text like any other; the name tells
// people which it was. It is served by engine.Local, by a client of its socket and, for looking, by
// what reads a store.
type Definitions interface {
	// Define keeps a script under a name. The text of the newest version, defined again, is that
	// version: nothing is added. A name that is taken is denied but to who made it and to admins.
	Define(ctx context.Context, r DefineRequest) (*Definition, error)

	// Defined lists what is kept: the newest version of every name for "", all versions of NAME,
	// the newest first, or the one that is NAME@VERSION.
	Defined(ctx context.Context, address string) ([]Definition, error)
}

// DefineRequest asks to keep a script under a name.
type DefineRequest struct {
	Key    string `json:"key"` // idempotency; "" means the request is not repeatable
	Name   string `json:"name"`
	Bundle []byte `json:"bundle"` // the script and all it loads, encoded
}

// Definition is one version of a script.
type Definition struct {
	Name    string    `json:"name"`
	Version int       `json:"version"` // from 1
	Script  string    `json:"script"`  // the file it was read from
	Bundle  string    `json:"bundle"`  // hash of the sources, as [Engine.Blob] wants it
	Program string    `json:"program"` // hash of the program
	By      string    `json:"by"`
	At      time.Time `json:"at"`
	Foreign bool      `json:"foreign,omitempty"` // defined by somebody who may not bring a project file: it uses what the project grants to its name
	Known   bool      `json:"known,omitempty"`   // the request added nothing: this version was there
}

// Address is how runs name the version they were started from: NAME@VERSION.
func (d *Definition) Address() string { return d.Name + "@" + strconv.Itoa(d.Version) }

// ScriptSuffix ends the names of files; no definition's name ends with it, so that a word is told
// to be one or the other by its look.
const ScriptSuffix = ".star"

// CheckDefinitionName tells whether a script may be kept under a name: it is a name as steps have
// them, and does not look like a file's.
func CheckDefinitionName(name string) error {
	if err := effect.CheckName(name); err != nil {
		return err
	}
	if strings.HasSuffix(name, ScriptSuffix) {
		return fmt.Errorf("got the name %q, which looks like a file; want one that does not end with %s", name, ScriptSuffix)
	}
	return nil
}

// NamesDefinition tells whether a word names a definition, NAME or NAME@VERSION, and not a file.
// The word alone decides, so that no file that comes or goes changes what a command means.
func NamesDefinition(word string) bool {
	name, _, _ := strings.Cut(word, "@")
	return !lang.NamesFile(word) && CheckDefinitionName(name) == nil
}

// Extension gives an interface that an engine serves beside [Engine], such as [Definitions]. One
// that serves it not refuses it as unsupported.
func Extension[I any](e Engine) (I, error) {
	f, ok := any(e).(I)
	if !ok {
		name := strings.TrimPrefix(fmt.Sprintf("%T", (*I)(nil)), "*runtime.")
		return f, Refuse(ErrUnsupported, "a store in a folder or in PostgreSQL has it", "the engine of these runs has no %s", strings.ToLower(name))
	}
	return f, nil
}
