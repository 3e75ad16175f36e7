package process

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
)

// Attempt names one try of a step: whom the processes under a guard work for.
type Attempt struct {
	Run     string `json:"run"`
	Step    string `json:"step"`
	Attempt int    `json:"attempt"` // counted from 1
	Agent   string `json:"agent"`
}

// String is "attempt 2 of STEP in run RUN".
func (a Attempt) String() string {
	return fmt.Sprintf("attempt %d of %s in run %s", a.Attempt, a.Step, a.Run)
}

// holder is the content of a held lock file. A pid alone does not name a process: together with the
// time at which the process was started, in ticks since a boot, it does, for ever.
type holder struct {
	Attempt
	identity
}

type identity struct {
	Guard int    `json:"guard"`
	Start uint64 `json:"start"`
	Boot  string `json:"boot"`
}

// readHolder reads a lock file. What does not parse is a file whose guard has not written it yet,
// or died at it: no holder.
func readHolder(path string) (holder, bool) {
	var h holder
	content, err := os.ReadFile(path)
	if err != nil || json.Unmarshal(content, &h) != nil {
		return holder{}, false
	}
	return h, true
}

// readHolders reads every lock file of a directory. A directory that is not there has none.
func readHolders(dir string) (map[identity]Attempt, error) {
	entries, err := os.ReadDir(dir)
	if os.IsNotExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("process: reading locks: %w", err)
	}
	holders := make(map[identity]Attempt, len(entries))
	for _, entry := range entries {
		if h, ok := readHolder(filepath.Join(dir, entry.Name())); ok {
			holders[h.identity] = h.Attempt
		}
	}
	return holders, nil
}
