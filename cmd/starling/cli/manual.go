package cli

import (
	"cmp"
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"starling/cmd/starling/manual"
	"starling/cmd/starling/suite"
	"starling/docs"
	"starling/lang"
	"starling/lang/check"
	"starling/lang/diagnostic"
	"starling/lang/doc"
	"starling/runtime"
	"starling/stdlib"
)

// manualVerb is a call of the verb manual.
type manualVerb struct {
	call                         *call
	list                         bool
	words, address, folder, roff string
}

// docCommand is the verb doc. It needs no store and touches none.
func docCommand(c *call) *cobra.Command {
	v := &manualVerb{call: c}
	cmd := &cobra.Command{
		Use:     "doc [NAME|FILE.star]",
		Short:   "Say what a name of the language means",
		GroupID: "scripts",
		Long: `Say what a name that scripts can use means: a builtin (gate), a module (http), a method (string.split, or split), a type (Result). Without a name, or with
--list, all of them with a sentence each. starling.toml is every key of the project file, and contracts the language of contracts; docs/NAME.md is a text of the guide, and lang/spec.md the language. Of a file, FILE.star or @std/NAME.star of the library, the functions that it defines.

All of it, with the commands and the gallery, is also a set of pages: --serve shows them to a browser on this machine, --site writes them into a folder, for any server or none, and --search looks
for words. --man writes the manual of the commands for man.`,
		Example: "  starling doc gate\n  starling doc --search 'idempotency key'\n  starling doc --serve\n  starling doc --man ~/.local/share/man/man1",
		Args:    operands(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if done, err := v.pages(cmd, args); done {
				return err
			}
			if len(args) > 0 && strings.HasSuffix(args[0], runtime.ScriptSuffix) {
				return v.docFile(args[0])
			}
			if page, ok := v.page(strings.Join(args, "")); ok {
				v.call.print("%s", v.call.paper().Fit(strings.TrimSpace(page)))
				return nil
			}
			entries := doc.Of(c.environmentOf(suite.Suffix))
			if v.list || len(args) == 0 {
				return v.docList(entries)
			}
			return v.doc(entries, args[0])
		},
	}
	f := cmd.Flags()
	f.BoolVar(&v.list, "list", false, "list all names")
	f.StringVar(&v.words, "search", "", "look for `WORDS` in everything that is written")
	f.StringVar(&v.address, "serve", "", "serve the pages at `HOST:PORT`; without one at 127.0.0.1:7073")
	f.Lookup("serve").NoOptDefVal = "127.0.0.1:7073"
	f.StringVar(&v.folder, "site", "", "write the pages into the folder `DIR`")
	f.StringVar(&v.roff, "man", "", "write the manual for man into the folder `DIR`")
	c.jsonFlag(cmd)
	return cmd
}

// pages does what the flags of pages say, of which there may be one, and no name.
func (v *manualVerb) pages(cmd *cobra.Command, args []string) (done bool, _ error) {
	given := 0
	for _, name := range []string{"list", "search", "serve", "site", "man"} {
		if cmd.Flags().Changed(name) {
			given++
		}
	}
	switch {
	case given > 1 || given == 1 && len(args) > 0:
		return true, usage("", "doc: --list, --search, --serve, --site, --man and NAME exclude each other")
	case v.words != "":
		return true, v.search(v.words)
	case v.address != "":
		return true, v.serveSite(cmd.Context(), v.address)
	case v.folder != "":
		return true, v.writeSite(v.folder)
	case v.roff != "":
		return true, v.man(v.roff)
	}
	return false, nil
}

// page is a text as a whole, of those that are no name.
func (v *manualVerb) page(name string) (string, bool) {
	if page, ok := manual.Page(name, v.call.paper().Width); ok {
		return page, true
	}
	if name == "lang/spec.md" {
		return lang.Specification, true
	}
	texts, err := docs.Texts()
	return texts[name], err == nil && texts[name] != ""
}

// docDocument is what doc prints.
type docDocument struct {
	Schema  string      `json:"schema"`
	Entries []doc.Entry `json:"entries"`
}

// doc prints what is written about a name; of a module or a type, its members with a sentence each.
func (v *manualVerb) doc(entries []doc.Entry, name string) error {
	found, err := doc.Find(entries, name)
	if d := (diagnostic.Diagnostic{}); errors.As(err, &d) {
		return runtime.Refuse(runtime.ErrUnknownName, cmp.Or(d.Hint, v.call.command("doc", "--list")+" lists the names"), "%s", d.Message)
	}
	if v.call.json {
		return v.call.answerJSON(docDocument{runtime.Schema, found})
	}
	var members []doc.Entry
	for i, e := range found {
		if i > 0 && strings.HasPrefix(e.Name, name+".") {
			members = append(members, e)
			continue
		}
		if i > 0 {
			v.call.print("")
		}
		manual.Entry(v.call.stdout, v.call.paper().Fit, e)
	}
	if len(members) > 0 {
		v.call.print("")
		manual.Rows(v.call.stdout, v.call.paper().Fit, members)
	}
	return nil
}

// docFile prints what the functions of a script say of themselves.
func (v *manualVerb) docFile(script string) error {
	read := v.call.readBundle
	if strings.HasPrefix(script, stdlib.LibraryPrefix) {
		read = func(name string) (*lang.Bundle, error) { return lang.Read(name, nil, stdlib.Library) }
	}
	bundle, err := read(script)
	if err != nil {
		return err
	}
	m := bundle.Entry()
	tree, err := lang.FileOptions().Parse(m.Name, m.Source, 0)
	if err != nil {
		return err
	}
	found := append([]doc.Entry{}, doc.File(tree)...)
	types, _ := lang.Signatures(bundle, v.call.environmentOf(script), check.Project{}) // of a script that check refuses none are known
	for i, e := range found {
		if t, ok := types[e.Name]; ok {
			found[i].Signature = e.Name + t
		}
	}
	if v.call.json {
		return v.call.answerJSON(docDocument{runtime.Schema, found})
	}
	for i, e := range found {
		if i > 0 {
			v.call.print("")
		}
		manual.Entry(v.call.stdout, v.call.paper().Fit, e)
	}
	return nil
}

// docList prints every name with its first sentence, by kind.
func (v *manualVerb) docList(entries []doc.Entry) error {
	if v.call.json {
		return v.call.answerJSON(docDocument{runtime.Schema, entries})
	}
	manual.List(v.call.stdout, v.call.paper().Fit, entries)
	return nil
}
