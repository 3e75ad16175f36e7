package cli

import (
	goruntime "runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"starling/lang"
	"starling/runtime"
)

// versionVerb is a call of the verb version.
type versionVerb struct{ *call }

// versionCommand is the verb version.
func versionCommand(c *call) *cobra.Command {
	v := &versionVerb{call: c}
	cmd := &cobra.Command{
		Use:     "version",
		Short:   "Print the version",
		GroupID: "store",
		Args:    operands(0, 0),
		RunE:    func(*cobra.Command, []string) error { return v.version() },
	}
	c.jsonFlag(cmd)
	return cmd
}

// versionDocument says which build this is and what it understands.
type versionDocument struct {
	Schema   string `json:"schema"`
	Version  string `json:"version"`
	Revision string `json:"revision"` // of the source, "" if the build does not know
	Dialect  int    `json:"dialect"`  // of the language
	Go       string `json:"go"`
}

// version tells which build this is.
func (v *versionVerb) version() error {
	doc := versionDocument{Schema: runtime.Schema, Version: buildVersion(), Dialect: lang.Dialect, Go: goruntime.Version()}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				doc.Revision = s.Value
			}
		}
	}
	if v.json {
		return v.answerJSON(doc)
	}
	v.print("starling %s, dialect %d, %s", doc.Version, doc.Dialect, doc.Go)
	return nil
}

// buildVersion is the version of this build, for people.
func buildVersion() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" {
		return "(devel)"
	}
	return info.Main.Version
}
