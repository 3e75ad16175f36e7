package vm

import (
	"go.starlark.net/starlark"

	"starling/lang/contract"
	"starling/lang/effect"
)

// makeDemanded makes an object that needs its contents first.
func (d *decoder) makeDemanded(sh *shell) {
	if sh.value != nil {
		return
	}
	if sh.made == busy {
		d.fail("an object that is needed to make itself")
		return
	}
	if d.demand++; d.demand > maxDemand {
		d.fail("values nested too deep in each other")
		return
	}
	sh.made = busy
	d.pos = int(sh.body)
	switch sh.kind {
	case objMethod, objEffectMethod:
		d.makeMethod(sh)
	case objContract:
		d.makeContract(sh)
	case objSecret:
		sh.value = &effect.Secret{Name: d.textOf("secret's name"), Wrap: d.textOf("secret's text")}
	case objHost:
		d.makeHost(sh)
	}
	sh.made = whole
	d.demand--
}

func (d *decoder) makeMethod(sh *shell) {
	recv, name := d.plain(), d.textOf("method's name")
	if d.err != nil {
		return
	}
	switch b := d.attr(recv, name).(type) {
	case *starlark.Builtin:
		if sh.kind == objMethod && b.Receiver() != nil && b.Name() == name {
			sh.value = b
		}
	case *effect.Builtin:
		if of, attr := b.Receiver(); sh.kind == objEffectMethod && of != nil && attr == name {
			sh.value = b
		}
	}
	if sh.value == nil {
		d.fail("%s of a %s is no method of this kind", name, recv.Type())
	}
}

func (d *decoder) makeContract(sh *shell) {
	text := d.textOf("contract")
	if d.err != nil {
		return
	}
	c := d.contracts[text]
	if c == nil {
		var err error
		if c, err = contract.Parse("contract", text); err != nil {
			d.fail("a contract that does not parse: %v", err)
			return
		}
		if d.contracts == nil {
			d.contracts = make(map[string]*contract.Contract)
		}
		d.contracts[text] = c
	}
	same := *c
	sh.value = &same
}

func (d *decoder) makeHost(sh *shell) {
	codec := &d.img.env.Codecs[sh.module]
	parts := make([]starlark.Value, sh.n)
	for i := range parts {
		d.last = -1
		parts[i] = d.plain()
		d.complete(d.last)
	}
	if d.err != nil {
		return
	}
	v, err := codec.Make(parts)
	if err != nil {
		d.fail("%v", err)
		return
	}
	if v == nil || v.Type() != codec.Type {
		d.fail("a %s where a %s was written", typeOf(v), codec.Type)
		return
	}
	sh.value = v
}

// fillParts fills tuples and records, unless that is done.
func (d *decoder) fillParts(sh *shell) {
	if sh.hasParts() && sh.made != whole {
		d.fillFrom(sh)
	}
}

// hasParts tells whether an object is immutable and refers to others: a script can only make it
// after them.
func (sh *shell) hasParts() bool { return sh.kind == objTuple || sh.kind == objRecord }

// complete fills an object, if it is a tuple or a record, and leaves the position where it is. The
// number may be -1 for none.
func (d *decoder) complete(id int) {
	if id < 0 || d.err != nil {
		return
	}
	at := d.pos
	d.fillParts(&d.shells[id])
	if d.err == nil {
		d.pos = at
	}
}

// filling is a tuple or a record of which some elements are filled.
type filling struct {
	sh    *shell
	index int
	pos   int // of the next element
}

// fillFrom fills a tuple or a record after those in it. It works with a stack of its own, because
// they may be nested a million deep.
func (d *decoder) fillFrom(sh *shell) {
	sh.made = busy
	stack := []filling{{sh: sh, pos: int(sh.body)}}
	for len(stack) > 0 && d.err == nil {
		top := &stack[len(stack)-1]
		if top.index == len(top.sh.elems) {
			top.sh.made = whole
			stack = stack[:len(stack)-1]
			continue
		}
		d.pos, d.last = top.pos, -1
		top.sh.elems[top.index] = d.plain()
		top.index, top.pos = top.index+1, d.pos
		if d.last < 0 {
			continue
		}
		switch inner := &d.shells[d.last]; {
		case !inner.hasParts() || inner.made == whole:
		case inner.made == busy:
			d.fail("a %s that contains itself", inner.value.Type())
		default:
			inner.made = busy
			stack = append(stack, filling{sh: inner, pos: int(inner.body)})
		}
	}
}

// key reads a key of a dict or an element of a set. Hashing it takes as long as it has parts,
// counted as often as they are reached.
func (d *decoder) key() starlark.Value {
	k := d.plain()
	t, ok := k.(starlark.Tuple)
	if !ok || d.err != nil {
		return k
	}
	parts, err := tupleParts(t)
	d.check(err)
	if d.hashed += parts; d.hashed > maxHashed+hashedPerByte*len(d.buf) {
		d.fail("keys with more than %d parts in all", d.hashed)
	}
	return k
}

func (d *decoder) fillTable(sh *shell) {
	switch sh.kind {
	case objDict:
		dict := sh.value.(*starlark.Dict)
		for n := sh.n; n > 0 && d.err == nil; n-- {
			k, v := d.key(), d.plain()
			if d.err == nil {
				d.check(dict.SetKey(k, v))
			}
		}
		d.checkLen(dict.Len(), sh)
	case objSet:
		set := sh.value.(*starlark.Set)
		for n := sh.n; n > 0 && d.err == nil; n-- {
			if k := d.key(); d.err == nil {
				d.check(set.Insert(k))
			}
		}
		d.checkLen(set.Len(), sh)
	}
}

func (d *decoder) checkLen(got int, sh *shell) {
	if d.err == nil && got != int(sh.n) {
		d.fail("a dict or set with %d keys, want %d", got, sh.n)
	}
}

// fillRest fills what may refer to anything. All is there now, so that what is frozen can be said
// to be.
func (d *decoder) fillRest(sh *shell) {
	switch sh.kind {
	case objList:
		for i := range sh.elems {
			sh.elems[i] = d.plain()
		}
	case objCell:
		sh.value.(*cell).v = d.variable()
	case objFunction:
		d.fillFunction(sh.value.(*Function))
	}
	if sh.frozen {
		setFrozen(sh.value)
	}
}

func (d *decoder) fillFunction(fn *Function) {
	for i := range fn.defaults {
		fn.defaults[i] = d.variable()
		if fn.defaults[i] == nil && !fn.code.Placeholder(i) {
			d.fail("function %s without default %d", fn.Name(), i)
		}
	}
	for i := range fn.free {
		c, ok := d.value().(*cell)
		if !ok {
			d.fail("function %s captured something else than a cell", fn.Name())
		}
		fn.free[i] = c
	}
}
