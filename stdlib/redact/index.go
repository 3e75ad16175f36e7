package redact

import (
	"bytes"
	"slices"
)

// pattern is one spelling of a value.
type pattern struct {
	text  []byte
	name  string
	plain bool // a value as people write it, not encoded
}

// index finds any of many patterns at once. It looks at three bytes, and where no pattern has these
// it goes on by as many as none can begin in: Wu and Manber, A fast algorithm for multi-pattern
// searching (1994). So it reads but a part of a text in which there is nothing to find.
type index struct {
	least  int // length of the shortest pattern: only so much of each is looked for, the rest is compared
	most   int // length of the longest
	shift  [1 << hashBits]uint8
	ending map[uint16][]*pattern // by the last three of their first least bytes
	first  [256][]*pattern       // by their first byte
}

const (
	hashBits = 16
	block    = 3  // bytes
	maxLook  = 12 // bytes of a pattern; of more, too many blocks would be in some pattern
)

// hashOf is that of the block before end.
func hashOf(text []byte, end int) uint16 {
	b := uint32(text[end-3])<<16 | uint32(text[end-2])<<8 | uint32(text[end-1])
	return uint16(b * 2654435761 >> (32 - hashBits))
}

func newIndex(patterns []*pattern) *index {
	x := &index{least: maxLook, ending: map[uint16][]*pattern{}}
	for _, p := range patterns {
		x.least, x.most = min(x.least, len(p.text)), max(x.most, len(p.text))
	}
	for i := range x.shift {
		x.shift[i] = uint8(x.least - block + 1)
	}
	for _, p := range patterns {
		for end := block; end <= x.least; end++ {
			h := hashOf(p.text, end)
			x.shift[h] = min(x.shift[h], uint8(x.least-end))
		}
		h := hashOf(p.text, x.least)
		x.ending[h] = append(x.ending[h], p)
		x.first[p.text[0]] = append(x.first[p.text[0]], p)
	}
	return x
}

// each calls found with the place of every pattern in a text.
func (x *index) each(text []byte, found func(at int, p *pattern)) {
	for end := x.least; end <= len(text); {
		h := hashOf(text, end)
		if skip := x.shift[h]; skip > 0 {
			end += int(skip)
			continue
		}
		for _, p := range x.ending[h] {
			if bytes.HasPrefix(text[end-x.least:], p.text) {
				found(end-x.least, p)
			}
		}
		end++
	}
}

// begun is where the longest beginning of a pattern, of at least so many bytes, stands at the end
// of a text; len(text) and nil for nowhere.
func (x *index) begun(text []byte, least int, wanted func(*pattern) bool) (at int, p *pattern) {
	for i := max(0, len(text)-x.most+1); i <= len(text)-least; i++ {
		of := x.first[text[i]]
		n := slices.IndexFunc(of, func(p *pattern) bool {
			return len(p.text) > len(text)-i && bytes.HasPrefix(p.text, text[i:]) && wanted(p)
		})
		if n >= 0 {
			return i, of[n]
		}
	}
	return len(text), nil
}
