package cli

import (
	"context"
	"errors"
	"os"

	"github.com/spf13/cobra"

	"starling/cmd/starling/connect"
	"starling/cmd/starling/place"
	"starling/lang/effect"
	"starling/runtime"
)

// trustVerb is a call of the verb trust.
type trustVerb struct{ call *call }

// trustCommand is the verb trust.
func trustCommand(c *call) *cobra.Command {
	v := &trustVerb{call: c}
	var show bool
	cmd := &cobra.Command{
		Use:     "trust [DIR]",
		Short:   "Trust a project as it is now, or see how it has changed",
		GroupID: "store",
		Long: `Trust starling.toml of DIR, or of the current folder, and the files that its commands name as they are now.

Who has a token without admin runs scripts under the project of the store, as it was when somebody who may administer it last started a
run there by hand, or trusted it; a change since then is refused to them until it is trusted. Your own runs say in a line what has
changed, and that is trusted from then on.`,
		Args: operands(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				if err := os.Chdir(args[0]); err != nil {
					return usage("", "cannot work in %s: %v", args[0], errors.Unwrap(err))
				}
				var err error
				if c.place, err = place.Find(cmd.Context(), c.storeSetting(), c.getenv); err != nil {
					return err
				}
			}
			return v.trust(cmd.Context(), show)
		},
	}
	cmd.Flags().BoolVar(&show, "show", false, "only show what has changed since it was trusted, or what had when it was")
	c.jsonFlag(cmd)
	return cmd
}

func (v *trustVerb) trust(ctx context.Context, show bool) error {
	settings, err := v.call.settings(v.call.place.Project, "")
	if err != nil {
		return err
	}
	s, kept, err := openFor[runtime.Trusts](ctx, v.call, v.call.staying(true))
	if err != nil {
		return err
	}
	defer v.call.leave(s)
	t, err := kept.Trust(ctx, runtime.TrustRequest{Settings: *settings, Look: show})
	switch {
	case err != nil:
		return err
	case v.call.json:
		return v.call.answerJSON(t)
	case t.Changed() && show:
		v.call.print("%s has changed since %s trusted it: %s", t.Folder, t.By, t.Summary())
		v.printLines(t.Diff)
	case t.Changed():
		v.call.print("trusted %s: %s", t.Folder, t.Summary())
		v.printLines(t.Diff)
	case !t.Known && show:
		v.call.print("%s has not been trusted yet", t.Folder)
	case !t.Known:
		v.call.print("trusted %s", t.Folder)
	default:
		v.call.print("%s is as %s trusted it", t.Folder, t.By)
		if show {
			v.printLines(t.Before)
		}
	}
	return nil
}

func (v *trustVerb) printLines(text string) {
	if text != "" {
		v.call.print("%s", text)
	}
}

// trusts tells the person who is about to run something of what has changed in the project, which
// is trusted from then on. Nobody else is asked: what they may run under, the owner decides.
func (c *call) trusts(ctx context.Context, s connect.Session, settings *effect.Settings) error {
	kept, err := extension[runtime.Trusts](s)
	if err != nil && runtime.AsRefusal(err).Kind == runtime.ErrUnsupported {
		return nil
	}
	if err != nil {
		return err
	}
	t, err := kept.Trust(ctx, runtime.TrustRequest{Settings: *settings, Look: true})
	if err == nil && t.Changed() {
		c.notice("the project has changed since it was last run here: %s (%s)", t.Summary(),
			c.command("trust", "--show"))
	}
	if err == nil && (t.Changed() || !t.Known) {
		_, err = kept.Trust(ctx, runtime.TrustRequest{Settings: *settings})
	}
	if err != nil && runtime.AsRefusal(err).Kind == runtime.ErrDenied {
		return nil
	}
	return err
}
