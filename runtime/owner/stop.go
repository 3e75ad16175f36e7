package owner

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"syscall"
	"time"

	"starling/runtime"
	"starling/runtime/api"
)

// Stop asks the owner of the store Config.Dir to leave, whatever version it is of, and waits until
// it has. It returns the owner's pid, 0 if there was none. Clients of that owner elect another
// among themselves, so that the store may have an owner again when Stop returns. With Config.Token
// it asks in the name of that token, which needs the capability admin.
func Stop(ctx context.Context, c Config) (pid int, err error) {
	dir, err := real(c.Dir)
	if err != nil {
		return 0, err
	}
	owner, err := askToLeave(ctx, dir, c.Token)
	if err != nil || owner.PID == 0 {
		return 0, err
	}
	for deadline := time.Now().Add(ending); ; {
		free, err := unlocked(dir)
		if err != nil {
			return 0, err
		}
		if now, ok := readRecord(dir); free || ok && (now.PID != owner.PID || now.Started != owner.Started) {
			return owner.PID, nil
		}
		if owner.Socket == "" && time.Now().After(deadline) {
			return 0, runtime.Refuse(runtime.ErrOwnerUnreachable,
				fmt.Sprintf("end it, nothing that was acknowledged is lost: kill -9 %d", owner.PID),
				"process %d, which owns the store %s, neither answers nor ends on SIGTERM",
				owner.PID, dir)
		}
		if err := sleep(ctx, pause); err != nil {
			return 0, err
		}
	}
}

// ending is how long an owner has that was told to end by a signal: calls in flight have their
// grace.
const ending = 15 * time.Second

// end tells an owner that does not answer to end, by SIGTERM, which it obeys as it does a request.
// It may have been stopped. What is returned has no socket.
func end(dir string, unanswered error) (Record, error) {
	pid, err := signalHolder(dir, syscall.SIGTERM, syscall.SIGCONT)
	if err != nil {
		return Record{}, unreachable(dir, patience, unanswered)
	}
	started, _ := processStart(pid) // one that is gone is not waited for
	return Record{PID: pid, Started: started}, nil
}

// askToLeave finds the owner and asks. The record is empty if there is none.
func askToLeave(ctx context.Context, dir, token string) (Record, error) {
	for deadline := time.Now().Add(patience); ; {
		free, err := unlocked(dir)
		if free || err != nil {
			return Record{}, err
		}
		r, ok := readRecord(dir)
		err = &api.Away{State: api.Gone}
		if ok {
			trying, cancel := context.WithTimeout(ctx, answerWithin)
			_, err = api.Stop(trying, r.Socket, token)
			cancel()
		}
		switch {
		case err == nil:
			return r, nil
		case ctx.Err() != nil:
			return Record{}, ctx.Err()
		case !api.IsAway(err) && !errors.Is(err, context.DeadlineExceeded):
			return Record{}, err
		case time.Now().After(deadline) && token != "": // nobody has said that its bearer may
			return Record{}, unreachable(dir, patience, err)
		case time.Now().After(deadline):
			return end(dir, err)
		}
		miss(dir, err)
		sleep(ctx, pause) // the next try tells whether ctx has ended
	}
}

// unlocked tells whether nobody has the lock.
func unlocked(dir string) (bool, error) {
	l, err := tryLock(dir, false)
	switch {
	case errors.Is(err, errHeld):
		return false, nil
	case errors.Is(err, fs.ErrNotExist):
		return true, nil
	case err != nil:
		return false, err
	}
	return true, l.release()
}
