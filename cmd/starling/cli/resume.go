package cli

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"starling/cmd/starling/connect"
	"starling/cmd/starling/stay"
	"starling/cmd/starling/verdict"
	"starling/lang/effect"
	"starling/runtime"
)

// resumeVerb drives runs that nobody carries.
type resumeVerb struct {
	call *call

	all     bool
	project string
}

// resumeCommand is the verb resume.
func resumeCommand(c *call) *cobra.Command {
	v := &resumeVerb{call: c}
	cmd := &cobra.Command{
		Use:     "resume RUN... | --all",
		Short:   "Let runs go on from where they stopped",
		GroupID: "runs",
		Long: `Let runs go on from where they stopped, until each has ended or rests.

A run that was imported and rests because the project here could not serve it goes on under that
project as it is now.

One run is reported as by run. Of several, standard output has one line each; the exit code is 1 if any failed, 3 if any rests.`,
		Args: func(cmd *cobra.Command, args []string) error {
			if v.all == (len(args) > 0) {
				return usage("starling ps lists the runs", "resume: name the runs, or say --all")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return v.resume(cmd.Context(), args) },
	}
	cmd.Flags().BoolVar(&v.all, "all", false, "every run that has not ended")
	cmd.Flags().StringVar(&v.project, "project", "", "pin this project file, `FILE`, to the runs from here on")
	c.jsonFlag(cmd)
	return cmd
}

// resume carries runs and follows them. A single one is reported exactly as run would have.
func (v *resumeVerb) resume(ctx context.Context, addresses []string) error {
	var settings *effect.Settings
	if v.project != "" {
		var err error
		if settings, err = v.call.settings(v.project, ""); err != nil {
			return err
		}
	}
	s, err := v.call.door().OpenOwner(ctx, false)
	if err != nil {
		return err
	}
	defer v.call.leave(s)
	runs, err := v.call.named(ctx, s, addresses, v.all)
	if err == nil {
		err = v.call.carryRuns(ctx, s, runs, settings)
	}
	switch {
	case err != nil:
		return err
	case len(addresses) == 1:
		if r := runs[0]; r.Status.Ended() {
			v.call.notice("%s is %s already", r.ID, r.Status)
		}
		return v.call.see(ctx, s, runs[0], v.call.watchedFrom(runs[0]), stay.AtRest)
	}
	return v.seeAll(ctx, s, runs)
}

// carryRuns makes the owner drive runs, with the variables that each declares, as this process has
// them. settings, if any, are pinned to all of them; what these declare is brought then.
func (c *call) carryRuns(ctx context.Context, s connect.Session, runs []*runtime.Run, settings *effect.Settings) error {
	if settings == nil {
		var err error
		if runs, err = c.carryMended(ctx, s, runs); err != nil {
			return err
		}
	}
	if len(runs) == 0 {
		return nil
	}
	request := runtime.ResumeRequest{Settings: settings, Env: map[string]string{}}
	for _, r := range runs {
		request.Runs = append(request.Runs, r.ID)
		maps.Copy(request.Env, c.values(r.Details.Env))
	}
	if settings != nil {
		maps.Copy(request.Env, c.values(settings.Env))
	}
	_, err := s.Resume(ctx, request)
	return err
}

// unserved tells whether a gate, of a run or of a child run, is that of a run which was imported
// and which the project here cannot serve.
func unserved(g runtime.Gate) bool { return strings.Contains(g.Gate, runtime.GateProject) }

// carryUnserved carries the runs of the store that were imported and rest because the project here
// could not serve them.
func (c *call) carryUnserved(ctx context.Context, s connect.Session) error {
	l, err := s.List(ctx, runtime.Query{Gates: true})
	if err != nil {
		return err
	}
	var addresses []string
	for _, g := range l.Gates {
		if run, _, _ := strings.Cut(g.Address, "/"); unserved(g) && !slices.Contains(addresses, run) {
			addresses = append(addresses, run)
		}
	}
	runs, err := c.named(ctx, s, addresses, false)
	if err == nil {
		_, err = c.carryMended(ctx, s, runs)
	}
	return err
}

// carryMended carries the runs that were imported and rest because the project here cannot serve
// them, under that project as it is now, and gives the others: all, where the caller may not pin
// one.
func (c *call) carryMended(ctx context.Context, s connect.Session, runs []*runtime.Run) ([]*runtime.Run, error) {
	var lacking, others []*runtime.Run
	for _, r := range runs {
		if slices.ContainsFunc(r.Gates, unserved) {
			lacking = append(lacking, r)
		} else {
			others = append(others, r)
		}
	}
	if len(lacking) == 0 {
		return runs, nil
	}
	settings, err := c.settings(c.place.Project, "")
	if err == nil {
		err = c.trusts(ctx, s, settings)
	}
	if err == nil {
		err = c.carryRuns(ctx, s, lacking, settings)
	}
	if err != nil && runtime.AsRefusal(err).Kind == runtime.ErrDenied {
		return runs, nil
	}
	return others, err
}

// named looks up the runs that are meant. All are those that nobody started: a child run is carried
// with its parent.
func (c *call) named(ctx context.Context, s connect.Session, addresses []string, all bool) ([]*runtime.Run, error) {
	if all {
		l, err := s.List(ctx, runtime.Query{})
		if err != nil {
			return nil, err
		}
		for _, r := range l.Runs {
			if r.Parent == "" {
				addresses = append(addresses, r.ID)
			}
		}
	}
	var runs []*runtime.Run
	for _, a := range addresses {
		r, err := s.Get(ctx, a)
		if err != nil {
			return nil, err
		}
		runs = append(runs, r)
	}
	return runs, nil
}

// seeAll follows several runs at once and reports each in the order given.
func (v *resumeVerb) seeAll(ctx context.Context, s connect.Session, runs []*runtime.Run) error {
	errs := make([]error, len(runs))
	var wg sync.WaitGroup
	follow, end := v.call.watchingAll()
	for i, r := range runs {
		f := stay.Follower{Session: s, Run: r.ID, After: v.call.watchedFrom(r), Show: follow(r)}
		wg.Go(func() {
			var now *runtime.Run
			now, errs[i] = f.Stay(ctx, stay.AtRest)
			runs[i] = orLast(now, r)
		})
	}
	wg.Wait()
	end()
	for i, r := range runs {
		if errs[i] != nil {
			v.call.left(r, s)
			return errs[i]
		}
		v.count(r)
	}
	return v.list(runs)
}

// count brings the worst of the runs into the exit code.
func (v *resumeVerb) count(r *runtime.Run) {
	switch {
	case r.Error != nil:
		v.call.code = verdict.ExitOf(r.Error)
	case !r.Status.Ended() && v.call.code == 0:
		v.call.code = runtime.ExitSuspended
	}
}

// runsDocument is the JSON form of several runs.
type runsDocument struct {
	Schema string         `json:"schema"`
	Runs   []*runtime.Run `json:"runs"`
}

// list prints how several runs stand, a line or a document for each.
func (v *resumeVerb) list(runs []*runtime.Run) error {
	if !v.call.json {
		for _, r := range runs {
			v.call.print("%s %s %s", r.ID, r.Status, r.Script)
		}
		return nil
	}
	doc := runsDocument{Schema: runtime.Schema, Runs: []*runtime.Run{}}
	for _, r := range runs {
		doc.Runs = append(doc.Runs, v.call.document(r))
	}
	return v.call.answerJSON(doc)
}
