package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"starling/runtime"
	"starling/runtime/tool"
)

// Resources: what there is to read of runs, for clients that show it to people.

const (
	uriRuns = "starling://runs"
	// maxRuns bounds one reading of them: the tool query lists the others.
	maxRuns = 1000
	// maxJournal bounds one reading of a journal, in bytes: the rest is read after the last number
	// in it.
	maxJournal = 1 << 20
)

func (s *Server) addResources() {
	s.mcp.AddResource(&mcp.Resource{URI: uriRuns, Name: "runs", MIMEType: "application/json", Description: "The runs that have not ended, newest first, a thousand at most; query lists more"}, s.readRuns)
	s.mcp.AddResourceTemplate(&mcp.ResourceTemplate{URITemplate: uriRuns + "/{run}", Name: "run", MIMEType: "application/json", Description: "A run as it stands"}, s.readRun)
	s.mcp.AddResourceTemplate(&mcp.ResourceTemplate{URITemplate: uriRuns + "/{run}/journal{?after}", Name: "journal", MIMEType: "application/jsonl",
		Description: "What has happened in a run, one event a line; after is the number of the last event that is known"}, s.readJournal)
}

func (s *Server) readRuns(ctx context.Context, r *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
	l, err := s.desk.Engine.List(ctx, runtime.Query{Limit: maxRuns})
	if err != nil {
		return nil, err
	}
	return content(r, tool.Found{Runs: append([]runtime.Summary{}, l.Runs...), Next: l.Next})
}

func (s *Server) readRun(ctx context.Context, r *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
	run, _, err := runOfURI(r.Params.URI)
	if err != nil {
		return nil, err
	}
	at, err := s.desk.Engine.Get(ctx, run)
	if err != nil {
		return nil, notThere(r, err)
	}
	return content(r, at)
}

func (s *Server) readJournal(ctx context.Context, r *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
	run, after, err := runOfURI(r.Params.URI)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err = s.desk.Engine.Watch(ctx, runtime.WatchRequest{Run: run, After: after}, func(ev runtime.Event) error {
		line, err := json.Marshal(ev)
		if err != nil {
			return err
		}
		if b.Len() > 0 && b.Len()+len(line) > maxJournal {
			return runtime.ErrStopWatch
		}
		b.Write(append(line, '\n'))
		return nil
	})
	if err != nil {
		return nil, notThere(r, err)
	}
	return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: r.Params.URI, MIMEType: "application/jsonl", Text: b.String()}}}, nil
}

// runOfURI takes starling://runs/RUN/journal?after=SEQ apart.
func runOfURI(uri string) (run string, after uint64, err error) {
	u, err := url.Parse(uri)
	if err != nil {
		return "", 0, err
	}
	run, _, _ = strings.Cut(strings.TrimPrefix(u.Path, "/"), "/")
	if text := u.Query().Get("after"); text != "" {
		if after, err = strconv.ParseUint(text, 10, 64); err != nil {
			err = &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: fmt.Sprintf("%s: after: got %q, want the number of an event", uri, text)}
		}
	}
	return run, after, err
}

func content(r *mcp.ReadResourceRequest, v any) (*mcp.ReadResourceResult, error) {
	text, err := json.Marshal(v)
	return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: r.Params.URI, MIMEType: "application/json", Text: string(text)}}}, err
}

// notThere is the protocol's own error for what does not exist.
func notThere(r *mcp.ReadResourceRequest, err error) error {
	if runtime.AsRefusal(err).Kind == runtime.ErrUnknownRun {
		return mcp.ResourceNotFoundError(r.Params.URI)
	}
	return err
}
