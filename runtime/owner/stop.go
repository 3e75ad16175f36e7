package owner

import (
	"context"
	"errors"
	"io/fs"
	"time"

	"starling/runtime/api"
)

// Stop asks the owner of a store to leave, whatever version it is of, and waits until it has. It returns the owner's pid, 0 if there was none. Clients of
// that owner elect another among themselves, so that the store may have an owner again when Stop returns.
func Stop(ctx context.Context, dir string) (pid int, err error) {
	if dir, err = real(dir); err != nil {
		return 0, err
	}
	owner, err := askToLeave(ctx, dir)
	if err != nil || owner.PID == 0 {
		return 0, err
	}
	for {
		free, err := unlocked(dir)
		if err != nil {
			return 0, err
		}
		if now, ok := readRecord(dir); free || ok && (now.PID != owner.PID || now.Started != owner.Started) {
			return owner.PID, nil
		}
		if err := sleep(ctx, pause); err != nil {
			return 0, err
		}
	}
}

// askToLeave finds the owner and asks. The record is empty if there is none.
func askToLeave(ctx context.Context, dir string) (Record, error) {
	for deadline := time.Now().Add(patience); ; {
		free, err := unlocked(dir)
		if free || err != nil {
			return Record{}, err
		}
		r, ok := readRecord(dir)
		err = &api.Away{State: api.Gone}
		if ok {
			trying, cancel := context.WithTimeout(ctx, answerWithin)
			_, err = api.Stop(trying, r.Socket)
			cancel()
		}
		switch {
		case err == nil:
			return r, nil
		case ctx.Err() != nil:
			return Record{}, ctx.Err()
		case !api.IsAway(err) && !errors.Is(err, context.DeadlineExceeded):
			return Record{}, err
		case time.Now().After(deadline):
			return Record{}, unreachable(dir, patience)
		}
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
