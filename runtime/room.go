package runtime

import (
	"context"

	"golang.org/x/sync/semaphore"
)

// Room bounds the memory that a face lends to its clients at once: what waits for one of them who
// does not read, or has not sent all, takes from it. It is taken in the order in which it was asked
// for.
type Room struct {
	size int64
	left *semaphore.Weighted
}

// NewRoom makes room for so many bytes.
func NewRoom(size int64) *Room { return &Room{size, semaphore.NewWeighted(size)} }

// Take waits until there is room for so many bytes, or ctx ends, whose error it returns then. What
// is larger than all the room takes all of it.
func (r *Room) Take(ctx context.Context, n int64) (release func(), err error) {
	n = min(n, r.size)
	if err := r.left.Acquire(ctx, n); err != nil {
		return nil, err
	}
	return func() { r.left.Release(n) }, nil
}

// Try is Take for who does not wait: ok tells whether there is room.
func (r *Room) Try(n int64) (release func(), ok bool) {
	n = min(n, r.size)
	return func() { r.left.Release(n) }, r.left.TryAcquire(n)
}

type roomKey struct{}

// WithRoom returns a context in whose watches a large event takes room while it is handed out.
func WithRoom(ctx context.Context, r *Room) context.Context {
	return context.WithValue(ctx, roomKey{}, r)
}

// RoomOf is the room of a context, nil for none.
func RoomOf(ctx context.Context) *Room {
	r, _ := ctx.Value(roomKey{}).(*Room)
	return r
}
