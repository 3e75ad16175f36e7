// Package layout is the verb fmt: it lays out the files of scripts as starling/lang/format does.
package layout

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/aymanbagabas/go-udiff"
	"github.com/spf13/cobra"

	"starling/cmd/starling/sources"
	"starling/lang"
	"starling/lang/diagnostic"
	"starling/lang/format"
	"starling/runtime"
)

// standard is the operand that stands for standard input, and the name that its text has.
const standard, standardName = "-", "<stdin>"

// Host is where the verb is called.
type Host struct {
	Stdin   io.Reader
	Stdout  io.Writer
	Raw     io.Writer                              // standard output, for texts that go on to a program
	Scripts func(operand string) ([]string, error) // the files of an operand, which may be a folder
	JSON    func() bool                            // whether a document is wanted
	Answer  func(document any) error               // prints it
}

// document is what fmt says in JSON.
type document struct {
	Schema string    `json:"schema"`
	Files  []changed `json:"files"` // those that are not laid out, or were not
}

type changed struct {
	File    string `json:"file"`
	Diff    string `json:"diff"`
	Written bool   `json:"written"`
}

// verb is a call of fmt.
type verb struct {
	Host

	check, diff bool
	differ      []changed       // files that are not laid out
	refused     diagnostic.List // what could not be laid out, and why
}

// Command is the verb fmt.
func Command(h Host, args cobra.PositionalArgs) *cobra.Command {
	v := &verb{Host: h}
	cmd := &cobra.Command{
		Use:     "fmt FILE|FOLDER...",
		Short:   "Lay out scripts",
		GroupID: "scripts",
		Long: `Lay out scripts: the program stays the same, and so do its comments. Lines of more than 100 columns are broken. Files are written where they change, and their names are printed. Of a folder every
.star file in it is laid out, save those below a folder whose name begins with a dot. - is a script on standard input, which is written to standard output.
A file that is no script is left as it is, and the others are laid out all the same.`,
		Example: "  starling fmt --check -d scripts",
		Args:    args,
		RunE:    func(_ *cobra.Command, operands []string) error { return v.layOut(operands) },
	}
	cmd.Flags().BoolVar(&v.check, "check", false, "write nothing, and fail if a file is not laid out")
	cmd.Flags().BoolVarP(&v.diff, "diff", "d", false, "write nothing, and print what would change")
	return cmd
}

func (v *verb) layOut(operands []string) error {
	for _, operand := range operands {
		if err := v.operand(operand); err != nil {
			return err
		}
	}
	if v.JSON() {
		if err := v.Answer(document{runtime.Schema, append([]changed{}, v.differ...)}); err != nil {
			return err
		}
	}
	switch n := len(v.differ); {
	case len(v.refused) > 0:
		return v.refused
	case v.check && n == 1:
		return runtime.Refuse(runtime.ErrCheckFailed, "starling fmt writes it", "1 file is not laid out")
	case v.check && n > 0:
		return runtime.Refuse(runtime.ErrCheckFailed, "starling fmt writes them", "%d files are not laid out", n)
	}
	return nil
}

func (v *verb) operand(operand string) error {
	if operand == standard {
		return v.standardInput()
	}
	files, err := v.Scripts(operand)
	if err != nil {
		return err
	}
	for _, path := range files {
		text, err := sources.Read(path)
		if err != nil {
			return runtime.Refusef(runtime.ErrUsage, "cannot read %s: %v", path, runtime.Reason(err))
		}
		if err := v.file(path, text, func(laid []byte) error { return sources.Replace(path, laid) }); err != nil {
			return err
		}
	}
	return nil
}

// standardInput lays out what is read there. Unless it is only looked at, as for a document, what
// comes of it is written even where nothing changes.
func (v *verb) standardInput() error {
	text, err := io.ReadAll(io.LimitReader(v.Stdin, lang.MaxSource+1))
	if err != nil {
		return runtime.Refusef(runtime.ErrUsage, "cannot read standard input: %v", err)
	}
	if v.check || v.diff || v.JSON() {
		return v.file(standardName, text, nil)
	}
	laid, err := format.Source(standardName, text)
	if err != nil {
		return err
	}
	_, err = v.Raw.Write(laid)
	return err
}

// file lays out one text, and says what has become of it.
func (v *verb) file(name string, text []byte, write func(laid []byte) error) error {
	laid, err := format.Source(name, text)
	var list diagnostic.List
	switch {
	case errors.As(err, &list):
		v.refused = append(v.refused, list...)
		return nil
	case err != nil || bytes.Equal(laid, text):
		return err
	}
	written := !v.check && !v.diff && write != nil
	diff := udiff.Unified(name, name, string(text), string(laid))
	v.differ = append(v.differ, changed{name, diff, written})
	switch {
	case v.JSON():
	case v.diff:
		fmt.Fprint(v.Stdout, diff)
	default:
		fmt.Fprintln(v.Stdout, name)
	}
	if !written {
		return nil
	}
	return write(laid)
}
