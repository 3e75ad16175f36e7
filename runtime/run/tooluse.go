package run

import (
	"slices"
	"strings"

	"go.starlark.net/starlark"

	"starling/lang/effect"
	"starling/runtime/journal"
)

// toolUse is how often the agent of a step used one tool, over all attempts.
type toolUse struct {
	Name   string // as the agent's program calls it, or SERVER.TOOL
	Server bool   // a tool of a server, whose calls went through this process: nothing is claimed
	OK     int64
	Failed int64 // of an agent's program: those that were denied, too
	Denied int64
}

// maxToolUses bounds the tools of one step that are told of: an agent can name as many as it likes.
const (
	maxToolUses = 100
	maxToolName = 200 // bytes
)

// The events that tell what tools came to. Those of servers are of the proxy, unless they are
// claimed; the others are of the agent's program.
const (
	eventToolResult = "tool_result" // name, ok
	eventPermission = "permission"  // name or tool, allowed
	eventToolCall   = "tool_call"   // server, tool, ok
	eventToolDenied = "tool_denied" // server, tool
)

// uses counts what an event tells of a tool.
func (st *Step) uses(kind string, data effect.View) {
	if !journal.AgentKind(st.Kind) {
		return
	}
	switch kind {
	case eventToolResult:
		st.useOf(data.Text("name"), false).count(data.Flag("ok"))
	case eventPermission:
		name := data.Text("name")
		if name == "" {
			name = data.Text("tool")
		}
		if !data.Flag("allowed") {
			st.useOf(name, false).Denied++
		}
	case eventToolCall:
		st.useOf(data.Text("server")+"."+data.Text("tool"), !data.Flag("claimed")).count(data.Flag("ok"))
	case eventToolDenied:
		st.useOf(strings.TrimPrefix(data.Text("server")+"."+data.Text("tool"), "."), !data.Flag("claimed")).Denied++
	}
}

func (u *toolUse) count(ok bool) {
	if ok {
		u.OK++
	} else {
		u.Failed++
	}
}

// useOf is the entry of a tool, one that nobody sees where there are too many or it has no name.
func (st *Step) useOf(name string, server bool) *toolUse {
	name = strings.ToValidUTF8(name[:min(len(name), maxToolName)], "")
	i := slices.IndexFunc(st.Tools, func(u toolUse) bool { return u.Name == name && u.Server == server })
	if i >= 0 {
		return &st.Tools[i]
	}
	if name == "" || len(st.Tools) == maxToolUses {
		return new(toolUse)
	}
	st.Tools = append(st.Tools, toolUse{Name: name, Server: server})
	return &st.Tools[len(st.Tools)-1]
}

// toolList is what a Result says: a dict for each tool, in the order in which they were first told
// of.
func toolList(uses []toolUse) *starlark.List {
	var list []starlark.Value
	for _, u := range uses {
		if !u.Server {
			if slices.ContainsFunc(uses, u.sameAs) && u.Denied == 0 {
				continue // what was measured stands there
			}
			u.Failed = max(0, u.Failed-u.Denied)
		}
		d := starlark.NewDict(5)
		set := func(key string, v starlark.Value) { _ = d.SetKey(starlark.String(key), v) } // a fresh dict and a string key
		set("name", starlark.String(u.Name))
		set("ok", starlark.MakeInt64(u.OK))
		set("failed", starlark.MakeInt64(u.Failed))
		set("denied", starlark.MakeInt64(u.Denied))
		set("claimed", starlark.Bool(!u.Server))
		list = append(list, d)
	}
	return starlark.NewList(list)
}

// sameAs tells whether v is the tool of a server which the agent's program calls u:
// mcp__SERVER__TOOL, SERVER.TOOL or the like.
func (u toolUse) sameAs(v toolUse) bool {
	own, server := toolWords(u.Name), toolWords(v.Name)
	return v.Server && (own == server || strings.HasSuffix(own, "_"+server))
}

// toolWords joins the letters and digits of a name by single underscores.
func toolWords(name string) string {
	return strings.Join(strings.FieldsFunc(name, func(r rune) bool {
		return (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
	}), "_")
}

func toolsPayload(uses []toolUse) effect.Payload {
	var b effect.Object
	for _, u := range uses {
		var one effect.Object
		key := "own " + u.Name
		if u.Server {
			key = "server " + u.Name
		}
		b.Raw(key, one.Int("ok", u.OK).Int("failed", u.Failed).Int("denied", u.Denied).Payload())
	}
	return b.Payload()
}

func toolsOf(v effect.View) []toolUse {
	if v.Empty() {
		return nil
	}
	var uses []toolUse
	v.Each(func(key string, one effect.View) {
		who, name, _ := strings.Cut(key, " ")
		uses = append(uses, toolUse{name, who == "server", one.Int("ok"), one.Int("failed"), one.Int("denied")})
	})
	return uses
}
