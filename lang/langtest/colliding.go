package langtest

import (
	"strconv"

	"go.starlark.net/starlark"
)

// Colliding are n short texts that lie in one place of every table with up to 1,024 places: in that
// of a dict of 6,000 keys.
func Colliding(n int) []string {
	const places = 1024
	var texts []string
	for i := 0; len(texts) < n; i++ {
		s := strconv.FormatInt(int64(i), 36)
		if hash, _ := starlark.String(s).Hash(); hash%places == 1 {
			texts = append(texts, s)
		}
	}
	return texts
}
