// Package build says which build of the program this is: the verb version, and what others are
// told.
package build

import (
	"fmt"
	"io"
	goruntime "runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"starling/lang"
	"starling/runtime"
)

// document says which build this is and what it understands.
type document struct {
	Schema   string `json:"schema"`
	Version  string `json:"version"`
	Revision string `json:"revision"` // of the source, "" if the build does not know
	Dialect  int    `json:"dialect"`  // of the language
	Go       string `json:"go"`
}

// Command is the verb version. answer prints a document instead, if that is wanted.
func Command(out io.Writer, answer func(document any) (wanted bool, err error), args cobra.PositionalArgs) *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the version",
		GroupID: "store",
		Args:    args,
		RunE: func(*cobra.Command, []string) error {
			doc := document{runtime.Schema, Version(), revision(), lang.Dialect, goruntime.Version()}
			if wanted, err := answer(doc); wanted || err != nil {
				return err
			}
			_, err := fmt.Fprintln(out, Line())
			return err
		},
	}
}

// Line is the version with what it understands, for people.
func Line() string {
	return fmt.Sprintf("starling %s, dialect %d, %s", Version(), lang.Dialect, goruntime.Version())
}

// Version is that of the tag that the program was built from; of a commit without one it is made of
// its time and hash, and of a source without commits it is "(devel)".
func Version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" {
		return "(devel)"
	}
	return info.Main.Version
}

// revision is the commit that the program was built from.
func revision() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				return s.Value
			}
		}
	}
	return ""
}
