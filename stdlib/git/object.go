package git

import (
	"bytes"
	"context"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
)

// object is what git holds under a name.
type object struct {
	id      string
	kind    string // "commit", "tree", "blob" or "tag"
	content []byte
}

// read gives the objects that names stand for, in their order; nil for a name that stands for none.
// It is one run of git.
func (r *Repository) read(ctx context.Context, names ...string) ([]*object, error) {
	if len(names) == 0 {
		return nil, nil
	}
	list := strings.Join(names, "\n") + "\n"
	out, err := r.run(ctx, call{args: []string{"cat-file", "--batch"}, stdin: []byte(list)})
	if err != nil {
		return nil, err
	}
	objects := make([]*object, len(names))
	for i, name := range names {
		head, rest, _ := strings.Cut(out, "\n")
		if head == name+" missing" {
			out = rest
			continue
		}
		f := strings.Fields(head)
		if len(f) != 3 {
			return nil, fmt.Errorf("git cat-file: got %q for %s", head, name)
		}
		size, err := strconv.Atoi(f[2])
		if err != nil || size < 0 || size >= len(rest) {
			return nil, fmt.Errorf("git cat-file: got %q for %s", head, name)
		}
		objects[i], out = &object{f[0], f[1], []byte(rest[:size])}, rest[size+1:]
	}
	return objects, nil
}

// message is the text of a commit.
func (o *object) message() []byte {
	_, text, _ := bytes.Cut(o.content, []byte("\n\n"))
	return text
}

// entries are what a tree holds at its top, by name: mode, name, NUL, and the object's name in
// binary, one behind the other (gitformat-pack(5) calls that the canonical form).
func (o *object) entries() map[string]string {
	found := map[string]string{}
	for rest := o.content; ; {
		head, behind, ok := bytes.Cut(rest, []byte{0})
		size := len(o.id) / 2
		if !ok || len(behind) < size {
			return found
		}
		_, name, _ := bytes.Cut(head, []byte(" "))
		found[string(name)], rest = hex.EncodeToString(behind[:size]), behind[size:]
	}
}
