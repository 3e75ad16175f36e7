package temporaltest

import (
	"database/sql"
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"starling/runtime/temporal"
)

// crowds starts runs on all sides, and returns when each has been taken up and waits. An answer to
// a workflow whose first task is still in the queue is answered behind all those tasks: plain ones
// took up to 90 s for that.
func (l *lab) crowds(n int) (own, plain, folder []string) {
	own, plain, folder = make([]string, n), make([]string, n), make([]string, n)
	const callers = 32
	at(callers, func(c int) {
		for i := c; i < n; i += callers {
			own[i], plain[i], folder[i] = l.start(waitScript, "", ""), l.startPlain(plainWait), l.startFolder(waitScript, "")
		}
		for i := c; i < n; i += callers {
			l.taken(own[i])
			l.taken(plain[i])
		}
	})
	return own, plain, folder
}

func quantile(all []time.Duration, q float64) time.Duration {
	slices.Sort(all)
	return all[min(len(all)-1, int(float64(len(all))*q))]
}

// idle measures one answer while nothing else happens.
func (l *lab) idle(n int) string {
	own, plain, folder := l.crowds(n)
	var a, p, h []time.Duration
	timed := func(to *[]time.Duration, do func(string), id string) {
		began := time.Now()
		do(id)
		*to = append(*to, time.Since(began))
	}
	for i := range n {
		timed(&a, l.answer, own[i])
		timed(&p, l.answerPlain, plain[i])
		timed(&h, l.answerInFolder, folder[i])
	}
	x, y := quantile(a, 0.5), quantile(p, 0.5)
	return fmt.Sprintf("| one answer, idle, p50 | %.1f ms | %.1f ms | %.2f | 1.2 | %.2f ms |", ms(x), ms(y), ms(x)/ms(y), ms(quantile(h, 0.5)))
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// burst measures answers to many runs at once.
func (l *lab) burst(n int) []string {
	var a, p, h []time.Duration
	one := func(to *[]time.Duration, ids []string, do func(string)) func() time.Duration {
		took := make([]time.Duration, len(ids))
		return func() time.Duration {
			all := at(len(ids), func(i int) { began := time.Now(); do(ids[i]); took[i] = time.Since(began) })
			*to = append(*to, took...)
			return all
		}
	}
	var x, y, z []float64
	var r []float64
	for range *figureRounds {
		own, plain, folder := l.crowds(n)
		mine := float64(n) / one(&a, own, l.answer)().Seconds()
		theirs := float64(n) / one(&p, plain, l.answerPlain)().Seconds()
		x, y, r = append(x, mine), append(y, theirs), append(r, mine/theirs)
		z = append(z, float64(n)/one(&h, folder, l.answerInFolder)().Seconds())
	}
	return []string{
		fmt.Sprintf("| burst of %d answers, a second | %.0f | %.0f | %.2f | 0.75 | %.0f |", n, median(x), median(y), median(r), median(z)),
		fmt.Sprintf("| p99 of these | %.0f ms | %.0f ms | | | %.0f ms |", ms(quantile(a, 0.99)), ms(quantile(p, 0.99)), ms(quantile(h, 0.99))),
	}
}

// resumes measures the answer of a run that no worker has in memory, with many steps behind it and
// with few.
func (l *lab) resumes(past int) string {
	const each = 9
	var ids, plain [2][]string
	for i, n := range []int{past, 10 * 50} {
		in := fmt.Sprintf(`{"n": %d}`, n)
		count := each
		if i == 0 {
			count = 3
		}
		for range count {
			ids[i] = append(ids[i], l.start(pastScript, in, ""))
			plain[i] = append(plain[i], l.startPlain(plainPast, n))
		}
	}
	for i := range ids {
		for n := range ids[i] {
			for !l.waits(ids[i][n]) || !l.waits(plain[i][n]) {
				time.Sleep(200 * time.Millisecond)
			}
		}
	}
	l.rest()
	l.work()
	time.Sleep(12 * time.Second) // for what was meant for the workers before to be for all
	var took, theirs [2][]time.Duration
	for i := range ids {
		for n := range ids[i] {
			began := time.Now()
			l.answer(ids[i][n])
			took[i] = append(took[i], time.Since(began))
			began = time.Now()
			l.answerPlain(plain[i][n])
			theirs[i] = append(theirs[i], time.Since(began))
		}
	}
	ratio := func(t [2][]time.Duration) float64 { return ms(quantile(t[0], 0.5)) / ms(quantile(t[1], 0.5)) }
	return fmt.Sprintf("| resumed with %d steps behind it, by one with 500 | %.2f (%.0f ms) | %.2f (%.0f ms) | | 1.2 | |", past,
		ratio(took), ms(quantile(took[0], 0.5)), ratio(theirs), ms(quantile(theirs[0], 0.5)))
}

// waits tells whether a plain workflow waits for an answer: it has nothing else to do.
func (l *lab) waits(id string) bool {
	d, err := l.o.Client.DescribeWorkflowExecution(l.ctx, id, "")
	l.must(err)
	return len(d.GetPendingActivities()) == 0 && d.GetPendingWorkflowTask() == nil
}

// killed measures how long an answer takes whose worker is killed when it is sent.
func (l *lab) killed() string {
	var took []time.Duration
	for range max(3, *figureRounds) {
		o := l.o
		o.Queue += fmt.Sprintf("-%d", queues.Add(1))
		at := hired{Server: l.servers.address(), Namespace: serversSpace, Queue: o.Queue, Play: "scribe"}
		first := spawn(l.b, at)
		e := *l
		e.o, e.e = o, temporal.New(o)
		id := e.start(waitScript, "", "")
		until(l.b, e.e, id, is("run.suspended"))
		for !l.waits(id) {
			time.Sleep(50 * time.Millisecond)
		}
		second := spawn(l.b, at)
		time.Sleep(3 * time.Second) // for it to ask for work
		_ = first.Process.Kill()
		began := time.Now()
		e.answer(id)
		took = append(took, time.Since(began))
		_ = second.Process.Kill()
	}
	return fmt.Sprintf("| SIGKILL of the worker until answered by another | %.1f s, at most %.1f s | | | 8 s | |", quantile(took, 0.5).Seconds(), slices.Max(took).Seconds())
}

// space measures what runs that wait take of the server's database.
func space(b *testing.B, n int) string {
	each := func(start func(l *lab) func()) float64 {
		s := startServers(b, true)
		l := newLab(b, s)
		one := start(l)
		one()
		before := s.size()
		const callers = 32
		at(callers, func(c int) {
			for i := c; i < n; i += callers {
				one()
			}
		})
		time.Sleep(5 * time.Second)
		l.close()
		s.kill()
		return float64(s.size()-before) / float64(n)
	}
	own := each(func(l *lab) func() { return func() { l.start(waitScript, "", "") } })
	plain := each(func(l *lab) func() { return func() { l.startPlain(plainWait) } })
	return fmt.Sprintf("| bytes of the database for a waiting run, of %d | %.0f | %.0f | %.2f | 1.8 | |", n, own, plain, own/plain)
}

// size is that of the database, with what it has not merged yet.
func (s *servers) size() int64 {
	s.t.Helper()
	if db, err := sql.Open("sqlite", s.file); err == nil {
		_, _ = db.Exec("pragma wal_checkpoint(truncate)")
		db.Close()
	}
	sum := int64(0)
	for _, end := range []string{"", "-wal"} {
		if info, err := os.Stat(s.file + end); err == nil {
			sum += info.Size()
		}
	}
	return sum
}
