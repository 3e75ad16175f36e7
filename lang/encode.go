package lang

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
)

// A bundle on the wire and in the store:
//
//	"STB1"                                  magic and version
//	entry    uvarint                        index of the entry
//	count    uvarint                        number of modules, in the order of Bundle.Files
//	modules  count times:
//	  name   uvarint length, bytes
//	  source uvarint length, bytes
//	  loads  uvarint count, uvarint index…  each below the module's own: there are no load cycles
//	  runs   uvarint count, uvarint index…
//	sum      32 bytes                       SHA-256 of all before
//
// Equal bundles have equal bytes and no bundle has two forms: Decode accepts exactly what Encode
// writes. That the loads are those of the source is for [Compile] to find: it looks each load up by
// name, in these modules and nowhere else.

const bundleMagic = "STB1"

// Encode writes the bundle down. Equal bundles have equal bytes.
func (b *Bundle) Encode() []byte {
	index := make(map[*Module]int, len(b.modules))
	for i, m := range b.modules {
		index[m] = i
	}
	e := encoder{buf: []byte(bundleMagic)}
	e.count(index[b.entry])
	e.count(len(b.modules))
	for _, m := range b.modules {
		e.text([]byte(m.Name))
		e.text(m.Source)
		e.modules(m.loads, index)
		e.modules(m.runs, index)
	}
	sum := sha256.Sum256(e.buf)
	return append(e.buf, sum[:]...)
}

type encoder struct{ buf []byte }

func (e *encoder) count(n int) { e.buf = binary.AppendUvarint(e.buf, uint64(n)) }

func (e *encoder) text(b []byte) {
	e.count(len(b))
	e.buf = append(e.buf, b...)
}

func (e *encoder) modules(list []*Module, index map[*Module]int) {
	e.count(len(list))
	for _, m := range list {
		e.count(index[m])
	}
}

// Decode reads what [Bundle.Encode] wrote, and nothing else: any other bytes are refused. It keeps
// no reference to data and allocates in proportion to it.
func Decode(data []byte) (*Bundle, error) {
	body, err := unseal(data)
	if err != nil {
		return nil, fmt.Errorf("bundle: %w", err)
	}
	d := decoder{rest: body}
	b := d.bundle()
	if d.err == nil && len(d.rest) > 0 {
		d.fail("%d bytes too many", len(d.rest))
	}
	if d.err == nil && !bytes.Equal(b.Encode(), data) {
		d.fail("not in the form in which bundles are written")
	}
	if d.err != nil {
		return nil, fmt.Errorf("bundle: %w", d.err)
	}
	return b, nil
}

// unseal checks what is around the body.
func unseal(data []byte) ([]byte, error) {
	const tail = sha256.Size
	if len(data) < len(bundleMagic)+tail || string(data[:len(bundleMagic)]) != bundleMagic {
		return nil, errors.New("this is not a bundle, or one of another version")
	}
	if sum := sha256.Sum256(data[:len(data)-tail]); !bytes.Equal(sum[:], data[len(data)-tail:]) {
		return nil, errors.New("damaged: the checksum does not match")
	}
	return data[len(bundleMagic) : len(data)-tail], nil
}

// decoder reads until its first error, after which everything reads as nothing.
type decoder struct {
	rest []byte
	err  error
}

func (d *decoder) fail(format string, args ...any) {
	if d.err == nil {
		d.err = fmt.Errorf(format, args...)
	}
	d.rest = nil
}

// count reads a number that must not exceed limit.
func (d *decoder) count(limit int) int {
	n, width := binary.Uvarint(d.rest)
	if width <= 0 || n > uint64(limit) {
		d.fail("malformed count, want at most %d", limit)
		return 0
	}
	d.rest = d.rest[width:]
	return int(n)
}

func (d *decoder) text(limit int) []byte {
	n := d.count(min(limit, len(d.rest)))
	if n > len(d.rest) {
		d.fail("ends too early")
		return nil
	}
	text := bytes.Clone(d.rest[:n])
	d.rest = d.rest[n:]
	return text
}

func (d *decoder) bundle() *Bundle {
	entry := d.count(MaxModules)
	n := d.count(min(MaxModules, len(d.rest)))
	modules := make([]*Module, n)
	for i := range modules {
		modules[i] = new(Module)
	}
	names := make(map[string]bool, n)
	for i, m := range modules {
		d.module(m, modules[:i], modules)
		if d.err == nil && names[m.Name] {
			d.fail("%q stands in it twice", m.Name)
		}
		names[m.Name] = true
	}
	if d.err == nil && entry >= n {
		d.fail("no entry")
	}
	if d.err != nil {
		return nil
	}
	b := newBundle(modules[entry])
	if !slices.Equal(b.modules, modules) {
		d.fail("its files are not in order")
	}
	return b
}

func (d *decoder) module(m *Module, earlier, all []*Module) {
	m.Name = string(d.text(maxName))
	m.Source = d.text(MaxSource)
	m.Hash = sha256.Sum256(m.Source)
	m.loads = d.modules(earlier)
	m.runs = d.modules(all)
	if d.err == nil {
		if err := validName(m.Name); err != nil {
			d.fail("%w", err)
		}
	}
}

// modules reads a list without repetition of indices into among.
func (d *decoder) modules(among []*Module) []*Module {
	n := d.count(min(len(among), len(d.rest)))
	if n == 0 {
		return nil
	}
	list, seen := make([]*Module, 0, n), make([]bool, len(among))
	for range n {
		i := d.count(len(among) - 1)
		if seen[i] {
			d.fail("a module is listed twice")
		}
		if d.err != nil {
			return nil
		}
		seen[i] = true
		list = append(list, among[i])
	}
	return list
}
