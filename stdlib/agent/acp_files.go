package agent

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/coder/acp-go-sdk"

	"starling/stdlib/jail"
	"starling/stdlib/project"
)

// The files that an agent has its client read and write are those of the workspace, through the
// same jail as those of scripts. What is written is what it says, byte for byte, or nothing.

// within is a path as one of the workspace, with its dots and links: where they lead, the jail
// finds out.
func (s *session) within(path string) (string, error) {
	if !filepath.IsAbs(path) {
		return path, nil
	}
	workspace := filepath.Clean(s.q.Settings.Workspace)
	roots := []string{workspace}
	if real, err := filepath.EvalSymlinks(workspace); err == nil {
		roots = append(roots, real) // agents resolve their folder
	}
	for _, root := range roots {
		if rest, ok := strings.CutPrefix(path+"/", root+"/"); ok {
			return firstOf(strings.Trim(rest, "/"), "."), nil
		}
	}
	return "", fmt.Errorf("%s is not in the workspace", path)
}

// tree opens the workspace at a path.
func (s *session) tree(path string) (*jail.Tree, string, *acp.RequestError) {
	rel, err := s.within(path)
	if err != nil {
		return nil, "", refusedFile(err)
	}
	tree, err := jail.Open(s.q.Settings.Workspace, s.q.Store, project.Rights(s.q.Settings))
	if err != nil {
		return nil, "", refusedFile(err)
	}
	return tree, rel, nil
}

func refusedFile(err error) *acp.RequestError {
	if errors.Is(err, os.ErrNotExist) {
		return &acp.RequestError{Code: -32002, Message: "Resource not found: " + err.Error()}
	}
	return acp.NewInvalidParams(err.Error())
}

func (s *session) readFile(params json.RawMessage) (any, *acp.RequestError) {
	var p acp.ReadTextFileRequest
	if err := json.Unmarshal(params, &p); err != nil {
		return nil, acp.NewInvalidParams(err.Error())
	}
	tree, rel, refused := s.tree(p.Path)
	if refused != nil {
		return nil, refused
	}
	defer tree.Close()
	text, err := tree.Read(rel, maxReply)
	if err == nil && !utf8.Valid(text) {
		err = fmt.Errorf("%s is no text", p.Path)
	}
	if err != nil {
		return nil, refusedFile(err)
	}
	return acp.ReadTextFileResponse{Content: linesOf(string(text), p.Line, p.Limit)}, nil
}

// linesOf is a part of a text: from a line on, counted from 1, and so many lines.
func linesOf(text string, line, limit *int) string {
	lines := strings.SplitAfter(text, "\n")
	if line != nil && *line > 1 {
		lines = lines[min(*line-1, len(lines)):]
	}
	if limit != nil && *limit >= 0 {
		lines = lines[:min(*limit, len(lines))]
	}
	return strings.Join(lines, "")
}

func (s *session) writeFile(params json.RawMessage) (any, *acp.RequestError) {
	var p acp.WriteTextFileRequest
	if err := json.Unmarshal(params, &p); err != nil {
		return nil, acp.NewInvalidParams(err.Error())
	}
	write := acpTool{Title: "write " + p.Path, Kind: string(acp.ToolKindEdit)}
	if !s.q.Definition.Modifies {
		s.decided(&write, false, "policy")
		return nil, acp.NewInvalidParams("denied: this agent may not change files")
	}
	tree, rel, refused := s.tree(p.Path)
	if refused != nil {
		s.decided(&write, false, "policy")
		return nil, refused
	}
	defer tree.Close()
	if name := s.newKey(tree, rel, p.Content); name != "" {
		return nil, acp.NewInvalidParams("denied: the content has the value of " + name + " in it, which is not put into files; leave it out")
	}
	if err := tree.Write(rel, []byte(p.Content), s.q.Key); err != nil {
		return nil, refusedFile(err)
	}
	return acp.WriteTextFileResponse{}, nil
}

// newKey names a key that a file would have which it does not have yet. In the journal a key is
// replaced by its name; a file would be another than the agent has written.
func (s *session) newKey(tree *jail.Tree, path, content string) (name string) {
	names := s.q.keys.Names(content)
	if len(names) == 0 {
		return ""
	}
	old, err := tree.Read(path, maxReply)
	if err != nil {
		return names[0]
	}
	had := s.q.keys.Names(string(old))
	if i := slices.IndexFunc(names, func(name string) bool { return !slices.Contains(had, name) }); i >= 0 {
		return names[i]
	}
	return ""
}
