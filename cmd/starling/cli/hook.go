package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"starling/cmd/starling/connect"
	"starling/cmd/starling/place"
	"starling/runtime"
	"starling/runtime/tool"
	"starling/stdlib/git"
)

// hookVerb is what the hooks are told.
type hookVerb struct {
	call *call

	most  int
	plain bool
}

// hookCommand is the verb hook.
func hookCommand(c *call) *cobra.Command {
	cmd := &cobra.Command{Use: "hook", Short: "Answer the hooks of a coding agent", GroupID: "knowledge", Args: unknownVerb,
		RunE: showHelp}
	v := &hookVerb{call: c}
	start := &cobra.Command{
		Use:   "session-start",
		Short: "Say at the start of a session what is known, and have it looked at",
		Long: `Print the map of the knowledge base in .claude/knowledge as the context of a session, in the form that Claude Code and Gemini CLI take from a hook, and start looking for what the code has
overtaken: in the background, and once for a commit.

The run is started from @std/knowledge.star, or from what was defined as ` + tool.KnowledgeChanges + `. Its agents are called inquisitor and wellspring. A session of an agent that Starling has
started is told what is known and starts nothing.`,
		Example: `  {"hooks": {"SessionStart": [{"hooks": [{"type": "command", "command": "starling hook session-start"}]}]}}    in .claude/settings.json`,
		Args:    operands(0, 0),
		RunE:    func(cmd *cobra.Command, _ []string) error { return v.sessionStart(cmd.Context()) },
	}
	start.Flags().IntVar(&v.most, "max", 8000, "at most so many `BYTES` of the map; what was left out is named")
	start.Flags().BoolVar(&v.plain, "text", false, "print the text alone")
	cmd.AddCommand(start)
	return cmd
}

// The knowledge base as @std/knowledge_files.star lays it out.
const (
	knowledgeFolder = ".claude/knowledge"
	knowledgeMap    = "KNOWLEDGE_MAP_CLAUDE.md"
)

// hookDocument is what a hook prints.
type hookDocument struct {
	Output hookOutput `json:"hookSpecificOutput"`
}

type hookOutput struct {
	Event   string `json:"hookEventName"`
	Context string `json:"additionalContext"`
}

// sessionStart prints first and starts then: a session gets its context whatever becomes of the
// rest, which is told and fails nothing.
func (v *hookVerb) sessionStart(ctx context.Context) error {
	folder := filepath.Join(v.call.place.Root, filepath.FromSlash(knowledgeFolder))
	if !place.Exists(folder) {
		return nil
	}
	text, err := knownAt(folder, v.most)
	if err != nil {
		return err
	}
	text += v.waitingQuestions(ctx)
	if v.plain {
		v.call.print("%s", strings.TrimSuffix(text, "\n"))
	} else if err := v.call.answerJSON(hookDocument{hookOutput{"SessionStart", text}}); err != nil {
		return err
	}
	if err := v.lookForChanges(ctx); err != nil {
		v.call.notice("warning: nobody looks at the knowledge base: %v", err)
	}
	return nil
}

// knownAt is the map, cut to what a session is told.
func knownAt(folder string, most int) (string, error) {
	text, err := os.ReadFile(filepath.Join(folder, knowledgeMap))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	return cutLines(string(text), most, knowledgeFolder+"/"+knowledgeMap), nil
}

// waitingQuestions is the line that says how many questions starling review would put, "" for none.
// A store that cannot be read is told of and fails nothing.
func (v *hookVerb) waitingQuestions(ctx context.Context) string {
	s, err := v.call.door().OpenReader(ctx)
	var q *questions
	if err == nil {
		defer v.call.leave(s)
		q, err = questionsFor(ctx, s, gateQuery{})
	}
	if err != nil {
		return fmt.Sprintf("\nWhether questions wait for a person is not known: %v\n", err)
	}
	said := ""
	if q.count() > 0 {
		said = fmt.Sprintf("\nQuestions that wait for a person: %d (starling review)\n", q.count())
	}
	if q.parked > 0 {
		said += "\n" + q.unfiled() + "\n"
	}
	return said
}

// cutLines keeps as many whole lines as fit, and says how many were left out and where they are.
func cutLines(text string, most int, where string) string {
	if len(text) <= most {
		return text
	}
	end := strings.LastIndexByte(text[:max(0, most)], '\n') + 1
	rest := strings.Count(strings.TrimSuffix(text[end:], "\n"), "\n") + 1
	return fmt.Sprintf("%s… %d more lines in %s\n", text[:end], rest, where)
}

// lookForChanges starts the run in the background. The commit is its key: for one that was looked
// at there is a run already, and nothing is started. Where that has left something, another one
// follows it.
func (v *hookVerb) lookForChanges(ctx context.Context) error {
	key := ""
	if head := git.Head(v.call.place.Root); head != "" {
		key = tool.KnowledgeChanges + "@" + head
	}
	s, err := v.call.door().Detach(ctx)
	if err != nil {
		return err
	}
	defer v.call.leave(s)
	run, left, err := v.lookAgain(ctx, s, key)
	if err != nil {
		switch runtime.AsRefusal(err).Kind {
		case runtime.ErrKeyConflict, runtime.ErrDenied: // looked at under other settings; a session of an agent
			return nil
		}
		return err
	}
	if left != "" {
		v.call.notice("the last look at the knowledge base left something out: %s", left)
	}
	v.call.notice("run %s looks at the knowledge base", run.ID)
	return nil
}

// lookAgain starts the run of a key, or one that follows the run of that key, and what the one
// before has left, "" for nothing.
func (v *hookVerb) lookAgain(ctx context.Context, s connect.Session, key string) (*runtime.Run, string, error) {
	for left, next := "", key; ; {
		run, err := v.call.desk(s).StartKnown(ctx, tool.KnowledgeChanges, next)
		if err != nil || key == "" {
			return run, left, err
		}
		found := leftBy(run)
		switch {
		case found != "":
			left, next = found, key+"+"+run.ID
		case run.Status.Ended(): // it has done what was left
			return run, "", nil
		default:
			return run, left, nil
		}
	}
}

// leftBy says why a run has not looked at all it should have, "" where it has, or is at work.
func leftBy(r *runtime.Run) string {
	switch r.Status {
	case runtime.Failed:
		return "run " + r.ID + " has failed"
	case runtime.Completed:
	default:
		return ""
	}
	var said struct {
		Detect struct {
			Status string            `json:"status"`
			Failed map[string]string `json:"failed"`
		} `json:"detect"`
	}
	// A script of somebody's own may return something else.
	if json.Unmarshal(r.Output, &said) != nil || said.Detect.Status != "partial" {
		return ""
	}
	names := slices.Sorted(maps.Keys(said.Detect.Failed))
	if len(names) == 0 {
		return ""
	}
	return fmt.Sprintf("%s: %s", strings.Join(names, ", "), said.Detect.Failed[names[0]])
}
