package api

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"time"

	"starling/runtime"
)

// errSilent is the cause of the end of a stream in which nothing came, not even comments: the owner
// is stopped or hangs.
var errSilent = errors.New("it has been silent for too long")

// Attach counts this process among the owner's clients, which keeps the owner from leaving, until
// ctx ends. The channel is closed when the owner is lost.
func (c *Client) Attach(ctx context.Context) (lost <-chan struct{}, err error) {
	events, err := c.open(ctx, http.MethodGet, "/attach", nil)
	if err != nil {
		return nil, err
	}
	if err := events.comment(); err != nil {
		events.close()
		return nil, err
	}
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		defer events.close()
		for events.comment() == nil {
		}
	}()
	return gone, nil
}

// Watch implements runtime.Engine.
func (c *Client) Watch(ctx context.Context, w runtime.WatchRequest, fn func(runtime.Event) error) error {
	body, _, err := encode(w)
	if err != nil {
		return err
	}
	events, err := c.open(ctx, http.MethodPost, "/watch", body)
	if err != nil {
		return err
	}
	defer events.close()
	for {
		ev, err := events.next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if err := fn(*ev); err != nil {
			if errors.Is(err, runtime.ErrStopWatch) {
				return nil
			}
			return err
		}
	}
}

// events reads a stream. It is used by one goroutine.
type events struct {
	c       *Client
	ctx     context.Context
	body    io.ReadCloser
	lines   *bufio.Reader
	done    func()
	silence *time.Timer // ends the stream; runs only while something is read
	allowed time.Duration
}

// open begins a stream.
func (c *Client) open(ctx context.Context, method, path string, body []byte) (*events, error) {
	ctx, done := c.during(ctx)
	ctx, cancel := context.WithCancelCause(ctx)
	resp, err := c.send(ctx, method, path, body)
	if err == nil && resp.StatusCode != http.StatusOK {
		var content []byte
		if content, err = io.ReadAll(io.LimitReader(resp.Body, MaxAnswer)); err == nil {
			err = c.refusalOf(resp, content)
		}
		resp.Body.Close()
	}
	if err != nil {
		done()
		cancel(nil)
		return nil, err
	}
	e := &events{c: c, ctx: ctx, body: resp.Body, lines: bufio.NewReader(resp.Body), allowed: 3 * c.hello.KeepAlive}
	e.silence = time.AfterFunc(e.allowed, func() { cancel(errSilent) })
	e.silence.Stop()
	e.done = func() {
		e.silence.Stop()
		cancel(nil)
		done()
	}
	return e, nil
}

func (e *events) close() {
	e.done()
	e.body.Close()
}

// next returns the next record, io.EOF at the stream's proper end, or why it ended early.
func (e *events) next() (*runtime.Event, error) {
	kind := ""
	for {
		line, err := e.line()
		if err != nil {
			return nil, err
		}
		field, value, _ := bytes.Cut(line, []byte(": "))
		switch string(field) {
		case "event":
			kind = string(value)
		case "data":
			return e.data(kind, value)
		}
	}
}

// data makes sense of the data of an event, which comes last of its fields.
func (e *events) data(kind string, data []byte) (*runtime.Event, error) {
	switch kind {
	case eventEnd:
		return nil, io.EOF
	case eventLeaving:
		return nil, e.c.away(&Away{State: Leaving})
	case eventError:
		var body refusalBody
		if err := json.Unmarshal(data, &body); err != nil || body.Error == nil {
			return nil, errors.New("the owner ended the stream with what is not a refusal")
		}
		return nil, body.Error
	}
	ev, err := decodeAnswer[runtime.Event](data, nil)
	return &ev, err
}

// comment reads up to the end of the next comment. Anything else says that the owner leaves.
func (e *events) comment() error {
	for {
		line, err := e.line()
		switch {
		case err != nil:
			return err
		case bytes.HasPrefix(line, []byte(":")):
			return nil
		case len(line) > 0:
			return e.c.away(&Away{State: Leaving})
		}
	}
}

// line reads one line without its newline. A stream that stops in the middle is lost.
func (e *events) line() ([]byte, error) {
	e.silence.Reset(e.allowed)
	defer e.silence.Stop()
	var line []byte
	for {
		part, err := e.lines.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case err == nil:
			return line[:len(line)-1], nil
		case len(line) > MaxAnswer:
			return nil, tooLargeAnswer()
		case err == io.EOF:
			return nil, e.c.lost(e.ctx, io.ErrUnexpectedEOF)
		case err != bufio.ErrBufferFull:
			return nil, e.c.lost(e.ctx, err)
		}
	}
}
