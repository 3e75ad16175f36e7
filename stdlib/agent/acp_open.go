package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/coder/acp-go-sdk"

	"starling/lang/effect"
)

// How a session begins: the greeting, the login, the conversation before it or a new one, and what
// is chosen for it. Only what is used is read of the answers: the protocol's unions grow, and a
// kind that this build does not know is no reason to give up.

// greeting is the part of an agent's initialize result that is read.
type greeting struct {
	ProtocolVersion   acp.ProtocolVersion   `json:"protocolVersion"`
	AgentCapabilities acp.AgentCapabilities `json:"agentCapabilities"`
	Logins            []named               `json:"authMethods"`
	Info              struct {
		Version string `json:"version"`
	} `json:"agentInfo"`
}

// named is an entry of a list of what can be chosen.
type named struct {
	ID string `json:"id"`
}

// hello offers files only to those who are to have them: agents work in the workspace themselves,
// and some take a client's refusal to read a file that does not exist for the end of writing it.
func (s *session) hello() acp.InitializeRequest {
	d := s.q.Definition
	return acp.InitializeRequest{ProtocolVersion: acp.ProtocolVersionNumber,
		ClientInfo: &acp.Implementation{Name: "starling", Version: "1"},
		ClientCapabilities: acp.ClientCapabilities{Fs: acp.FileSystemCapabilities{
			ReadTextFile: !d.OwnFiles, WriteTextFile: !d.OwnFiles && d.Modifies}}}
}

// login logs the agent in by the method that its definition names, if it names one.
func (s *session) login(ctx context.Context, offered []named) *fault {
	for _, l := range offered {
		s.ways = append(s.ways, l.ID)
	}
	want := s.q.Definition.Login
	if want == "" {
		return nil
	}
	if !slices.Contains(s.ways, want) {
		return unoffered("login", want, s.ways)
	}
	_, err := acp.SendRequest[struct{}](s.conn, ctx, acp.AgentMethodAuthenticate,
		acp.AuthenticateRequest{MethodId: want})
	if err != nil {
		return s.broken(err)
	}
	return nil
}

// howToLogin is what to do about an agent that wants to be logged in.
func (s *session) howToLogin() string {
	if len(s.ways) == 0 || s.q.Definition.Login != "" {
		return "; log in with its own program once"
	}
	return "; log in with its own program once, or name one of its ways: login = " +
		strings.Join(s.ways, " or ")
}

// unoffered is the fault of a definition that names what the agent does not have.
func unoffered(key, want string, offered []string) *fault {
	has := "it has none to choose from"
	if len(offered) > 0 {
		has = "it has " + strings.Join(offered, ", ")
	}
	return &fault{message: fmt.Sprintf("it has no %s %q; %s", key, want, has),
		kind: effect.KindRefused, class: effect.Final, said: true}
}

// open gives the conversation before it back, where it was asked for and can be had; otherwise a
// new one begins.
func (s *session) open(ctx context.Context) (resumes bool, f *fault) {
	servers, f := s.toolServers()
	if f != nil {
		return false, f
	}
	folder := s.q.Settings.Workspace
	if resumed(s.q) {
		made, err := s.resume(ctx, folder, servers)
		if err == nil {
			s.id = s.q.Session
			return true, s.choose(ctx, made)
		}
		s.q.tellLost(err.Error())
	}
	made, err := acp.SendRequest[opened](s.conn, ctx, acp.AgentMethodSessionNew,
		acp.NewSessionRequest{Cwd: folder, McpServers: servers, Meta: tellTries()})
	if err != nil {
		return false, s.broken(err)
	}
	s.id = made.ID
	return false, s.choose(ctx, made)
}

// resume goes on with a conversation, in whichever way the agent can.
func (s *session) resume(ctx context.Context, folder string, servers []acp.McpServer) (opened, error) {
	at := acp.SessionId(s.q.Session)
	switch {
	case s.able.SessionCapabilities.Resume != nil:
		return acp.SendRequest[opened](s.conn, ctx, acp.AgentMethodSessionResume,
			acp.ResumeSessionRequest{SessionId: at, Cwd: folder, McpServers: servers, Meta: tellTries()})
	case s.able.LoadSession:
		return acp.SendRequest[opened](s.conn, ctx, acp.AgentMethodSessionLoad,
			acp.LoadSessionRequest{SessionId: at, Cwd: folder, McpServers: servers, Meta: tellTries()})
	}
	return opened{}, errors.ErrUnsupported
}

// tellTries asks claude-agent-acp to pass on what Claude Code says of failed tries of the model's
// API, which it keeps from its client where a key is refused. Other agents pass over it.
// https://github.com/agentclientprotocol/claude-agent-acp, 0.101.0, emitRawSDKMessages
func tellTries() map[string]any {
	return map[string]any{"claudeCode": map[string]any{
		"emitRawSDKMessages": []map[string]string{{"type": "system", "subtype": "api_retry"}}}}
}

// toolServers are the endpoints of the tool servers that the attempt may use.
func (s *session) toolServers() ([]acp.McpServer, *fault) {
	servers := []acp.McpServer{}
	e := s.q.Endpoint
	if e == nil {
		return servers, nil
	}
	if !s.able.McpCapabilities.Http {
		return nil, &fault{message: "it cannot use tool servers over HTTP, and is given " + strings.Join(e.Names(), ", ") + "; leave them out of its tools", kind: effect.KindRefused,
			class: effect.Final, said: true}
	}
	for _, name := range e.Names() {
		servers = append(servers, acp.McpServer{Http: &acp.McpServerHttpInline{Type: "http", Name: wireName(name), Url: e.URL(name),
			Headers: []acp.HttpHeader{{Name: "Authorization", Value: "Bearer " + e.Token}}}})
	}
	return servers, nil
}

// opened is the part of the answer to session/new, load and resume that is read. Modes and models
// have lists of their own in agents of before there were options, and in many still.
type opened struct {
	ID    string `json:"sessionId"`
	Modes struct {
		Current string  `json:"currentModeId"`
		Offered []named `json:"availableModes"`
	} `json:"modes"`
	Models struct {
		Offered []struct {
			ID string `json:"modelId"`
		} `json:"availableModels"`
	} `json:"models"`
	Options []option `json:"configOptions"`
}

// option is a setting of a session; its choices stand in one list or in groups.
type option struct {
	ID       string `json:"id"`
	Category string `json:"category"`
	Current  any    `json:"currentValue"` // a text, or of other kinds something else
	Choices  []struct {
		Value   string `json:"value"`
		Choices []struct {
			Value string `json:"value"`
		} `json:"options"`
	} `json:"options"`
}

func (o option) values() (values []string) {
	for _, c := range o.Choices {
		if len(c.Choices) == 0 {
			values = append(values, c.Value)
		}
		for _, g := range c.Choices {
			values = append(values, g.Value)
		}
	}
	return values
}

// readOnly is the name of a mode in which nothing can be changed. codex-acp begins in such a one,
// and says nothing of a command that fails for it.
var readOnly = pattern(`(?i)^read[-_ ]?only$`)

// choose sets the mode and the model that the definition names, in a session that goes on too:
// agents do not keep them.
func (s *session) choose(ctx context.Context, o opened) *fault {
	d := s.q.Definition
	var models []string
	s.modes = nil
	for _, m := range o.Modes.Offered {
		s.modes = append(s.modes, m.ID)
	}
	current := o.Modes.Current
	for _, option := range o.Options {
		if option.Category == "mode" {
			s.modes = option.values()
			current, _ = option.Current.(string) // "" is none that is known
		}
	}
	if d.Modifies && d.Mode == "" && readOnly().MatchString(current) {
		s.q.Attempt.Warn(fmt.Sprintf("it works in its mode %s, in which its commands can change no files; mode names "+
			"another: it has %s", current, strings.Join(s.modes, ", ")))
	}
	for _, m := range o.Models.Offered {
		models = append(models, m.ID)
	}
	id := acp.SessionId(s.id)
	if f := s.set(ctx, o, "model", d.Model, models, acp.AgentMethodSessionSetModel,
		acp.UnstableSetSessionModelRequest{SessionId: id, ModelId: acp.UnstableModelId(d.Model)}); f != nil {
		return f
	}
	return s.set(ctx, o, "mode", d.Mode, s.modes, acp.AgentMethodSessionSetMode,
		acp.SetSessionModeRequest{SessionId: id, ModeId: acp.SessionModeId(d.Mode)})
}

// set makes one choice: by the option for it where the agent has one, otherwise by the request of
// its own.
func (s *session) set(ctx context.Context, o opened, what, want string, offered []string, method string,
	request any) *fault {
	if want == "" {
		return nil
	}
	if i := slices.IndexFunc(o.Options, func(o option) bool { return o.Category == what }); i >= 0 {
		offered = o.Options[i].values()
		method, request = acp.AgentMethodSessionSetConfigOption, acp.SetSessionConfigOptionValueId{
			SessionId: acp.SessionId(s.id), ConfigId: acp.SessionConfigId(o.Options[i].ID),
			Value: acp.SessionConfigValueId(want)}
	}
	if !slices.Contains(offered, want) {
		return unoffered(what, want, offered)
	}
	if _, err := acp.SendRequest[struct{}](s.conn, ctx, method, request); err != nil {
		return s.broken(err)
	}
	return nil
}
