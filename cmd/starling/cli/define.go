package cli

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"starling/cmd/starling/connect"
	"starling/cmd/starling/place"
	"starling/cmd/starling/table"
	"starling/lang"
	"starling/lang/check"
	"starling/runtime"
)

// defineVerb is a call of the verb define.
type defineVerb struct{ call *call }

// defineCommand is the verb define.
func defineCommand(c *call) *cobra.Command {
	v := &defineVerb{call: c}
	var key string
	cmd := &cobra.Command{
		Use:     "define [NAME [SCRIPT]]",
		Short:   "Keep a script under a name, with its versions",
		GroupID: "scripts",
		Long: `Keep the script SCRIPT, with all that it loads, in the store under NAME. Each change is a further version, and run NAME@VERSION starts any of
them. A script that has not changed stays the version that it is.

With NAME alone, list its versions; with nothing, the newest of each name.`,
		Args: operands(0, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 2 {
				return v.define(cmd.Context(), args[0], args[1], key)
			}
			return v.defined(cmd.Context(), strings.Join(args, ""))
		},
	}
	cmd.Flags().StringVar(&key, "key", "", "idempotency `KEY`")
	c.jsonFlag(cmd)
	return cmd
}

// definitionsDocument is what define prints.
type definitionsDocument struct {
	Schema      string               `json:"schema"`
	Definitions []runtime.Definition `json:"definitions"`
}

// define checks the script as run does, before the store is opened.
func (v *defineVerb) define(ctx context.Context, name, script, key string) error {
	if err := runtime.CheckDefinitionName(name); err != nil {
		return usage("starling define NAME SCRIPT", "define: %v", err)
	}
	bundle, err := v.call.readBundle(script)
	if err != nil {
		return err
	}
	if _, err := v.call.compile(bundle, check.Project{}); err != nil {
		return err
	}
	s, kept, err := openFor[runtime.Definitions](ctx, v.call, v.call.staying(true))
	if err != nil {
		return err
	}
	defer v.call.leave(s)
	d, err := kept.Define(ctx, runtime.DefineRequest{Key: requestKey(key), Name: name, Bundle: bundle.Encode()})
	if err != nil {
		return err
	}
	if v.call.json {
		return v.call.answerJSON(definitionsDocument{runtime.Schema, []runtime.Definition{*d}})
	}
	unchanged := ""
	if d.Known {
		unchanged = " (unchanged)"
	}
	v.call.print("%s%s", d.Address(), unchanged)
	return nil
}

// defined lists definitions.
func (v *defineVerb) defined(ctx context.Context, name string) error {
	s, err := v.call.door().OpenReader(ctx)
	if err != nil {
		return err
	}
	defer v.call.leave(s)
	list := []runtime.Definition{}
	if connect.Missing(s) == nil || name != "" {
		kept, err := extension[runtime.Definitions](s)
		if err != nil {
			return err
		}
		if list, err = kept.Defined(ctx, name); err != nil {
			return err
		}
	}
	if v.call.json {
		return v.call.answerJSON(definitionsDocument{runtime.Schema, list})
	}
	p := v.call.paper()
	t := table.New(p, "DEFINITION", "DEFINED", "BY", "SCRIPT", "PROGRAM")
	for _, d := range list {
		t.Row(d.Address(), p.Time(d.At), d.By, d.Script, d.Program[:min(len(d.Program), shownHash)])
	}
	return t.Write(v.call.stdout)
}

// prepareDefined makes the request of a run of a definition, which is in the store.
func (c *call) prepareDefined(ctx context.Context, address string, v *runVerb) (connect.Session, runtime.StartRequest, error) {
	s, err := c.openRun(ctx, v, false)
	if err != nil {
		return nil, runtime.StartRequest{}, c.orFile(address, err)
	}
	d, bundle, err := definition(ctx, s, address)
	var request runtime.StartRequest
	if err == nil {
		request, err = c.requestOf(bundle, d.Address(), v)
	}
	if err != nil {
		c.leave(s)
		return nil, request, c.orFile(address, err)
	}
	return s, request, nil
}

// orFile names the file that may be meant where nothing has the name.
func (c *call) orFile(word string, err error) error {
	r := runtime.AsRefusal(err)
	if r.Kind != runtime.ErrUnknownDefinition && r.Kind != runtime.ErrUnknownRun {
		return err
	}
	if r.Kind == runtime.ErrUnknownRun { // there is no store
		r = runtime.Refuse(runtime.ErrUnknownDefinition, "starling define keeps a script under a name; a file's name ends with "+runtime.ScriptSuffix+" or has a slash",
			"no script is defined as %q", word)
	}
	own := *r
	for _, file := range []string{"./" + word, word + runtime.ScriptSuffix} {
		if place.Exists(file) {
			own.Help = "the file is " + file
		}
	}
	return &own
}

// definition reads a version of a script from the store.
func definition(ctx context.Context, s connect.Session, address string) (*runtime.Definition, *lang.Bundle, error) {
	kept, err := extension[runtime.Definitions](s)
	if err != nil {
		return nil, nil, err
	}
	found, err := kept.Defined(ctx, address)
	if err != nil {
		return nil, nil, err
	}
	content, err := s.Blob(ctx, found[0].Bundle)
	if err != nil {
		return nil, nil, err
	}
	bundle, err := lang.Decode(content)
	return &found[0], bundle, err
}
