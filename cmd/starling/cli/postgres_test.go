package cli

import (
	"fmt"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"starling/cmd/starling/place"
	"starling/runtime/runtimetest"
)

// shared makes the place of a telling whose store is in a database.
func shared(t *testing.T, address string) *telling {
	t.Helper()
	p := &telling{t: t, dir: t.TempDir(), end: &ending{}, away: new(atomic.Int64)}
	state := filepath.Join(t.TempDir(), "state")
	p.env = []string{"STARLING_STORE=" + address, "XDG_STATE_HOME=" + state}
	p.place = &place.Place{Database: address, Store: filepath.Join(state, "looking")}
	return p
}

// serve has servers own the store, one after another as each is killed, the first of them at a
// commit, until the test is over.
func (p *telling) serve(crash string) (stop func()) {
	ended, leave := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		defer p.unserved.Store(true)
		for {
			var errs strings.Builder
			cmd := p.commandContext(p.t.Context(), "serve")
			cmd.Stderr = &errs
			cmd.Env = append(cmd.Env, crashVariable+"="+crash)
			if err := cmd.Start(); err != nil {
				p.t.Error(err)
				return
			}
			died := make(chan error, 1)
			go func() { died <- cmd.Wait() }()
			select {
			case <-leave:
				_ = cmd.Process.Signal(terminate)
				<-died
				return
			case <-died:
			}
			if !killed(cmd.ProcessState) {
				p.t.Errorf("the server left: %v: %s", cmd.ProcessState, errs.String())
				return
			}
			p.away.Add(1)
			crash = ""
		}
	}()
	return func() { close(leave); <-ended }
}

// Each story is told with its store in a database, without a crash and while the server that owns
// it is killed before and after a commit: the first and those that a seed draws, or every one with
// -every-commit. The end must be the same.
func TestSIGKILLAtCommitsInPostgres(t *testing.T) {
	server := runtimetest.StartPostgres(t)
	for _, s := range stories(t) {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			tell := func(crash string) *ending {
				p := shared(t, server.Address())
				defer p.serve(crash)()
				end := s.telling(p, killer{})
				end.kills = int(p.away.Load())
				return end
			}
			want, r := tell(""), drawn(t)
			for _, side := range s.sides(r) {
				for n, more := 1, true; more; n += 1 + r.IntN(s.apart(12)) {
					got := tell(fmt.Sprintf("%s %d", side, n))
					more = got.kills > 0
					if diff := want.differs(got); diff != "" {
						t.Errorf("the server killed %s %d: %s", side, n, diff)
					}
				}
			}
		})
	}
}
