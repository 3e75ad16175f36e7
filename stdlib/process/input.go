package process

import (
	"fmt"
	"io"
	"os"
)

// source remembers whether it was the reading that failed: a child may leave its stdin unread, but
// must not take half of its input for the whole.
type source struct {
	reader io.Reader
	err    error
}

func (s *source) Read(p []byte) (int, error) {
	n, err := s.reader.Read(p)
	if err != io.EOF {
		s.err = err
	}
	return n, err
}

// pump writes the child's stdin until the source or the child has had enough; then a source that
// can be closed is. On a failing source the pipe is left open: its end would look like the end of
// the input.
func pump(pipe *os.File, r io.Reader) error {
	s := &source{reader: r}
	io.Copy(pipe, s)
	if s.err != nil {
		return fmt.Errorf("process: %w: %w", ErrStdin, s.err)
	}
	pipe.Close()
	if c, ok := r.(io.Closer); ok {
		c.Close()
	}
	return nil
}
