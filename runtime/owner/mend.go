package owner

import (
	"io/fs"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"reflect"
	"syscall"

	"starling/runtime/api"
)

// An owner whose socket or record is gone, or is somebody else's, cannot be asked for them. So who
// finds the lock held and nobody behind it sends the holder a signal, and the owner looks after its
// place. The signal is one that kills nobody, for it may reach a process that only reads, and that
// agents, who may have done it, cannot send.
const missed = syscall.SIGWINCH

// place is where an owner is found.
type place struct {
	dir    string
	record Record
	socket fs.FileInfo
}

// open makes a socket, has the server listen there, and says so in owner.json.
func (p *place) open(server *api.Server, build string) error {
	path, err := newSocket()
	if err != nil {
		return err
	}
	l, err := listen(path)
	if err != nil {
		return err
	}
	p.socket, err = os.Lstat(path)
	if err != nil {
		l.Close()
		return err
	}
	go server.Serve(l) // ends with the listener, when the server is closed
	p.record = newRecord(build, path)
	return p.record.write(p.dir)
}

// whole tells whether the record and the socket are those of this owner.
func (p *place) whole() bool {
	r, ok := readRecord(p.dir)
	info, err := os.Lstat(p.record.Socket)
	return ok && reflect.DeepEqual(r, p.record) && err == nil && os.SameFile(info, p.socket)
}

// close removes what is this owner's.
func (p *place) close() {
	os.Remove(p.record.Socket)
	os.Remove(filepath.Join(p.dir, recordName))
}

// keep opens the place anew whenever somebody has missed the owner there. It returns at once.
func (t *ownership) keep(build string) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, missed)
	t.kept = make(chan struct{})
	t.left = make(chan struct{})
	go func() {
		defer close(t.kept)
		defer signal.Stop(signals)
		for {
			select {
			case <-t.left:
				return
			case <-signals:
			}
			if !t.place.whole() {
				os.Remove(t.place.record.Socket) // or it would be left for ever
				t.place.open(t.server, build)    // who misses it still will say so again
			}
		}
	}()
}

// sweep removes the socket that an owner which was killed has left. The record could name anything:
// only a socket in a directory of ours on which nobody listens is removed.
func sweep(dir string) {
	r, ok := readRecord(dir)
	if !ok {
		return
	}
	for _, ours := range socketDirectories() {
		if filepath.Dir(r.Socket) != ours {
			continue
		}
		c, err := net.Dial("unix", r.Socket)
		if err == nil {
			c.Close()
			return
		}
		if info, err := os.Lstat(r.Socket); err == nil && info.Mode()&fs.ModeSocket != 0 {
			os.Remove(r.Socket)
		}
	}
}
