package cli

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"

	"github.com/spf13/cobra"

	"starling/runtime"
	"starling/runtime/wholefile"
)

// exportVerb is a call of the verb export.
type exportVerb struct{ call *call }

// exportCommand is the verb export.
func exportCommand(c *call) *cobra.Command {
	v := &exportVerb{call: c}
	var out string
	cmd := &cobra.Command{
		Use:     "export RUN -o FILE",
		Short:   "Write a run with its child runs to a file",
		GroupID: "store",
		Long: `Write RUN with its child runs, its program and its artifacts to a file, which starling import takes on another machine. Values of environment
variables are never in it. RUN itself stays as it is: cancel it here if it is to go on there.`,
		Args: operands(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if out == "" {
				return usage("starling export RUN -o FILE; - is standard output", "export: got no file to write to")
			}
			return v.export(cmd.Context(), args[0], out)
		},
	}
	c.jsonFlag(cmd)
	cmd.Flags().StringVarP(&out, "output", "o", "", "write to `FILE`, - for standard output")
	return cmd
}

// exportDocument is what export says in JSON.
type exportDocument struct {
	Schema string `json:"schema"`
	Run    string `json:"run"`
	File   string `json:"file"`
	Bytes  int    `json:"bytes"`
	SHA256 string `json:"sha256"` // of the file
}

func (v *exportVerb) export(ctx context.Context, run, out string) error {
	s, archive, err := openFor[runtime.Archive](ctx, v.call, v.call.door().OpenReader)
	if err != nil {
		return err
	}
	defer v.call.leave(s)
	if out == "-" && v.call.json {
		return usage("-o FILE", "export: standard output has the run or the document, not both")
	}
	file, err := archive.Export(ctx, run)
	if err != nil {
		return err
	}
	if out == "-" {
		if f, ok := v.call.stdout.File(); ok && isTerminal(f) {
			return usage("-o FILE, or send it on with |", "export: the file is no text for a terminal")
		}
		_, err = v.call.stdout.Raw().Write(file)
		return err
	}
	err = wholefile.Put(out, func(w io.Writer) error {
		_, err := w.Write(file)
		return err
	})
	if err != nil {
		return usage("", "export: %v", err)
	}
	if v.call.json {
		r, err := s.Get(ctx, run)
		if err != nil {
			return err
		}
		sum := sha256.Sum256(file)
		return v.call.answerJSON(exportDocument{runtime.Schema, r.ID, out, len(file), hex.EncodeToString(sum[:])})
	}
	v.call.notice("%s: %d bytes", out, len(file))
	return nil
}
