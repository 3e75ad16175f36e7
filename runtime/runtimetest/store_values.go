package runtimetest

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"starling/runtime"
)

// What a Store holds, and how it is read.

func testNew(s *shop) {
	if _, err := s.place.Read(); !errors.Is(err, runtime.ErrNoStore) {
		s.Errorf("reading before there is a store: got %v, wanted %v", err, runtime.ErrNoStore)
	}
	info := s.open().Info()
	if info.ID == "" || info.Format == 0 || info.Epoch != 1 || info.Sequence != 0 || info.ReadOnly {
		s.Errorf("got %+v, wanted an id, a format, epoch 1, no batch, not for reading only", info)
	}
	s.holds()
	s.absent("a")
	s.absent("")
	s.absent("\x00s")
}

func testValues(s *shop) {
	s.open()
	s.commit(set("a", "1", "b", "2", "empty", ""))
	s.holds("a", "1", "b", "2", "empty", "")
	if v, err := s.Get([]byte("empty")); v == nil || len(v) != 0 || err != nil {
		s.Errorf("an empty value: got %#v, %v, wanted one that is not nil", v, err)
	}
	s.commit(set("a", "3"))
	s.commit(del("b", "never there"))
	s.value("a", "3")
	s.absent("b")
	s.holds("a", "3", "empty", "")

	b := set("x", "first", "y", "kept", "x", "last")
	b.Writes = append(b.Writes, del("a").Writes...)
	s.commit(b)
	s.holds("empty", "", "x", "last", "y", "kept")
	s.commit(new(runtime.Batch))
	s.holds("empty", "", "x", "last", "y", "kept")
}

func testOwnership(s *shop) {
	s.open()
	b := set("key", "value")
	s.commit(b)
	copy(b.Writes[0].Key, "XXX")
	copy(b.Writes[0].Value, "XXXXX")
	v, err := s.Get([]byte("key"))
	if err != nil {
		s.Fatal(err)
	}
	copy(v, "YYYYY")
	s.holds("key", "value")
}

func testScan(s *shop) {
	s.open()
	s.commit(set("b/2", "4", "a/1", "1", "b", "2", "b/10", "3", "c", "6", "b\xff", "5", "\x01", "0"))
	for _, test := range []struct {
		from, to string
		want     string // the values found
	}{
		{"", "", "0123456"},
		{"b/", "b0", "34"},
		{"b", "c", "2345"},
		{"b/10", "b/2", "3"},
		{"b/10\x00", "b/2\x00", "4"},
		{"b", "b", ""},
		{"c", "b", ""},
		{"d", "", ""},
		{"\x00", "\x02", "0"},
		{"", "a", "0"},
	} {
		var to []byte
		if test.to != "" {
			to = []byte(test.to)
		}
		var got []string
		for i, kv := range s.scan([]byte(test.from), to) {
			if i%2 == 1 {
				got = append(got, kv)
			}
		}
		if strings.Join(got, "") != test.want {
			s.Errorf("scan from %q to %q: got %q, wanted %q", test.from, test.to, got, test.want)
		}
	}
}

func testScanStops(s *shop) {
	s.open()
	s.commit(set("a", "", "b", "", "c", ""))
	mine := errors.New("mine")
	for _, test := range []struct{ stop, want error }{{runtime.ErrStopScan, nil}, {mine, mine}, {fmt.Errorf("wrapped: %w", mine), mine}} {
		var seen []string
		err := s.Scan(nil, nil, func(k, _ []byte) error {
			if seen = append(seen, string(k)); len(seen) == 2 {
				return test.stop
			}
			return nil
		})
		if !errors.Is(err, test.want) || (err == nil) != (test.want == nil) || len(seen) != 2 {
			s.Errorf("stopped with %v at the second key: got %v after %q, wanted %v", test.stop, err, seen, test.want)
		}
	}
}

func testScanView(s *shop) {
	s.open()
	s.commit(set("a", "old", "c", "old"))
	var seen []string
	err := s.Scan(nil, nil, func(k, v []byte) error {
		if string(k) == "a" {
			s.commit(set("b", "new", "c", "new"))
			s.value("c", "new")
		}
		seen = append(seen, string(k), string(v))
		return nil
	})
	if want := []string{"a", "old", "c", "old"}; err != nil || !slices.Equal(seen, want) {
		s.Errorf("got %q, %v, wanted %q", seen, err, want)
	}
	s.holds("a", "old", "b", "new", "c", "new")
}

func testLarge(s *shop) {
	s.open()
	sizes := []int{0, 1, 4 << 10, 31 << 10, 32 << 10, 100 << 10, 1 << 20, 16 << 20}
	content := func(size int) string { return strings.Repeat(fmt.Sprintf("%08d", size), size/8) }
	for _, size := range sizes {
		s.commit(set(fmt.Sprintf("%08d", size), content(size)))
	}
	for range 2 {
		for _, size := range sizes {
			s.value(fmt.Sprintf("%08d", size), content(size))
		}
		s.open()
	}
	s.commit(set("00000000", content(100<<10)))
	s.commit(del(fmt.Sprintf("%08d", 16<<20)))
	s.value("00000000", content(100<<10))
	s.absent(fmt.Sprintf("%08d", 16<<20))
}
