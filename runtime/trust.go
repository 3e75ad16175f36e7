package runtime

import (
	"context"
	"fmt"
	"strings"
	"time"

	"starling/lang/effect"
)

// Trusts keeps what projects were when they were last trusted. It is served by engine.Local and by
// a client of its socket.
type Trusts interface {
	// Trust compares a project as the caller has read it with what is trusted, and trusts it unless
	// the request only looks. It needs the capability admin.
	Trust(ctx context.Context, r TrustRequest) (*Trust, error)
}

// TrustRequest is a project.
type TrustRequest struct {
	Settings effect.Settings `json:"settings"`
	Look     bool            `json:"look,omitempty"` // nothing is kept
}

// Trust is how a project stands to what is trusted.
type Trust struct {
	Folder  string    `json:"folder"`
	Known   bool      `json:"known"`              // something was trusted before
	By      string    `json:"by,omitempty"`       // who trusted it
	At      time.Time `json:"at,omitzero"`        // and when
	Added   int       `json:"added"`              // lines of starling.toml
	Removed int       `json:"removed"`            // lines of starling.toml
	Diff    string    `json:"diff,omitempty"`     // those lines, behind "+" and "-"
	Files   []string  `json:"files,omitempty"`    // files that its commands name and that are others now
	Before  string    `json:"previous,omitempty"` // the lines in which it differs from what was trusted before
}

// Changed tells whether it is another project than the one that is trusted.
func (t *Trust) Changed() bool { return t.Known && (t.Diff != "" || len(t.Files) > 0) }

// Summary says in a few words what has changed.
func (t *Trust) Summary() string {
	var words []string
	if t.Diff != "" {
		words = append(words, fmt.Sprintf("starling.toml: +%d -%d", t.Added, t.Removed))
	}
	return strings.Join(append(words, t.Files...), ", ")
}
