package temporaltest

import (
	"context"
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"starling/lang/effect"
	"starling/runtime"
	"starling/runtime/engine/enginetest"
	"starling/runtime/postgres"
	"starling/runtime/runtimetest"
	"starling/runtime/temporal"
)

// contentsAt are the contents in a database.
func contentsAt(t *testing.T, address string) *postgres.Contents {
	c := postgres.NewContents(address, t.Logf)
	t.Cleanup(c.Close)
	return c
}

// volume is what the author writes for a step: 900 KB that do not get much shorter by deflating
// them, and that no other step has.
func volume(step string) string {
	b := make([]byte, 675<<10)
	var seed [32]byte
	copy(seed[:], step)
	source := rand.NewChaCha8(seed)
	_, _ = source.Read(b)
	return base64.StdEncoding.EncodeToString(b)
}

// author is a scribe that writes much.
func author(file string) enginetest.Agent {
	write := scribe(file)
	return func(ctx context.Context, a *effect.Attempt) (string, error) {
		_, err := write(ctx, a)
		return volume(a.Step), err
	}
}

const library = `def main():
    texts = [agent("a", "one").output for i in range(3)]
    said = gate("review", options = ["yes", "no"]).choice
    sleep("10ms")
    both = parallel([lambda: agent("b", "two").output, lambda: agent("c", "three").output])
    return texts + [said] + both
`

func libraryEnds() string {
	var all []string
	for _, step := range []string{"a", "a#2", "a#3", "", "parallel/0/b", "parallel/1/c"} {
		text := "yes"
		if step != "" {
			text = volume(step)
		}
		all = append(all, `"`+text+`"`)
	}
	return "[" + strings.Join(all, ",") + "]"
}

// What is too large for a history lies in PostgreSQL by its hash. A worker is killed before and
// after each turn, and nothing is lost or done twice by it, in one history and in several.
func TestLargerContentsOutliveTheWorker(t *testing.T) {
	server := runtimetest.StartPostgres(t)
	what := trip{script: library, ends: libraryEnds(), play: "author", contents: server.Address()}
	t.Run("one history", func(t *testing.T) { killedAtEachTurn(t, what) })
	what.short = true
	t.Run("several histories", func(t *testing.T) { killedAtEachTurn(t, what) })
}

// The database of the contents is away when an attempt is done: the attempt waits with what it has
// left, and is not made again. While it is away the run cannot be read, which is said.
func TestTheContentsAreAway(t *testing.T) {
	server := runtimetest.StartPostgres(t)
	file, release := t.TempDir()+"/said", make(chan bool)
	write := author(file)
	o := options(t, again(enginetest.Environment(func(ctx context.Context, a *effect.Attempt) (string, error) {
		<-release
		return write(ctx, a)
	})))
	address := server.Address()
	o.Contents = contentsAt(t, address)
	w := temporal.NewWorker(temporal.WorkerOptions{Options: o})
	if err := w.Start(); err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	e := temporal.New(o)
	id := start(t, e, "def main():\n    return agent(\"a\", \"one\").output * 3\n")
	server.Kill()
	close(release)
	waitFor(t, "the attempt is done", func() bool {
		text, err := os.ReadFile(file)
		return err == nil && strings.Contains(string(text), "end ")
	})
	time.Sleep(20 * time.Second) // one that is not heard of counts as lost after 15
	server.Start()
	until(t, e, id, ended)
	wants(t, e, o, id, runtime.Completed, `"`+strings.Repeat(volume("a"), 3)+`"`)
	h := &runtimetest.History{}
	if attempts, _ := noTwoAtOnce(t, file, h); attempts != 1 {
		t.Errorf("%d attempts were made, want one", attempts)
	}
	server.Kill()
	other := o
	other.Contents = contentsAt(t, address)
	ctx, cancel := local()
	defer cancel()
	_, err := temporal.New(other).Get(ctx, id)
	if r := runtime.AsRefusal(err); r.Kind != runtime.ErrStoreUnreachable || strings.Contains(err.Error(), "secret") {
		t.Errorf("a run whose contents are away: got %v, want %s without the password", err, runtime.ErrStoreUnreachable)
	}
	other.Contents = nil
	_, err = temporal.New(other).Get(ctx, id)
	if err == nil || !strings.Contains(fmt.Sprint(err, runtime.AsRefusal(err).Help), "[store] url") {
		t.Errorf("a run whose contents nobody names: got %v, want what to name", err)
	}
}
