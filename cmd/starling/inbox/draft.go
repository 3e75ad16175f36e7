package inbox

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"time"

	"starling/runtime"
)

// Drafts are the answers that were begun and not sent: a file each, which only its user may read.
// What is drawn has been kept, so that a kill loses nothing that was seen.
type Drafts struct {
	Folder string // "" keeps none
	Store  string // or server, by its name: others have gates of the same address
}

// draft is an answer as far as it goes.
type draft struct {
	Store    string            `json:"store"`
	Gate     string            `json:"gate"`
	OpenedAt time.Time         `json:"opened_at"`
	Choice   string            `json:"choice,omitempty"`
	Reason   string            `json:"reason,omitempty"`
	Texts    map[string]string `json:"texts,omitempty"` // by the path of their line; none of secrets
}

func (d *draft) empty() bool { return d.Choice == "" && d.Reason == "" && len(d.Texts) == 0 }

// name is the file of a gate's draft in the folder.
func (d Drafts) name(g runtime.Gate) string {
	sum := sha256.Sum256([]byte(d.Store + "\x00" + g.Address))
	return hex.EncodeToString(sum[:16]) + ".json"
}

// names are the files that there are.
func (d Drafts) names() map[string]bool {
	all := map[string]bool{}
	if d.Folder == "" {
		return all
	}
	entries, _ := os.ReadDir(d.Folder) // none where nothing was kept yet
	for _, e := range entries {
		all[e.Name()] = true
	}
	return all
}

// load is the draft of a gate; an empty one where there is none that can be read, or one of a gate
// that had its address before.
func (d Drafts) load(g runtime.Gate) draft {
	none := draft{Store: d.Store, Gate: g.Address, OpenedAt: g.OpenedAt}
	if d.Folder == "" {
		return none
	}
	text, err := os.ReadFile(filepath.Join(d.Folder, d.name(g)))
	var kept draft
	if err != nil || json.Unmarshal(text, &kept) != nil || kept.Gate != g.Address || !kept.OpenedAt.Equal(g.OpenedAt) {
		return none
	}
	return kept
}

// save keeps a draft, or nothing where it is empty. It is there as a whole or as it was before; it
// is not synced, for a kill is not the end of the machine.
func (d Drafts) save(g runtime.Gate, kept draft) error {
	if d.Folder == "" {
		return nil
	}
	if kept.empty() {
		return d.drop(g)
	}
	text, err := json.Marshal(kept)
	if err == nil {
		err = os.MkdirAll(d.Folder, 0o700)
	}
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(d.Folder, "part-*") // with the mode 0600
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), filepath.Join(d.Folder, d.name(g)))
	}
	if err != nil {
		os.Remove(f.Name())
	}
	return err
}

// drop forgets the draft of a gate.
func (d Drafts) drop(g runtime.Gate) error {
	if d.Folder == "" {
		return nil
	}
	err := os.Remove(filepath.Join(d.Folder, d.name(g)))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}

// sweep forgets the drafts of gates that are not among the open ones, which were listed from a time
// on: others have answered them while nobody looked.
func (d Drafts) sweep(open map[string]bool, began time.Time) {
	for name := range d.names() {
		path := filepath.Join(d.Folder, name)
		info, err := os.Stat(path)
		if err != nil || !info.ModTime().Before(began) {
			continue
		}
		text, err := os.ReadFile(path)
		var kept draft
		if err == nil && json.Unmarshal(text, &kept) == nil && kept.Store == d.Store && !open[kept.Gate] {
			_ = os.Remove(path) // it is tried again the next time
		}
	}
}
