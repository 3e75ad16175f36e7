package fact

import (
	"bytes"
	"errors"
	"slices"

	"starling/runtime"
	"starling/runtime/journal"
)

// someEntries is how many entries are read at once.
const someEntries = 256

// Found lists some runs that any of some terms finds, the newest first, from an order on: when each
// was started, counted down, and which it is. One that cannot be read leads to its run all the
// same.
func Found(s runtime.Store, any []string, from []byte) (all [][]byte, err error) {
	for _, term := range any {
		prefix, n := TermPrefix(term), 0
		begin := append(bytes.Clone(prefix), from...)
		err := journal.ScanRange(s, begin, journal.AfterPrefix(prefix), func(k, _ []byte, _ error) error {
			all = append(all, bytes.Clone(k[len(prefix):]))
			if n++; n == someEntries {
				return runtime.ErrStopScan
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	slices.SortFunc(all, bytes.Compare)
	all = slices.CompactFunc(all, bytes.Equal)
	return all[:min(len(all), someEntries)], nil
}

// Choose puts the terms in front that find the fewest runs, as far as a look tells.
func Choose(s runtime.Store, lists [][]string) ([][]string, error) {
	best, least := 0, someEntries+1
	for i, any := range lists {
		some, err := Found(s, any, nil)
		if err != nil {
			return nil, err
		}
		if len(some) < least {
			best, least = i, len(some)
		}
	}
	lists = slices.Clone(lists)
	lists[0], lists[best] = lists[best], lists[0]
	return lists, nil
}

// Meets tells whether of each of some lists of terms one finds a run.
func Meets(s runtime.Store, lists [][]string, order string) (bool, error) {
	for _, any := range lists {
		if ok, err := finds(s, any, order); !ok || err != nil {
			return false, err
		}
	}
	return true, nil
}

func finds(s runtime.Store, any []string, order string) (bool, error) {
	for _, term := range any {
		_, err := s.Get(append(TermPrefix(term), order...))
		switch {
		case err == nil, errors.Is(err, runtime.ErrDamaged):
			return true, nil
		case !errors.Is(err, runtime.ErrNoKey):
			return false, err
		}
	}
	return false, nil
}
