package diagnostic

import (
	"io/fs"
	"path"
	"strings"
)

// Absent is the error for a script that there is not, by whoever knows what is beside it. It is
// fs.ErrNotExist.
type Absent struct {
	Name   string
	Beside []string // what its folder has
}

// Error is the message.
func (a *Absent) Error() string { return "no file " + a.Name }

// Is makes it one of those that say that a file does not exist.
func (a *Absent) Is(target error) bool { return target == fs.ErrNotExist }

// Meant is the hint for whoever wrote a name for the file.
func (a *Absent) Meant(written string) string {
	folder, base := path.Split(written)
	var words []string
	for _, name := range a.Beside {
		words = append(words, strings.TrimSuffix(name, suffix))
	}
	near := Meant(strings.TrimSuffix(base, suffix), words)
	switch word, ok := Guess(near); {
	case ok:
		return `did you mean "` + folder + word + suffix + `"?`
	case len(words) == 0 || len(words) > manyFiles:
		return ""
	}
	return "there are " + strings.Join(a.Beside, ", ")
}

// suffix is how the names of scripts end, and manyFiles how many a hint does not list any more.
const (
	suffix    = ".star"
	manyFiles = 30
)
