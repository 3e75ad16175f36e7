package cli

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"starling/runtime"
	"starling/runtime/api"
)

var (
	soak       = flag.Duration("soak", 8*time.Second, "how long TestSoak keeps an owner busy")
	soakGrowth = flag.Float64("soak-growth", 0, "by which factor memory may grow in TestSoak; "+
		"0: 1.3, and 2 in less than 10 minutes")
)

const (
	soakPrune   = 5 * time.Second // between two prunes, which keep the store at one size
	soakSamples = 400             // of the owner's memory, at most
)

const soakEcho = `#!/bin/sh
cat >/dev/null
echo '{"event": {"kind": "plan", "text": "say it"}}'
echo '{"text": "said"}'
`

const soakGate = `
def main(n):
    d = gate("g", prompt = "Item %d?" % n, options = ["yes", "no"])
    queue.push("done", {"n": n, "by": d.by})
    return [d.choice, queue.ack(queue.take("jobs")), n]
`

const soakAgent = `
def main(n):
    ask = lambda i: agent("echo", "say %d" % i, input = {"n": i}).text
    said = parallel([lambda i = i: ask(i) for i in range(3)])
    for i in range(20):
        print("line %d of %d " % (i, n) + "x" * 200)
    return said
`

const soakDrain = `
def main(n):
    took = 0
    for _ in range(n):
        item = queue.take("done", wait = False)
        if item == None:
            break
        queue.ack(item)
        took += 1
    return took
`

// TestSoak plays a mixed load against one owner for a time: runs that are started and gates that
// are answered over HTTP and over the socket, queues, streams of events that are read to the end
// and ones that are left, agents that are programs, commands, and prunes that keep the store at one
// size. Its memory must be flat: the median of the last quarter of the time is held against that of
// the second; the first is for warming up.
func TestSoak(t *testing.T) {
	l := newLoad(t)
	ctx, cancel := context.WithTimeout(t.Context(), *soak)
	defer cancel()
	var load sync.WaitGroup
	for _, play := range []func(context.Context, int) error{
		l.asks, l.asks, l.asks, l.agents, l.leaves, l.looks, l.prunes,
	} {
		load.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				if err := play(ctx, n); err != nil && ctx.Err() == nil {
					t.Error(err)
					cancel()
				}
			}
		})
	}
	curve := l.watch(ctx)
	load.Wait()
	if t.Failed() {
		return
	}
	for _, m := range thinned(curve, 24) {
		t.Logf("%7.0fs  %4d MB resident, %4d MB of them its own; %4d MB of store; %d runs",
			m.at.Seconds(), m.resident>>20, m.own>>20, m.store>>20, m.runs)
	}
	growth := *soakGrowth
	if growth == 0 {
		growth = 1.3
		if *soak < 10*time.Minute {
			growth = 2 // the collector of garbage is still finding its pace
		}
	}
	second, last := quarter(curve, 1), quarter(curve, 3)
	t.Logf("%d runs; median of the second quarter %d MB, of the last %d MB: %.2f",
		l.ran.Load(), second>>20, last>>20, float64(last)/float64(second))
	if l.ran.Load() == 0 || float64(last) > growth*float64(second) {
		t.Errorf("after %d runs the owner has %d MB, want at most %.1f times %d",
			l.ran.Load(), last>>20, growth, second>>20)
	}
}

// load is an owner and who keeps it busy.
type load struct {
	t      *testing.T
	office *office
	base   string // of the owner's address
	http   *http.Client
	pid    int
	socket *api.Client
	ran    atomic.Int64 // runs that have ended
}

func newLoad(t *testing.T) *load {
	o := newOffice(t)
	o.write("starling.toml", "[agents.echo]\ncommand = [\"./echo.sh\"]\n")
	o.write("echo.sh", soakEcho)
	if err := os.Chmod(filepath.Join(o.dir, "echo.sh"), 0o700); err != nil {
		t.Fatal(err)
	}
	address, _ := o.serving("--http", "127.0.0.1:0")
	secret := o.cli(0, "token", "add", "load", "--can", "admin,cancel,run,read,signal")
	pid, err := ownerPid(filepath.Join(o.dir, ".starling", ownerFile))
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Transport: bearing(strings.TrimSpace(secret))}
	l := &load{t: t, office: o, base: address, http: client, pid: pid}
	if l.socket, err = api.Dial(t.Context(), (&store{office: o}).socket(pid)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.socket.Close() })
	return l
}

// post calls a tool and wants an answer that is no refusal.
func (l *load) post(ctx context.Context, tool string, args any) (map[string]any, error) {
	body, err := json.Marshal(args)
	if err != nil {
		return nil, err
	}
	url := l.base + "/v1/" + tool
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	resp, err := l.http.Do(r)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s: %s", tool, resp.Status, text)
	}
	if err != nil {
		return nil, err
	}
	var answer map[string]any
	return answer, json.Unmarshal(text, &answer)
}

func (l *load) start(ctx context.Context, source string, n int) (string, error) {
	inputs := map[string]any{"n": n}
	run, err := l.post(ctx, "run", map[string]any{"source": source, "inputs": inputs})
	id, _ := run["run"].(string)
	return id, err
}

// ends waits until a run has completed.
func (l *load) ends(ctx context.Context, run string) error {
	for {
		done, err := l.post(ctx, "await", map[string]any{"run": run, "hold": 20})
		if err != nil {
			return err
		}
		if done["status"] == string(runtime.Completed) {
			l.ran.Add(1)
			return nil
		}
		if done["pending"] != true {
			return fmt.Errorf("run %s: %v", run, done)
		}
	}
}

// asks has a run with a gate answered, over HTTP and over the socket by turns, and its events
// streamed to the end.
func (l *load) asks(ctx context.Context, n int) error {
	job := map[string]any{"queue": "jobs", "value": map[string]any{"n": n}}
	if _, err := l.post(ctx, "push", job); err != nil {
		return err
	}
	run, err := l.start(ctx, soakGate, n)
	if err != nil {
		return err
	}
	if n%2 == 0 {
		yes := runtime.Signal{Kind: runtime.SignalAnswer, Run: run, Gate: "g", Choice: "yes"}
		_, err = l.socket.Signal(ctx, yes)
	} else {
		_, err = l.post(ctx, "signal", map[string]any{"run": run, "gate": "g", "choice": "no"})
	}
	if err == nil {
		err = l.streams(ctx, run, 1<<30)
	}
	if err == nil {
		err = l.ends(ctx, run)
	}
	if err == nil && n%50 == 49 {
		if run, err = l.start(ctx, soakDrain, 200); err == nil {
			err = l.ends(ctx, run)
		}
	}
	return err
}

// agents has a run ask programs.
func (l *load) agents(ctx context.Context, n int) error {
	run, err := l.start(ctx, soakAgent, n)
	if err == nil {
		err = l.ends(ctx, run)
	}
	return err
}

// leaves looks at the first events of a run that waits, goes away, and has the run cancelled.
func (l *load) leaves(ctx context.Context, n int) error {
	run, err := l.start(ctx, soakGate, n)
	if err == nil {
		err = l.streams(ctx, run, 2)
	}
	if err == nil {
		_, err = l.post(ctx, "cancel", map[string]any{"run": run, "reason": "it is enough"})
	}
	return err
}

// streams reads events of a run until it has ended, or until there were enough.
func (l *load) streams(ctx context.Context, run string, enough int) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, l.base+"/v1/events?run="+run, nil)
	if err != nil {
		return err
	}
	resp, err := l.http.Do(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	for lines := bufio.NewScanner(resp.Body); enough > 0 && lines.Scan(); {
		if strings.HasPrefix(lines.Text(), "id: ") {
			enough--
		}
	}
	return nil
}

// looks asks what clients ask that only look, as a program and as a command.
func (l *load) looks(ctx context.Context, n int) error {
	for _, tool := range []string{"query", "inbox"} {
		if _, err := l.post(ctx, tool, map[string]any{}); err != nil {
			return err
		}
	}
	verb := [][]string{{"ps", "-a"}, {"queue", "ls"}, {"inbox", "--json"}, {"store", "info"}}[n%4]
	l.office.cli(0, verb...)
	return pausing(ctx, 200*time.Millisecond)
}

// prunes forgets the runs that have ended, and gives space back.
func (l *load) prunes(ctx context.Context, n int) error {
	if err := pausing(ctx, soakPrune); err != nil {
		return nil
	}
	prune := runtime.MaintenanceRequest{Task: runtime.MaintenancePrune, Before: time.Now().Add(-time.Second)}
	_, err := l.socket.Maintain(ctx, prune)
	if err == nil && n%6 == 5 {
		_, err = l.socket.Maintain(ctx, runtime.MaintenanceRequest{Task: runtime.MaintenanceGC})
	}
	return err
}

func pausing(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// footprint is what the owner had at one moment, in bytes.
type footprint struct {
	at       time.Duration
	resident int // with files that are mapped
	own      int // without
	store    int // files of the store
	runs     int64
}

// watch measures until the context ends.
func (l *load) watch(ctx context.Context) (curve []footprint) {
	began := time.Now()
	tick := time.NewTicker(max(*soak/soakSamples, 20*time.Millisecond))
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return curve
		case <-tick.C:
			m, err := footprintOf(l.pid)
			if err != nil {
				l.t.Error(err)
				return curve
			}
			m.at, m.runs = time.Since(began), l.ran.Load()
			m.store = sizeOfFiles(filepath.Join(l.office.dir, ".starling"))
			curve = append(curve, m)
		}
	}
}

// sizeOfFiles is how many bytes of a disk the files below a folder take, as far as they are still
// there.
func sizeOfFiles(dir string) (size int) {
	_ = filepath.WalkDir(dir, func(path string, _ fs.DirEntry, _ error) error {
		var s syscall.Stat_t
		if syscall.Stat(path, &s) == nil {
			size += int(s.Blocks) * 512
		}
		return nil
	})
	return size
}

func footprintOf(pid int) (m footprint, err error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return m, err
	}
	for line := range strings.Lines(string(status)) {
		f := strings.Fields(line)
		for name, into := range map[string]*int{"VmRSS:": &m.resident, "RssAnon:": &m.own} {
			if err == nil && len(f) > 1 && f[0] == name {
				*into, err = strconv.Atoi(f[1])
				*into <<= 10
			}
		}
	}
	return m, err
}

// quarter is the median of what was resident in a quarter of the time, from 0 to 3.
func quarter(curve []footprint, n int) int {
	part := curve[n*len(curve)/4 : (n+1)*len(curve)/4]
	all := make([]int, len(part))
	for i, m := range part {
		all[i] = m.resident
	}
	slices.Sort(all)
	return all[len(all)/2]
}

// thinned is a curve with about n of its points.
func thinned(curve []footprint, n int) (few []footprint) {
	step := max(len(curve)/n, 1)
	for i := 0; i < len(curve); i += step {
		few = append(few, curve[i])
	}
	return few
}
