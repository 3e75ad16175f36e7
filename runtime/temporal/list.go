package temporal

import (
	"bytes"
	"context"
	"maps"
	"slices"

	"go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"

	"starling/runtime"
	"starling/runtime/journal"
	"starling/runtime/memory"
)

// Lists are made of what the server's own lists have of each workflow: its rows, in its memo. They
// may lag behind what the runs themselves say, by as much as the server's do.

// maxMemo bounds the rows of one run. Of a run that has more, lists have the summary alone.
const maxMemo = 32 << 10

// memoOf encodes the rows of a run by which lists find it.
func memoOf(rows map[string][]byte) []byte {
	var all []runtime.Write
	size := 0
	for _, key := range slices.Sorted(maps.Keys(rows)) {
		all = append(all, runtime.Write{Key: []byte(key), Value: rows[key]})
		size += len(key) + len(rows[key])
	}
	if size > maxMemo {
		all = slices.DeleteFunc(all, func(w runtime.Write) bool {
			return !bytes.HasPrefix(w.Key, []byte(journal.PrefixRun)) && !bytes.HasPrefix(w.Key, []byte(journal.PrefixOrder))
		})
	}
	b := packer{version}
	b.writes(all)
	return b
}

// rowsOf are the rows of what a run begins with.
func rowsOf(t *turned) map[string][]byte {
	rows := map[string][]byte{}
	for _, w := range t.writes {
		if listed(w.Key) && w.Value != nil {
			rows[string(w.Key)] = w.Value
		}
	}
	return rows
}

// listing has the rows of many runs, as a store.
func (c *connection) listing(ctx context.Context, where string) (*memory.Store, error) {
	s, query := memory.New(), "WorkflowType = '"+workflowName+"' AND TaskQueue = '"+c.queue+"' AND ExecutionStatus != 'ContinuedAsNew'"
	if where != "" {
		query += " AND " + where
	}
	seen := map[string]bool{}
	for token := []byte(nil); ; {
		page, err := c.client.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{PageSize: 1000, NextPageToken: token, Query: query})
		if err != nil {
			return nil, c.refusal(err, "")
		}
		batch := new(runtime.Batch)
		for _, info := range page.GetExecutions() {
			if id := info.GetExecution().GetWorkflowId(); !seen[id] {
				seen[id] = true
				batch.Writes = append(batch.Writes, rowsIn(info)...)
			}
		}
		if len(batch.Writes) > 0 {
			if err := s.Commit(ctx, batch); err != nil {
				return nil, err
			}
		}
		if token = page.GetNextPageToken(); len(token) == 0 {
			return s, nil
		}
	}
}

// rowsIn are the rows in the memo of a workflow. One that was made by hand, or by a newer build,
// has none.
func rowsIn(info *workflow.WorkflowExecutionInfo) []runtime.Write {
	b := info.GetMemo().GetFields()[memoName].GetData()
	if len(b) == 0 || b[0] != version {
		return nil
	}
	u := &unpacker{rest: b[1:]}
	all := u.writes()
	if u.err != nil {
		return nil
	}
	return all
}

// goesOn tells for a store whether a run in it has not ended: then workers carry it.
func goesOn(s runtime.Store) func(run string) bool {
	return func(run string) bool {
		row, err := s.Get(journal.RunKey(run))
		if err != nil {
			return false
		}
		sum, err := journal.ReadSummary(run, row)
		return err == nil && !sum.Status.Ended()
	}
}
