package process

import (
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"time"
)

// A Lease is a file in the folder of a store beside its locks. In it the owner of a store that
// other machines may take says until when it owns it, by a clock of this machine. Guards end what
// they started when that is over: also where the owner is stopped, and does nothing about it
// itself.
//
// The file holds eight bytes, big-endian: nanoseconds of the clock, 0 for a moment that is over.
type Lease struct{ file *os.File }

// leaseName is the file, in the folder above that of the locks.
const leaseName = "lease"

// errLeaseOver is a child that would begin when its owner owns nothing any more.
var errLeaseOver = errors.New("the owner's lease is over: another machine may own the store")

// OpenLease makes the file in the folder of a store. Nothing is owned yet.
func OpenLease(folder string) (*Lease, error) {
	file, err := os.OpenFile(filepath.Join(folder, leaseName), os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	l := &Lease{file}
	l.Hold(0)
	return l, nil
}

// Hold says that the store is owned for a time from now, 0 for no more. It is called by one
// goroutine at a time. Where it cannot be written, what was said before holds.
func (l *Lease) Hold(d time.Duration) {
	until := uint64(0)
	if d > 0 {
		until = uint64(clock() + d)
	}
	_, _ = l.file.WriteAt(binary.BigEndian.AppendUint64(nil, until), 0)
}

// Close closes the file, which says that nothing is owned.
func (l *Lease) Close() error {
	l.Hold(0)
	return l.file.Close()
}

// leaseLeft is how long the owner of a lock owns its store; ok is false where there is no lease.
func leaseLeft(lock string) (left time.Duration, ok bool) {
	if lock == "" {
		return 0, false
	}
	b, err := os.ReadFile(filepath.Join(filepath.Dir(filepath.Dir(lock)), leaseName))
	if err != nil || len(b) != 8 {
		return 0, false
	}
	return time.Duration(binary.BigEndian.Uint64(b)) - clock(), true
}

// obeyLease has the child ended when the owner's time is over. What would only begin then is
// refused by [guard.start].
func (g *guard) obeyLease() {
	for {
		left, ok := leaseLeft(string(g.order.Lock))
		if !ok {
			return
		}
		if left <= 0 {
			g.ends <- 0
			return
		}
		time.Sleep(left)
	}
}
