package live

import (
	"context"
	"os"
	"os/signal"
	"time"

	"golang.org/x/sys/unix"
)

// Repeat draws lines in place again and again until ctx ends, or lines fails, and leaves the last
// ones. lines gets the height that there is room for.
func Repeat(ctx context.Context, out *os.File, getenv func(string) (string, bool), every time.Duration, lines func(height int) ([]string, error)) error {
	s := newScreen(out, getenv)
	var last []string
	defer func() {
		s.close()
		for _, line := range last {
			_, _ = out.WriteString(line + "\n")
		}
	}()
	resized := make(chan os.Signal, 1)
	signal.Notify(resized, unix.SIGWINCH)
	defer signal.Stop(resized)
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		width, height := size(out)
		list, err := lines(height - 1)
		if err != nil {
			return err
		}
		last = list[:min(len(list), max(1, height-1))]
		s.draw(nil, last, width, height)
		select {
		case <-tick.C:
		case <-resized:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
