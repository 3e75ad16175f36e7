package owner

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"starling/runtime"
	"starling/runtime/api"
)

const (
	logName = "serve.log"
	maxLog  = 1 << 20 // a log that has become larger is begun anew, in bytes
)

// Spawn makes sure that an owner serves which outlives this process. Without one it starts a
// program that is to be it, `starling serve --idle 1m`, as a process in a session of its own,
// without a terminal, whose output goes to serve.log in the store. It inherits environment, but for
// the token of this process, and working directory. Spawn returns when an owner answers, be it that
// process or one that was quicker; it is refused when the process ends before, with the last line
// of its output. This process must not hold the store itself.
func Spawn(ctx context.Context, c Config, exe string, args ...string) error {
	if err := c.Prepare(c.Dir); err != nil {
		return err
	}
	dir, err := real(c.Dir)
	if err != nil {
		return err
	}
	if serves(ctx, dir) {
		return nil
	}
	log, err := openLog(dir)
	if err != nil {
		return locked(dir, err)
	}
	defer log.Close()
	begin, err := log.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	cmd := exec.Command(exe, args...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { return c.TokenVariable != "" && strings.HasPrefix(v, c.TokenVariable+"=") })
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return runtime.Refusef(runtime.ErrOwnerUnreachable, "no owner of %s can be started: %v", dir, err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		cmd.Wait() // its state is looked at below
	}()
	if err := awaitOwner(ctx, dir, ended); err != errEnded {
		return err
	}
	return runtime.Refuse(runtime.ErrOwnerUnreachable, "see "+log.Name(), "the process that was to own %s has ended with %v and said %q",
		dir, cmd.ProcessState, lastWords(log, begin))
}

var errEnded = errors.New("the process has ended and no owner answers")

// awaitOwner waits until an owner serves, or until the process that was to be it has ended and none
// answers in its stead.
func awaitOwner(ctx context.Context, dir string, ended <-chan struct{}) error {
	for over := false; ; {
		h, err := greet(ctx, dir)
		switch {
		case err == nil && h.State == api.Serving:
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil && over:
			return errEnded
		}
		select {
		case <-ended:
			ended, over = nil, true
		case <-time.After(pause):
		}
	}
}

func serves(ctx context.Context, dir string) bool {
	h, err := greet(ctx, dir)
	return err == nil && h.State == api.Serving
}

func openLog(dir string) (*os.File, error) {
	log, err := os.OpenFile(filepath.Join(dir, logName), os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	info, err := log.Stat()
	if err == nil && info.Size() > maxLog {
		err = log.Truncate(0)
	}
	if err != nil {
		log.Close()
		return nil, err
	}
	return log, nil
}

// lastWords is the error that a process left in its log, without what helps against it, or else its
// last line.
func lastWords(log *os.File, since int64) string {
	content, err := io.ReadAll(io.NewSectionReader(log, since, maxLog))
	if err != nil {
		return ""
	}
	text := strings.TrimSpace(string(content))
	if at := strings.LastIndex(text, "error: "); at >= 0 {
		text, _, _ = strings.Cut(text[at+len("error: "):], "\n")
	}
	return strings.TrimSpace(text[strings.LastIndexByte(text, '\n')+1:])
}
