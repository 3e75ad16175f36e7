package agent

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"go.starlark.net/starlark"

	"starling/lang/effect"
	"starling/stdlib/jail"
	"starling/stdlib/project"
)

// scripted asks agents that are functions of the fake. What a function returns is the output, a
// string is text, a reply(…) says more; fail(…) is an agent that failed in a way that may pass.
type scripted struct{ fakes *fakes }

// Ask calls the function, journals the events that it told of, and takes the time that it claims.
func (s scripted) Ask(ctx context.Context, q Question) effect.Reply {
	fake, fault := s.fakes.of(q.Settings)
	if fault != nil {
		return failed(fault, effect.Final)
	}
	play, ok := s.fakes.part(fake, q.Definition.Function)
	if !ok {
		return failed(effect.Errorf(effect.KindRefused, "%s: the fake has no function for it any more", q.Definition.Agent), effect.Missing)
	}
	for {
		v, err := play(ctx, q.Request)
		if err != nil {
			return s.failure(ctx, q.Definition.Agent, err)
		}
		reply, told := s.answer(ctx, q, v)
		if told == nil {
			return reply
		}
		q.Messages = append(q.Messages, told.Message)
		q.Request = q.Request.With("messages", messages(q.Messages))
		told.Taken()
	}
}

func (s scripted) failure(ctx context.Context, agent string, err error) effect.Reply {
	if ctx.Err() != nil {
		return cut(ctx, agent)
	}
	fault := effect.Errorf(effect.KindAgent, "%s: %v", agent, err)
	var script *effect.Error
	if !errors.As(err, &script) {
		return failed(fault, effect.Final)
	}
	fault.Message = agent + ": " + script.Message
	fault.Backtrace = strings.Replace(script.Backtrace, callLine, "", 1)
	if script.Kind == effect.KindScript {
		return failed(fault, effect.Retryable)
	}
	return failed(fault, effect.Final)
}

// answer takes what a function returned. Where the agent is told something while it works, its step
// ends there: the function is called again with the message.
func (s scripted) answer(ctx context.Context, q Question, v starlark.Value) (effect.Reply, *effect.Steer) {
	a := answer{status: "ok"}
	var delay time.Duration
	var files starlark.Value = starlark.None
	switch v := v.(type) {
	case starlark.String:
		a.text = string(v)
	case *effect.Record:
		if v.RecordType() != effect.ReplyType {
			a.output = v
			break
		}
		said, wrong := answerOf(replyFields(v))
		if len(wrong) > 0 {
			return malformed(q.Definition.Agent, wrong), nil
		}
		a = said
		text, _ := starlark.AsString(v.Field("delay"))
		delay, files = textDuration(text), v.Field("files")
	default:
		a.output = v
	}
	for _, e := range a.events {
		act(ctx, q, effect.ViewOf(e).Text("kind"), e)
	}
	left, told := pause(ctx, q.Attempt, delay)
	switch {
	case told != nil:
		return effect.Reply{}, told
	case !left:
		return cut(ctx, q.Definition.Agent), nil
	}
	if err := changeFiles(q.Attempt, files); err != nil {
		return failed(effect.Errorf(effect.KindAgent, "%s: files: %v", q.Definition.Agent, err), effect.Final), nil
	}
	return a.reply(q.Definition.Agent, q.Returns), nil
}

// changeFiles does to the workspace what a scripted agent says that it does. Doing it again, after
// a crash, changes nothing more.
func changeFiles(a *effect.Attempt, files starlark.Value) error {
	changes, ok := files.(*starlark.Dict)
	if !ok || changes.Len() == 0 {
		return nil
	}
	tree, err := jail.Open(a.Settings.Workspace, a.Store, project.Rights(a.Settings))
	if err != nil {
		return err
	}
	defer tree.Close()
	for path, content := range changes.Entries() {
		at, ok := starlark.AsString(path)
		if !ok {
			return fmt.Errorf("got the path %s, want a string", path)
		}
		switch content := content.(type) {
		case starlark.NoneType:
			err = tree.Remove(at, false)
		case starlark.String:
			err = tree.Write(at, []byte(content), a.Key)
		case starlark.Bytes:
			err = tree.Write(at, []byte(content), a.Key)
		default:
			err = fmt.Errorf("%s: got %s, want string, bytes or None", at, content.Type())
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// replyFields has what reply(…) was given. An output of None is one that was not given.
func replyFields(r *effect.Record) effect.View {
	d := new(starlark.Dict)
	for i, name := range r.RecordType().Fields {
		if v := r.Values()[i]; v != starlark.None {
			if err := d.SetKey(starlark.String(name), v); err != nil {
				panic("agent: " + err.Error()) // a fresh dict with keys that are strings
			}
		}
	}
	return effect.ViewOf(d)
}

// pause waits, and tells whether it was left to, or what was said meanwhile.
func pause(ctx context.Context, a *effect.Attempt, d time.Duration) (left bool, said *effect.Steer) {
	if d <= 0 || ctx.Err() != nil {
		return ctx.Err() == nil, nil
	}
	if a.Wait(ctx, d) {
		return true, nil
	}
	select {
	case s := <-a.Told:
		return false, &s
	default:
		return false, nil
	}
}
