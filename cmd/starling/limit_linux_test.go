package main

import (
	"fmt"
	"strings"
	"testing"
)

// hoarders are scripts that keep what they make until their limit of memory ends them.
var hoarders = []struct{ name, script string }{
	{"a list that grows", "x = []\nfor i in forever(): x.append(i)"},
	{"a dict that grows", "x = {}\nfor i in forever(): x[i] = i"},
	{"a text doubled", "x = \"x\"\nfor i in forever(): x = x + x"},
	{"texts", "x = []\nfor i in forever(): x.append(str(i) * 10)"},
	{"parts of texts", "x = []\nfor i in forever(): x.append((\"x\" * 1000 + str(i))[-200:])"},
	{"one character of each text", "x = []\nfor i in range(2000): x.append((\"x\" * 300000 + str(i))[i])\nx = x * 100000"},
}

// TestMemoryLimitBoundsTheProcess: a script that holds as much as it may makes the process take at most
// half as much again as its limit says, beside what the process takes anyway. Where the collector gets
// no processor there can be more garbage for a moment: so one of three owners has to keep to it.
func TestMemoryLimitBoundsTheProcess(t *testing.T) {
	const tries = 3
	for try := 1; try <= tries; try++ {
		most, of := hoard(t)
		if most <= 1.5 {
			return
		}
		t.Logf("%s: the process took %.2f times the limit, try %d", of, most, try)
	}
	t.Errorf("each of %d owners took more than 1.5 times the limit", tries)
}

// hoard has an owner carry what holds as much as it may, and gives the most that its process took then,
// in units of the limit.
func hoard(t *testing.T) (most float64, of string) {
	t.Helper()
	const limit = 64 << 20
	s := &store{office: newOffice(t)}
	s.write("starling.toml", fmt.Sprintf("[machine]\nmemory = %d\n", limit))
	s.write("nothing.star", "x = 1")
	s.serve()
	s.cli(0, "run", "nothing.star")
	base := s.status("VmHWM:")
	for _, h := range hoarders {
		s.write("hoard.star", "def main():\n  "+strings.ReplaceAll(h.script, "\n", "\n  ")+"\n")
		s.cli(1, "run", "hoard.star")
		took := float64(s.status("VmHWM:")-base) / limit
		t.Logf("%s: %.2f times the limit", h.name, took)
		if took > most {
			most, of = took, h.name
		}
	}
	return most, of
}
