package temporal

import (
	"container/list"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"go.temporal.io/api/common/v1"
	enums "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"

	"starling/runtime"
	"starling/runtime/journal"
)

// Contents keeps by its hash what is too large for a history. Its methods may be called
// concurrently; what Put has kept is durable, and found by every worker.
type Contents interface {
	Put(ctx context.Context, hash string, content []byte) error
	Get(ctx context.Context, hash string) ([]byte, error) // runtime.ErrNoKey where there is none
	Name() string                                         // for people
}

// A body is what a history has of a run in one place: what a turn has left, a letter, a task. One
// that is too large for a server lies in the contents, and the history has its hash in its place,
// behind this byte, with which no other body begins. It is put there before the turn is recorded
// that names it, so whoever finds the name finds the content.
const byHash = 0xff

// maxBody is how large a body in a history may be; it takes 2 MB in one place, and 4 MB in all that
// one task of a workflow completes with.
const maxBody = 1 << 20

// contentTime is how long contents are waited for. It is less than what the SDK takes for a
// deadlock of a workflow.
const contentTime = 5 * time.Second

// errTooLarge is the error of a body that neither a history takes nor contents are there for.
type errTooLarge struct{ size, most int }

func (e *errTooLarge) Error() string {
	return fmt.Sprintf("%d bytes, and a history on Temporal takes %d at most where no [store] url says where larger contents lie", e.size, e.most)
}

// errAway is the error of contents that could not be put where they are to lie: whoever has to is
// to try again.
type errAway struct{ error }

func (e *errAway) Unwrap() error { return e.error }

// library is the contents as one process sees them, with what it has put and got last. The nil
// Contents are none.
type library struct {
	Contents
	mu    sync.Mutex // guards what follows
	known map[string]*list.Element
	order list.List // of known, the newest first
	size  int
}

type volume struct {
	hash    string
	content []byte
}

// maxKnown bounds the bytes that a library remembers.
const maxKnown = 64 << 20

// remember keeps a content for who asks for it next.
func (l *library) remember(hash string, content []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.known[hash] != nil {
		return
	}
	if l.known == nil {
		l.known = map[string]*list.Element{}
	}
	l.known[hash] = l.order.PushFront(volume{hash, content})
	for l.size += len(content); l.size > maxKnown; {
		oldest := l.order.Remove(l.order.Back()).(volume)
		delete(l.known, oldest.hash)
		l.size -= len(oldest.content)
	}
}

func (l *library) remembered(hash string) []byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	at := l.known[hash]
	if at == nil {
		return nil
	}
	l.order.MoveToFront(at)
	return at.Value.(volume).content
}

// pack gives a body as a history has it: one of more than most bytes is kept, and named. Without
// contents that is an errTooLarge.
func (l *library) pack(ctx context.Context, body []byte, most int) ([]byte, error) {
	if len(body) <= most {
		return body, nil
	}
	if l.Contents == nil {
		return nil, &errTooLarge{len(body), most}
	}
	hash := journal.HashOf(body)
	if l.remembered(hash) == nil {
		ctx, cancel := context.WithTimeout(ctx, contentTime)
		defer cancel()
		if err := l.Put(ctx, hash, body); err != nil {
			return nil, &errAway{err}
		}
		l.remember(hash, body)
	}
	return append([]byte{byHash}, hash...), nil
}

// open gives a body that a history has, the whole of it.
func (l *library) open(ctx context.Context, body []byte) ([]byte, error) {
	if len(body) == 0 || body[0] != byHash {
		return body, nil
	}
	hash := string(body[1:])
	if content := l.remembered(hash); content != nil {
		return content, nil
	}
	if l.Contents == nil {
		return nil, runtime.Refuse(runtime.ErrStoreUnreachable, "name it as [store] url", "a content %s lies outside of the history, and nothing says where", hash)
	}
	ctx, cancel := context.WithTimeout(ctx, contentTime)
	defer cancel()
	content, err := l.Get(ctx, hash)
	switch {
	case errors.Is(err, runtime.ErrNoKey):
		return nil, runtime.Refuse(runtime.ErrKindDamaged, "bring it back from a backup", "%s has no content %s, which a history names", l.Name(), hash)
	case err != nil:
		return nil, err
	case journal.HashOf(content) != hash:
		return nil, runtime.Refuse(runtime.ErrKindDamaged, "bring it back from a backup", "%s: the content %s is another one by its hash", l.Name(), hash)
	}
	l.remember(hash, content)
	return content, nil
}

// fill puts into an event of a history what it names, where a run is read from it.
func (l *library) fill(ctx context.Context, ev *historypb.HistoryEvent) error {
	var at *common.Payloads
	switch ev.GetEventType() {
	case enums.EVENT_TYPE_WORKFLOW_EXECUTION_STARTED:
		at = ev.GetWorkflowExecutionStartedEventAttributes().GetInput()
	case enums.EVENT_TYPE_MARKER_RECORDED:
		at = ev.GetMarkerRecordedEventAttributes().GetDetails()["result"]
	case enums.EVENT_TYPE_ACTIVITY_TASK_COMPLETED:
		at = ev.GetActivityTaskCompletedEventAttributes().GetResult()
	}
	if len(at.GetPayloads()) == 0 {
		return nil
	}
	body, err := l.open(ctx, at.Payloads[0].GetData())
	if err == nil {
		at.Payloads[0].Data = body
	}
	return err
}
