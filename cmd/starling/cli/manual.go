package cli

import (
	"cmp"
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"starling/cmd/starling/manual"
	"starling/cmd/starling/suite"
	"starling/lang"
	"starling/lang/diagnostic"
	"starling/lang/doc"
	"starling/runtime"
	"starling/stdlib"
)

// manualVerb is a call of the verb manual.
type manualVerb struct{ *call }

// docCommand is the verb doc. It needs no store and touches none.
func docCommand(c *call) *cobra.Command {
	v := &manualVerb{call: c}
	var list bool
	cmd := &cobra.Command{
		Use:     "doc [NAME|FILE.star]",
		Short:   "Say what a name of the language means",
		GroupID: "scripts",
		Long: `Say what a name that scripts can use means: a builtin (gate), a module (http), a method (string.split, or split), a type (Result). Without a name, or with
--list, all of them with a sentence each. starling.toml is every key of the project file, and contracts the language of contracts. Of a file, FILE.star or @std/NAME.star of the library, the functions that it defines.`,
		Args: operands(0, 1),
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 && strings.HasSuffix(args[0], runtime.ScriptSuffix) {
				return v.docFile(args[0])
			}
			if page, ok := manual.Page(strings.Join(args, "")); ok {
				v.print("%s", strings.TrimSpace(page))
				return nil
			}
			entries := doc.Of(c.environmentOf(suite.Suffix))
			if list || len(args) == 0 {
				return v.docList(entries)
			}
			return v.doc(entries, args[0])
		},
	}
	cmd.Flags().BoolVar(&list, "list", false, "list all names")
	c.jsonFlag(cmd)
	return cmd
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
		return runtime.Refuse(runtime.ErrUnknownName, cmp.Or(d.Hint, v.command("doc", "--list")+" lists the names"), "%s", d.Message)
	}
	if v.json {
		return v.answerJSON(docDocument{runtime.Schema, found})
	}
	var members []doc.Entry
	for i, e := range found {
		if i > 0 && strings.HasPrefix(e.Name, name+".") {
			members = append(members, e)
			continue
		}
		if i > 0 {
			v.print("")
		}
		manual.Entry(v.stdout, e)
	}
	if len(members) > 0 {
		v.print("")
		manual.Rows(v.stdout, members)
	}
	return nil
}

// docFile prints what the functions of a script say of themselves.
func (v *manualVerb) docFile(script string) error {
	read := v.readBundle
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
	types, _ := lang.Signatures(bundle, v.environmentOf(script)) // of a script that check refuses none are known
	for i, e := range found {
		if t, ok := types[e.Name]; ok {
			found[i].Signature = e.Name + t
		}
	}
	if v.json {
		return v.answerJSON(docDocument{runtime.Schema, found})
	}
	for i, e := range found {
		if i > 0 {
			v.print("")
		}
		manual.Entry(v.stdout, e)
	}
	return nil
}

// docList prints every name with its first sentence, by kind.
func (v *manualVerb) docList(entries []doc.Entry) error {
	if v.json {
		return v.answerJSON(docDocument{runtime.Schema, entries})
	}
	manual.List(v.stdout, entries)
	return nil
}
