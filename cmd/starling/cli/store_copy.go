package cli

import (
	"cmp"
	"context"
	"errors"
	"path/filepath"

	"github.com/spf13/cobra"

	"starling/cmd/starling/place"
	"starling/runtime"
	"starling/runtime/postgres"
	"starling/runtime/transfer"
)

// movedDocument is what store copy prints.
type movedDocument struct {
	Schema string `json:"schema"`
	From   string `json:"from"`
	To     string `json:"to"`
	*transfer.Report
}

func copyCommand(c *call) *cobra.Command {
	v := &storeVerb{call: c}
	cmd := &cobra.Command{
		Use:   "copy FROM TO",
		Short: "Move the store to another place, a folder or a database",
		Long: `Move the store to another place, a folder or a database: postgres://USER@HOST/NAME. Nobody may own either meanwhile.

The old store then refuses to open, naming the new one. What was interrupted is repeated with the same command,
which says so where nothing is left to do. With TO FROM the move is
taken back, as long as nothing was committed to the new store.`,
		Example: "  starling store copy .starling postgres://starling@db.example.org/starling",
		Args:    operands(2, 2),
		RunE:    func(cmd *cobra.Command, args []string) error { return v.copy(cmd.Context(), args[0], args[1]) },
	}
	c.jsonFlag(cmd)
	return cmd
}

func (v *storeVerb) copy(ctx context.Context, from, to string) error {
	if v.call.serverFlag != "" {
		return usage("", "store copy works on this machine")
	}
	if err := cmp.Or(place.Scheme(from), place.Scheme(to)); err != nil {
		return err
	}
	a, b := v.placeOf(from), v.placeOf(to)
	r, err := transfer.Move(ctx, a, b)
	switch {
	case errors.Is(err, runtime.ErrLocked):
		refusal := runtime.AsRefusal(err)
		return refusal.WithHelp("%s", cmp.Or(refusal.Help, "end its owner with starling stop, or where it runs, and repeat this"))
	case err != nil:
		return err
	case v.call.json:
		return v.call.answerJSON(movedDocument{runtime.Schema, a.Name(), b.Name(), r})
	case r.Already:
		v.call.print("%s: %s was moved there before; nothing is left to do", b.Name(), a.Name())
		return nil
	case r.Back:
		v.call.print("%s: taken back; nothing was committed to %s", b.Name(), a.Name())
		return nil
	}
	v.call.print("%s: %d keys, %s, %d runs; %s was moved and opens no more", b.Name(), r.Keys, megabytes(r.Bytes), r.Runs, a.Name())
	return nil
}

// placeOf is where a store is or is to be.
func (v *storeVerb) placeOf(name string) transfer.Place {
	if postgres.IsAddress(name) {
		return transfer.Database{Address: name, Warn: v.call.notice}
	}
	path, err := filepath.Abs(name)
	if err != nil {
		path = name
	}
	return transfer.Folder(path)
}
