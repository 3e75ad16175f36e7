package main

import (
	goruntime "runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"starling/lang"
	"starling/runtime"
)

// versionCommand is the verb version.
func (c *call) versionCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "version",
		Short:   "Print the version",
		GroupID: "store",
		Args:    operands(0, 0),
		RunE:    func(*cobra.Command, []string) error { return c.version() },
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
func (c *call) version() error {
	doc := versionDocument{Schema: runtime.Schema, Version: buildVersion(), Dialect: lang.Dialect, Go: goruntime.Version()}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				doc.Revision = s.Value
			}
		}
	}
	if c.json {
		return c.answerJSON(doc)
	}
	c.print("starling %s, dialect %d, %s", doc.Version, doc.Dialect, doc.Go)
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
