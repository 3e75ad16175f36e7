package main

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"starling/runtime"
	"starling/runtime/wholefile"
)

// exportCommand is the verb export.
func (c *call) exportCommand() *cobra.Command {
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
			return c.export(cmd.Context(), args[0], out)
		},
	}
	cmd.Flags().StringVarP(&out, "output", "o", "", "write to `FILE`, - for standard output")
	return cmd
}

func (c *call) export(ctx context.Context, run, out string) error {
	s, archive, err := openFor[runtime.Archive](ctx, c, c.door().Look)
	if err != nil {
		return err
	}
	defer c.leave(s)
	file, err := archive.Export(ctx, run)
	if err != nil {
		return err
	}
	if out == "-" {
		if f, ok := c.stdout.Raw().(*os.File); ok && isTerminal(f) {
			return usage("-o FILE, or send it on with |", "export: the file is no text for a terminal")
		}
		_, err = c.stdout.Raw().Write(file)
		return err
	}
	err = wholefile.Replace(out, func(w io.Writer) error {
		_, err := w.Write(file)
		return err
	})
	if err != nil {
		return usage("", "export: %v", err)
	}
	c.notice("%s: %d bytes", out, len(file))
	return nil
}

// importCommand is the verb import.
func (c *call) importCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "import FILE",
		Short:   "Take a run from a file",
		GroupID: "store",
		Long: `Take the run that starling export wrote to FILE into this store, with its child runs: all of them or nothing. Its decisions are marked as
imported. Nobody carries it until you resume it. A file that was imported before adds nothing.`,
		Args: operands(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error { return c.importFile(cmd.Context(), args[0]) },
	}
	c.jsonFlag(cmd)
	return cmd
}

func (c *call) importFile(ctx context.Context, path string) error {
	file, err := readExported(path)
	if err != nil {
		return usage("", "import: %v", err)
	}
	if err := runtime.CheckExport(file); err != nil {
		return err // a store is made for a run, not for a mistake
	}
	s, archive, err := openFor[runtime.Archive](ctx, c, c.staying(true))
	if err != nil {
		return err
	}
	defer c.leave(s)
	done, err := archive.Import(ctx, file)
	if err != nil {
		return err
	}
	if c.json {
		return c.answerJSON(done)
	}
	known := ""
	if done.Known {
		known = " (it was here already)"
	}
	c.print("imported %s: %s%s", done.Run, done.Status, known)
	if !done.Status.Ended() {
		c.notice("  %s", c.command("resume", done.Run))
	}
	return nil
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
