package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"starling/cmd/starling/brought"
	"starling/runtime"
	"starling/runtime/archive"
)

// importVerb is a call of the verb import.
type importVerb struct{ call *call }

// importCommand is the verb import.
func importCommand(c *call) *cobra.Command {
	v := &importVerb{call: c}
	var trust bool
	cmd := &cobra.Command{
		Use:     "import FILE",
		Short:   "Take a run from a file",
		GroupID: "store",
		Long: `Take the run that starling export wrote to FILE into this store, with its child runs: all of
them or nothing. Its decisions are marked as imported. Nobody carries it until you resume it. A file
that was imported before adds nothing.

The runs bring the project that they worked under, and import says what is in it: agents, programs,
tool servers and whatever else it names. None of it is used. They work under the project here, and
what that cannot serve is asked about at a gate. With --trust-project they work under the one that
came with them, in the workspace that it was in; also those that were imported before.`,
		Args: operands(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return v.importFile(cmd.Context(), args[0], trust)
		},
	}
	cmd.Flags().BoolVar(&trust, "trust-project", false,
		"work under the project that came with the runs, with its commands and its workspace")
	c.jsonFlag(cmd)
	return cmd
}

// importedDocument is the JSON form of an import.
type importedDocument struct {
	*runtime.Imported
	Brings []brought.Item `json:"brings"`
}

func (v *importVerb) importFile(ctx context.Context, path string, trust bool) error {
	file, err := readExported(path)
	if err != nil {
		return usage("", "import: %v", err)
	}
	export, err := archive.Read(file)
	if err != nil {
		return err // a store is made for a run, not for a mistake
	}
	settings, err := v.call.settings(v.call.place.Project, "")
	if err != nil {
		return err
	}
	s, importer, err := openFor[runtime.Archive](ctx, v.call, v.call.staying(true))
	if err != nil {
		return err
	}
	defer v.call.leave(s)
	if err := v.call.trusts(ctx, s, settings); err != nil {
		return err
	}
	done, err := importer.Import(ctx,
		runtime.ImportRequest{File: file, Settings: *settings, TrustProject: trust})
	if err != nil {
		return err
	}
	if v.call.json {
		return v.call.answerJSON(importedDocument{done, brought.Of(export)})
	}
	known := ""
	if done.Known {
		known = " (it was here already)"
	}
	v.call.print("imported %s: %s%s", done.Run, done.Status, known)
	v.call.print("  project  %s", projectWords(done.Project))
	v.call.print("  came with it:")
	if err := brought.Print(v.call.stdout, brought.Of(export)); err != nil {
		return err
	}
	if !done.Status.Ended() {
		v.call.notice("  %s", v.call.command("resume", done.Run))
	}
	return nil
}

// projectWords says which project a run works under, and whose it is.
func projectWords(p *runtime.Project) string {
	file := "none"
	if p.File != "" {
		file = brought.Word(filepath.Clean(p.File))
	}
	switch p.From {
	case runtime.ProjectLocal:
		return file + ", of this machine: the run was imported"
	case runtime.ProjectExport:
		return file + ", as it came with the run, which was imported and trusted"
	case runtime.ProjectKept:
		return file + ", as it came with the run, which an earlier build has imported"
	}
	return file
}

func readExported(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	file, err := io.ReadAll(io.LimitReader(f, runtime.MaxExport+1))
	if err == nil && len(file) > runtime.MaxExport {
		err = fmt.Errorf("%s is larger than %d bytes", path, runtime.MaxExport)
	}
	return file, err
}
