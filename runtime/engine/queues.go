package engine

import (
	"encoding/binary"
	"slices"
	"strings"

	"starling/lang/effect"
	"starling/runtime"
	"starling/runtime/journal"
)

// queues lists the queues by name; of one that is named its items as well, those that are parked
// behind the others.
func (r *reader) queues(q runtime.Query) (*runtime.Listing, error) {
	within := ""
	if q.Queue != "" {
		if err := effect.CheckName(q.Queue); err != nil {
			return nil, runtime.Refusef(runtime.ErrUsage, "queue: %v", err)
		}
		within = q.Queue + "/"
	}
	out := &runtime.Listing{Schema: runtime.Schema}
	found := map[string]*runtime.QueueSummary{}
	for _, prefix := range []string{journal.PrefixQueue, journal.PrefixParked} {
		err := journal.Scan(r.store, prefix+within, func(rest string, row []byte) error {
			name, number, isItem := strings.Cut(within+rest, "/")
			if !isItem {
				return nil // its counter
			}
			it, err := journal.ItemOf(row)
			if err != nil {
				return err
			}
			if found[name] == nil {
				found[name] = &runtime.QueueSummary{Queue: name}
			}
			shown := itemDocument(it, binary.BigEndian.Uint64([]byte(number)), it.Status(prefix, r.clock(), r.ended))
			countItem(found[name], shown)
			if q.Queue != "" && (q.Limit == 0 || len(out.Items) < q.Limit) {
				out.Items = append(out.Items, shown)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	for _, queue := range found {
		out.Queues = append(out.Queues, *queue)
	}
	slices.SortFunc(out.Queues, func(a, b runtime.QueueSummary) int { return strings.Compare(a.Queue, b.Queue) })
	return out, nil
}

func countItem(q *runtime.QueueSummary, it runtime.Item) {
	switch it.Status {
	case journal.ItemWaiting:
		if q.Waiting++; q.Oldest == nil {
			q.Oldest = &it.At
		}
	case journal.ItemHeld:
		if q.Held++; !slices.Contains(q.Holders, it.Holder) {
			q.Holders = append(q.Holders, it.Holder)
		}
	default:
		q.Parked++
	}
}

// itemDocument is an item as people see it.
func itemDocument(it *journal.Item, number uint64, status string) runtime.Item {
	d := runtime.Item{Item: number, Status: status, Key: it.Key, Value: journal.JSONOfPayload(it.Value), By: it.By, At: it.At, Tries: it.Tries, Reason: it.Reason}
	if status != journal.ItemWaiting {
		d.Holder = it.Holder
	}
	if status == journal.ItemHeld && !it.Until.IsZero() {
		d.Until = &it.Until
	}
	return d
}
