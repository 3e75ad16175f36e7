package cli

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"starling/cmd/starling/build"
	"starling/cmd/starling/manpage"
	"starling/cmd/starling/site"
	"starling/cmd/starling/suite"
	"starling/cmd/starling/table"
	"starling/docs"
	"starling/lang"
	"starling/lang/contract"
	"starling/lang/doc"
	"starling/runtime"
	"starling/scripts/gallery"
	"starling/stdlib"
	"starling/stdlib/project"
)

// whole is the tree of all commands, whatever this call is of.
func (c *call) whole() *cobra.Command { return (&call{program: c.program, getenv: c.getenv}).root() }

// man writes the manual for man(1).
func (v *manualVerb) man(folder string) error {
	root := v.call.whole()
	root.Short = strings.TrimSuffix(root.Short, ".")
	if err := manpage.Write(folder, "starling "+build.Version(), root); err != nil {
		return usage("", "doc: --man: %v", err)
	}
	return nil
}

// site makes the pages of all that doc knows.
func (v *manualVerb) site() (*site.Site, error) {
	texts, err := docs.Texts()
	if err != nil {
		return nil, err
	}
	examples, err := gallery.Examples()
	if err != nil {
		return nil, err
	}
	from := site.Sources{Version: build.Line(), Root: v.call.whole(), Entries: doc.Of(v.call.environmentOf(suite.Suffix)), Keys: project.Keys(),
		Example: project.Example(), Docs: texts, Language: lang.Specification, Contracts: contract.Page, Gallery: examples}
	for _, name := range stdlib.LibraryNames() {
		bundle, err := lang.Read(name, nil, stdlib.Library)
		if err != nil {
			return nil, err
		}
		m := bundle.Entry()
		tree, err := lang.FileOptions().Parse(m.Name, m.Source, 0)
		if err != nil {
			return nil, err
		}
		from.Library = append(from.Library, site.Module{Name: name, Entries: doc.File(tree)})
	}
	return site.New(from)
}

func (v *manualVerb) writeSite(folder string) error {
	s, err := v.site()
	if err != nil {
		return err
	}
	if err := s.Write(folder); err != nil {
		return usage("", "doc: --site: %v", err)
	}
	return nil
}

// serveSite serves the pages until the call is interrupted.
func (v *manualVerb) serveSite(ctx context.Context, address string) error {
	s, err := v.site()
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		return usage("--serve=HOST:PORT names another address", "doc: --serve: %v", err)
	}
	server := &http.Server{Handler: s.Handler(), ReadHeaderTimeout: 10 * time.Second}
	stop := context.AfterFunc(ctx, func() { server.Close() })
	defer stop()
	v.call.print("http://%s/", l.Addr())
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return context.Cause(ctx)
}

// searched is what doc --search prints with --json.
type searched struct {
	Schema string       `json:"schema"`
	Found  []site.Found `json:"found"`
}

// search prints what has some words, and how it is read.
func (v *manualVerb) search(words string) error {
	s, err := v.site()
	if err != nil {
		return err
	}
	found := s.Search(words)
	if v.call.json {
		return v.call.answerJSON(searched{runtime.Schema, append([]site.Found{}, found...)})
	}
	if len(found) == 0 {
		return runtime.Refuse(runtime.ErrUnknownName, v.call.command("doc", "--list")+" lists the names", "doc: nothing has all of %q", words)
	}
	paper := v.call.paper()
	for i, f := range found {
		if i > 0 {
			v.call.print("")
		}
		title := f.Title
		if f.Page != f.Title {
			title += "  (" + f.Page + ")"
		}
		fmt.Fprintln(v.call.stdout.Raw(), paper.Line(table.Bold(title)))
		v.call.print("%s", paper.Fit("  "+f.Around))
		if command, words, _ := strings.Cut(f.Read, " "); command == "starling" {
			v.call.print("  %s", v.call.command(strings.Fields(words)...))
		}
	}
	return nil
}
