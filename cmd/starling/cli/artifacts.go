package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"

	"github.com/spf13/cobra"

	"starling/cmd/starling/connect"
	"starling/cmd/starling/table"
	"starling/runtime"
	"starling/runtime/query"
)

// artifactsVerb is a call of the verb artifacts.
type artifactsVerb struct{ call *call }

// artifactsCommand is the verb artifacts.
func artifactsCommand(c *call) *cobra.Command {
	v := &artifactsVerb{call: c}
	var out string
	cmd := &cobra.Command{
		Use:     "artifacts RUN [STEP]",
		Short:   "List what a run's steps have left, or write it to files",
		GroupID: "look",
		Long: `List what the steps of RUN have left, by content hash: output.json, what the step came to; events.jsonl, what its agent said on the way,
and tool-calls.jsonl, those of tools; transcript.txt and whatever else its attempts have kept. With --out they are written to DIR/STEP/NAME.`,
		Args: operands(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return v.artifacts(cmd.Context(), args[0], append(args, "")[1], out)
		},
	}
	cmd.Flags().StringVar(&out, "out", "", "write them below `DIR`")
	c.jsonFlag(cmd)
	return cmd
}

// artifactsDocument is what artifacts prints.
type artifactsDocument struct {
	Schema    string             `json:"schema"`
	Run       string             `json:"run"`
	Artifacts []runtime.Artifact `json:"artifacts"`
}

func (v *artifactsVerb) artifacts(ctx context.Context, address, step, out string) error {
	return v.call.lookAt(ctx, address, func(s connect.Session, r *runtime.Run) error {
		found, err := query.Artifacts(ctx, s, r.ID, query.Address(step))
		if err == nil && out != "" {
			err = writeArtifacts(ctx, s, found, out)
		}
		switch {
		case err != nil:
			return err
		case v.call.json:
			return v.call.answerJSON(artifactsDocument{runtime.Schema, r.ID, found})
		}
		t := table.New(v.call.paper(), "STEP", "NAME", "BYTES", "SHA-256").NamedBy(1)
		for _, a := range found {
			t.Row(query.Name(a.Step), a.Name, a.Size, a.Hash)
		}
		return t.Write(v.call.stdout)
	})
}

// writeArtifacts writes artifacts below a folder. Names of steps come from scripts: nothing leads
// out of it.
func writeArtifacts(ctx context.Context, s connect.Session, list []runtime.Artifact, dir string) error {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return usage("", "--out: %v", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return usage("", "--out: %v", err)
	}
	defer root.Close()
	for _, a := range list {
		content, err := a.Content(ctx, s)
		if err != nil {
			return err
		}
		if err := errors.Join(root.MkdirAll(a.Step, 0o777), root.WriteFile(path.Join(a.Step, a.Name), content, 0o666)); err != nil {
			return fmt.Errorf("--out: %w", err)
		}
	}
	return nil
}
