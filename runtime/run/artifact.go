package run

import (
	"starling/lang/effect"
	"starling/runtime/journal"
)

// keepAll keeps the blobs of an attempt, and gives the dict of their hashes and sizes that its record has.
func (t *Turn) keepAll(blobs map[string][]byte) effect.Payload {
	if len(blobs) == 0 {
		return nil
	}
	var all effect.Object
	room := effect.MaxBlobs
	for _, name := range sortedKeys(blobs) {
		content := blobs[name]
		if effect.CheckName(name) != nil || len(content) > room {
			continue
		}
		room -= len(content)
		hash := journal.HashOf(content)
		t.keep(hash, content)
		t.size += len(content)
		var b effect.Object
		all.Raw(name, b.Text("hash", hash).Int("size", int64(len(content))).Payload())
	}
	return all.Payload()
}
