// Package owner decides which process owns a store, and makes every other one its client.
//
// One process can have a store open. Whoever holds the lock is the owner: it opens the store,
// drives runs and answers the others over a socket (runtime/api). Nobody is appointed: each command
// that needs the store stands for election with [Acquire], and gets a [Session], an engine that
// behaves the same whether this process owns the store or another does. There is no daemon to
// start; `serve` is only an owner that stays.
//
//	s, err := owner.Acquire(ctx, config, owner.Participant)
//	if err != nil { ... }                   // owner_unreachable, not_a_store, ...
//	defer s.Close()
//	run, err := s.Start(ctx, request)       // by this process, or by the one that owns the store
//	...
//	err = s.Idle(ctx, 0)                    // an owner stays as long as others need it
//
// # The directory of a store
//
//	owner.lock   held with flock by the owner, and for moments by readers; never removed; the kernel lets go when the process dies
//	owner.json   who the owner is, replaced as a whole (see Record); stale when nobody holds the lock
//	serve.log    what a detached owner prints (see Spawn)
//
// The lock decides, everything else is a hint: a stale owner.json, or a socket on which nobody
// listens, is replaced by whoever has the lock. The lock is taken before the store is opened; the
// store's own lock comes second and can lag behind for a moment when a process is killed.
//
// # The socket
//
// It lies in a private directory outside of the store, for a socket's path must be short: starling/
// in $XDG_RUNTIME_DIR, or starling-UID/ in the directory for temporary files. Its name is drawn
// anew by every owner, so that nobody guesses it. The directory must be a real one of this user
// with mode 0700, or it is refused. owner.json says where the socket is, so that processes with
// different environments find each other.
//
// Who finds the lock held and its holder not where owner.json says has the holder sent SIGWINCH,
// which harms nobody: an owner makes socket and record anew where they are gone or another's.
// [Stop] ends one that does not answer with SIGTERM. Which process holds the lock the kernel says
// (/proc/locks), no file that others could have written; on macOS it does not.
//
// # An election
//
// Try the lock: who gets it is the owner. Otherwise connect to the socket of owner.json: who
// answers is the owner. Otherwise try again, for 2 s at the beginning of a command and for 5 s when
// an owner was lost; an owner that answers that it is starting or leaving is waited for. Then the
// command is refused with owner_unreachable, naming the process. A [Keeper] has no use for being a
// client: for an owner that leaves when its command is done it waits 5 s, and for another keeper
// not at all. An owner with another protocol is refused at once, naming `starling stop`.
//
// A session that loses its owner stands for election again. Each request in flight is sent again,
// to whoever it is now: it carries a key, so it has no second effect. Each watch goes on after the
// last event seen. The runs that the session has started, signalled or carried are carried again,
// with the environment that it brought; that was in the lost owner's memory only.
//
// # How long an owner stays
//
// As long as its own command takes; and then as long as a client is attached, or a run that it
// carries is in motion: running, or due within [Soon]. That is [Session.Idle]. Then it tells
// newcomers to elect another, closes its engine, which gives calls in flight their grace, and
// removes socket and owner.json; then it lets go of the lock, and at last of its clients, which
// find the lock free.
//
// # Guests
//
// A process that others start and end as they please, such as an MCP server on stdio, owns nothing:
// a [Guest] that finds the lock free has an owner started beside it and is its client, also when it
// has lost one.
//
// # Readers
//
// A command that prints and leaves is a [Reader]: it asks the owner, and with no owner it holds the
// lock for as long as it reads. It opens the store without becoming its next owner, serves nothing,
// fires no timer. [Read] opens, asks and leaves.
package owner
