package cli

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"starling/cmd/starling/place"
	"starling/cmd/starling/telemetry"
	"starling/lang/effect"
	"starling/runtime"
	"starling/stdlib/agent"
	"starling/stdlib/notify"
	"starling/stdlib/project"
	"starling/stdlib/secret"
)

// doctorVerb is a call of the verb doctor.
type doctorVerb struct{ call *call }

// doctorCommand is the verb doctor.
func doctorCommand(c *call) *cobra.Command {
	v := &doctorVerb{call: c}
	var ask bool
	cmd := &cobra.Command{
		Use:     "doctor",
		Short:   "Say what is missing here, and how to mend it",
		GroupID: "look",
		Long: `Look at the project file, the store, the backends of every agent, secrets, tool servers, who is notified, the collector, git and the sandbox.
The programs of agents and tool servers are started and asked for their version, their login and their tools; APIs of
models are asked for their list of models, and the collector is sent an empty document. That costs nothing, and no model is called: starling agents test AGENT asks
an agent for a word.

Nothing is started, and no key is sent, for a project that was not run here or trusted as it is now; --ask does it all
the same. The exit code is 1 when something is wrong; what is only not there (marked -) is no fault.`,
		Args: operands(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error { return v.doctor(cmd.Context(), ask) },
	}
	cmd.Flags().BoolVar(&ask, "ask", false, "start programs and ask APIs of a project that is not trusted yet, too")
	c.jsonFlag(cmd)
	return cmd
}

// The states of what doctor has looked at.
const (
	healthy = "ok"
	absent  = "absent" // not there, and not needed by everybody
	faulty  = "wrong"
)

// finding is what doctor says of one thing.
type finding struct {
	Part  string `json:"part"` // "project", "store", "engine", "agent", "secret", "tools", "notify", "telemetry", "git", "sandbox", "callers"
	Name  string `json:"name,omitempty"`
	State string `json:"state"`
	Is    string `json:"is"`
	Mend  string `json:"mend,omitempty"`
}

// doctorDocument is what doctor prints.
type doctorDocument struct {
	Schema   string    `json:"schema"`
	Findings []finding `json:"findings"`
}

func (v *doctorVerb) doctor(ctx context.Context, ask bool) error {
	found := append(v.examineProject(ctx, ask), v.examineStore(ctx))
	found = append(found, examineGit(ctx), v.examineCallers())
	found = append(found, v.call.examineSandbox(ctx)...)
	for _, f := range found {
		if f.State == faulty {
			v.call.code = 1
		}
	}
	if v.call.json {
		return v.call.answerJSON(doctorDocument{runtime.Schema, found})
	}
	mark := map[string]string{healthy: "ok", absent: "- ", faulty: "! "}
	for _, f := range found {
		v.call.print("%s %s: %s", mark[f.State], strings.TrimSpace(f.Part+" "+f.Name), strings.ReplaceAll(f.Is, "\n", "\n   "))
		if f.Mend != "" {
			v.call.print("   %s", f.Mend)
		}
	}
	if slices.ContainsFunc(found, func(f finding) bool { return f.Part == "agent" && f.State == healthy }) {
		v.call.print("no model was called: %s asks an agent for a word", v.call.command("agents", "test", "AGENT"))
	}
	return nil
}

// examineProject looks at the project file and at the agents in it.
func (c *doctorVerb) examineProject(ctx context.Context, ask bool) []finding {
	if c.call.place.Project == "" {
		return []finding{{"project", "", absent, "there is no " + place.ProjectFile + ", so scripts find no agents", `write one: [agents.NAME], then preset = "claude"`}}
	}
	s, err := c.call.settings(c.call.place.Project, "")
	if err != nil {
		return []finding{{"project", "", faulty, strings.TrimSpace(err.Error()), "starling check shows the lines"}}
	}
	f, err := project.Parse(s.ProjectFile, s.Project)
	if err != nil {
		return []finding{{"project", "", faulty, err.Error(), ""}}
	}
	found := []finding{{"project", "", healthy, c.call.place.Project, ""}}
	meets := &meeting{c: c.call, settings: s, file: f}
	if why := c.call.distrust(ctx, s); why != "" && !ask {
		meets = nil
		found = append(found, finding{"greetings", "", absent, "nothing was started and no key was sent: " + why,
			c.call.command("doctor", "--ask") + " does it all the same"})
	}
	names, err := agent.Names(agent.Machines(c.call.env()), s)
	if err != nil {
		return append(found, finding{"project", "", faulty, err.Error(), ""})
	}
	var views []agentView
	for _, name := range names {
		v, _, candidates := c.call.viewAgent(s, name)
		views = append(views, v)
		meets.agents(v.Backends, candidates)
	}
	servers := c.call.viewServers(s, f)
	meets.servers(servers)
	meets.wait(ctx)
	for _, v := range views {
		found = append(found, examineAgent(v, views, meets))
	}
	found = append(found, c.examineSecrets(ctx, s, f)...)
	found = append(found, examineTools(servers, meets)...)
	found = append(found, c.examineNotify(ctx, s, f, meets != nil)...)
	return append(found, c.examineTelemetry(ctx, s, f, meets != nil)...)
}

// examineTelemetry looks at the collector, and asks it unless the project is not trusted.
func (c *doctorVerb) examineTelemetry(ctx context.Context, s *effect.Settings, f *project.File, ask bool) []finding {
	if f.Telemetry == nil {
		return nil
	}
	is := finding{"telemetry", "", healthy, "a collector over " + f.Telemetry.Protocol, ""}
	if !ask {
		return []finding{is}
	}
	is.Is += ", answers"
	if err := telemetry.Greet(ctx, &effect.Attempt{Settings: s, Env: c.call.getenv}); err != nil {
		is.State, is.Is, is.Mend = faulty, err.Error(), "see [telemetry] in "+place.ProjectFile+", and whether a collector is there"
	}
	return []finding{is}
}

// examineSecrets looks for declared values that are not hidden in what comes back. No program is
// run for one.
func (v *doctorVerb) examineSecrets(ctx context.Context, s *effect.Settings, f *project.File) (found []finding) {
	const mend = "use a longer one: short values and words are everywhere, and are left alone"
	for name, why := range secret.Unhidden(ctx, &effect.Attempt{Settings: s, Env: v.call.getenv}, f) {
		found = append(found, finding{"secret", name, faulty, "its value " + why + ", so it is not hidden in what programs and servers say", mend})
	}
	slices.SortFunc(found, func(a, b finding) int { return strings.Compare(a.Name, b.Name) })
	return found
}

// examineNotify looks at who is told what happens, and tells nobody. Secrets may be printed by
// programs, so they are looked up only where these may be started.
func (v *doctorVerb) examineNotify(ctx context.Context, s *effect.Settings, f *project.File, start bool) (found []finding) {
	for _, n := range f.Notify {
		is := finding{"notify", n.Name, healthy, notify.What(n), ""}
		if _, printed := f.Printed(n.Webhook + "{" + n.Secret + "}"); printed && !start {
			found = append(found, is)
			continue
		}
		if lacks, mend := notify.Lacks(ctx, n, s, v.call.getenv); lacks != "" {
			is.State, is.Is, is.Mend = faulty, is.Is+": "+lacks, mend
		}
		found = append(found, is)
	}
	return found
}

// examineTools looks at the tool servers of the project.
func examineTools(servers []serverView, meets *meeting) (found []finding) {
	for _, v := range servers {
		is := finding{"tools", v.Name, healthy, v.Is, v.Mend}
		if v.Lacks != "" {
			is.State, is.Is = faulty, v.Is+": "+v.Lacks
		} else {
			meets.of("tools " + v.Name).tell(&is)
		}
		found = append(found, is)
	}
	return found
}

// examineAgent says what the best of an agent's backends says. It is no fault where none can serve
// an agent that is itself one of several that serve another.
func examineAgent(a agentView, all []agentView, meets *meeting) finding {
	if a.Fault != "" {
		return finding{"agent", a.Name, faulty, a.Fault, ""}
	}
	var parts []string
	var best finding
	for _, b := range a.Backends {
		one := finding{"agent", b.Name, healthy, b.What, b.Mend}
		if b.Lacks != "" {
			one.State, one.Is = faulty, b.What+": "+b.Lacks
		} else {
			meets.of("agent " + b.Name).tell(&one)
		}
		parts = append(parts, one.Is)
		if len(parts) == 1 || best.State == faulty && one.State != faulty || one.State == healthy && best.State != healthy {
			best = one
		}
	}
	serves := func(other agentView) bool {
		return len(other.Backends) > 1 &&
			slices.ContainsFunc(other.Backends, func(b backendView) bool { return b.Name == a.Name })
	}
	if best.State == faulty && slices.ContainsFunc(all, serves) {
		best.State = absent
	}
	if best.State == healthy {
		best.Mend = ""
	}
	best.Part, best.Name, best.Is = "agent", a.Name, strings.Join(parts, "; else ")
	return best
}

// examineStore reads the store without starting anything.
func (v *doctorVerb) examineStore(ctx context.Context) finding {
	if v.call.place.Engine.Temporal != "" {
		if err := v.call.further.Look(ctx, v.call.reach()); err != nil {
			return finding{"engine", "", faulty, err.Error(), runtime.AsRefusal(err).Help}
		}
		return finding{"engine", "", healthy, v.call.place.Name() + ", with a worker", ""}
	}
	if v.call.place.Database == "" && !place.Exists(v.call.place.Store) {
		if err := writable(filepath.Dir(v.call.place.Store)); err != nil {
			return finding{"store", "", faulty, fmt.Sprintf("%s cannot be made: %v", v.call.place.Store, err), "set STARLING_STORE to a folder that you may write to"}
		}
		return finding{"store", "", healthy, v.call.place.Store + ", made by the first run", ""}
	}
	s, err := v.call.door().OpenReader(ctx)
	if err != nil {
		mend := cmp.Or(runtime.AsRefusal(err).Help, "starling stop, if a process holds it; otherwise copy it away and start anew")
		return finding{"store", "", faulty, err.Error(), mend}
	}
	defer v.call.leave(s)
	owner := "no process owns it"
	if pid := s.Owner(); pid != 0 {
		owner = fmt.Sprintf("owned by process %d", pid)
	}
	if v.call.place.Database != "" {
		return finding{"store", "", healthy, v.call.place.Name() + ", " + owner, ""}
	}
	if err := writable(v.call.place.Store); err != nil {
		return finding{"store", "", absent, v.call.place.Store + " can only be read: " + err.Error(),
			"nothing can be started or answered: make it writable, or set STARLING_STORE to another"}
	}
	return finding{"store", "", healthy, v.call.place.Store + ", " + owner, ""}
}

func writable(dir string) error {
	f, err := os.CreateTemp(dir, ".starling-doctor-*")
	if err != nil {
		return runtime.Reason(err)
	}
	f.Close()
	return os.Remove(f.Name())
}

func examineGit(ctx context.Context) finding {
	out, err := exec.CommandContext(ctx, "git", "--version").Output()
	if err != nil {
		return finding{"git", "", absent, "git cannot be run: what works with branches and checkpoints is refused", "install git"}
	}
	return finding{"git", "", healthy, strings.TrimSpace(string(out)), ""}
}

// examineCallers tells whether an owner of a store can tell its user from what it has started.
func (v *doctorVerb) examineCallers() finding {
	if doubt := v.call.doubt(); doubt != "" {
		const mend = `Linux 6.5 and later can tell; require = "marks" under [owner] refuses without`
		return finding{"callers", "", absent, doubt, mend}
	}
	return finding{"callers", "", healthy, "what agents start cannot be taken for you", ""}
}
