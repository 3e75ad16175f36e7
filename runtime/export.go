package runtime

import (
	"context"

	"starling/lang/effect"
)

// MaxExport bounds the file of an export, in bytes.
const MaxExport = 256 << 20

// Archive moves runs between stores. It is served by engine.Local and by a client of its socket;
// what reads a store serves Export.
type Archive interface {
	// Export gives a run with its child runs as a file. A child run is refused: its parent is to be
	// exported.
	Export(ctx context.Context, run string) ([]byte, error)

	// Import makes the runs of a file runs of this store, all of them or none. Nobody carries them
	// yet. Decisions are marked as imported. They work under the settings of the request, and what
	// belongs to a run for life stays; under those that came with them only where the request
	// trusts these. A file that was imported before adds nothing, but a request that trusts has its
	// runs, as far as they were imported and have not ended, go on under what came with them. It is
	// refused with not_an_export, newer or damaged for a file that is not one of this format, and
	// with exists where a run with the id is there and has another journal. It needs the capability
	// admin.
	Import(ctx context.Context, r ImportRequest) (*Imported, error)
}

// ImportRequest brings runs from another store.
type ImportRequest struct {
	File     []byte          `json:"-"`        // what Export gave
	Settings effect.Settings `json:"settings"` // under which the runs work here

	// TrustProject has them work under the project and in the workspace that came with them.
	TrustProject bool `json:"trust_project,omitempty"`
}

// Imported is what an import has added.
type Imported struct {
	Schema  string   `json:"schema"`
	Run     string   `json:"run"`
	Runs    []string `json:"runs"` // it and its child runs
	Status  Status   `json:"status"`
	Known   bool     `json:"known,omitempty"` // the file was imported before: nothing was added
	Project *Project `json:"project"`         // under which the run works
}
