// Package process starts every child of Starling - agents, tool servers, sh, git - under a guard,
// and ends it whole.
//
// A guard is this very program, executed again as `starling __guard`. It stands between the owner
// (the process that called [Start]) and the child, and answers for one thing: when it is gone,
// nothing that the child started is left. It ends all of that when the owner asks, when the child
// itself has ended, and when the owner dies, were it by SIGKILL. While anything is left it holds
// the lock of the step, which the guard of the next attempt takes first: no two attempts of a step
// ever overlap.
//
//	func main() {
//		process.GuardMain(os.Args) // first line of main, and of the TestMain of a package whose tests start children
//		...
//	}
//
//	r, err := process.Run(ctx, process.Spec{Argv: []string{"git", "status"}, Dir: repo, Env: env})
//
// [Start] returns once the child runs, or with the reason why it does not: [ErrSpec],
// [ErrNotFound], [ErrNotExecutable], [ErrLockBusy], [ErrGuard]. [Child.Wait] returns once
// everything is gone. A deadline of the context, [Child.Stop] and too much output end the child:
// SIGTERM to all, the grace, SIGKILL to what is left. What an exit code or an empty reply means is
// the caller's to judge. A Spec is not kept, a Child may be used by many goroutines.
//
// # Marks
//
// On Linux a child and all that it starts carry marks that cannot be taken off, and by which the
// owner of a store knows them (see mark_linux.go). They get at no process that is not their own: no
// signal, no debugger, no memory. The guard and the owner are not their own.
//
// # Limits
//
// A process that gets another parent outside of the tree by asking a daemon (systemd-run, docker,
// at, cron) is not a descendant. A descendant that this user may not signal (sudo) is waited for,
// its lock stays held, and Wait gives up with [ErrGuard]. SIGKILL of a guard itself takes the child
// with it, not what the child had started, unless that is in a whole sandbox: there everything ends
// with the first process. Without Linux there is no subreaper: a guard ends the process group of
// the child, what left that group escapes, and [AttemptOf] finds nothing.
//
// # Protocol
//
// The guard has /dev/null as descriptors 0 and 1, and a pipe for its own last words as 2. What
// belongs to the child comes apart:
//
//	3  control  owner to guard
//	4  status   guard to owner
//	5  stdin, 6 stdout, 7 stderr of the child; closed by the guard as soon as the child has them
//
// Nothing of a command is in the guard's arguments or environment, which other users of the machine
// may read. Control carries one order, a line of JSON whose byte strings are base64 (paths,
// arguments and variables need not be UTF-8), then at most one stop:
//
//	{"path":B,"argv":[B,...],"dir":B,"env":[B,...],"lock":B,"lock_wait":ns,"grace":ns,"attempt":{...},"sandbox":{...}}\n
//	stop\n
//
// The end of the pipe means that the owner is dead; an order without its newline is one that an
// owner did not live to finish, and starts nothing. Status carries lines of JSON, in this order:
//
//	{"waiting":{"run":S,"step":S,"attempt":N,"agent":S}}  the lock is held by that attempt; at most once
//	{"error":{"kind":K,"message":S}}                      nothing was started; the last line
//	{"started":PID,"lacks":[S,...],"bare":[S,...]}        the child runs; what of its sandbox could
//	                                                      not be enforced, which marks not be set
//	{"exit":N} or {"signal":"SIGKILL"}                    the child itself has ended
//	{"gone":true,"aside":[S,...]}  what came to be where nothing may; and
//	{"gone":true}                                         so has all that it started; the lock is free; the last line
//
// K is lock_busy, stopped, spec, not_executable, sandbox or guard. A status that ends before its
// last line means that the guard was lost. A lock file holds one line while it is held, and is
// removed by its holder:
//
//	{"run":S,"step":S,"attempt":N,"agent":S,"guard":PID,"start":ticks,"boot":S}
package process
