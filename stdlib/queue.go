package stdlib

import "starling/lang/effect"

func queueModule() []*effect.Builtin {
	queue := effect.Param{Name: "queue", Type: "string", Doc: "The queue. It needs no making: it is there when something is in it."}
	item := effect.Param{Name: "item", Type: "Item", Doc: "What queue.take has given."}
	return []*effect.Builtin{
		queueBuiltin("queue.push", "int", "Put an item at the end of a queue and give its number. It is there when the call returns, whatever becomes of this run.",
			queue, effect.Param{Name: "value", Nullable: true, Doc: "What it is, copied."},
			effect.Param{Name: "key", Type: "string", Default: "None", KeywordOnly: true,
				Doc: "While an item of this key is in the queue, waiting, held or parked, nothing is put there, and the call gives its number."}),
		queueBuiltin("queue.take", "Item or None", "Take the oldest item that no run holds, or wait for one. It is this run's until the run has acknowledged or parked it, its lease is over, or the run has ended; "+
			"then others may take it. Waiting for people, restarts and crashes end nothing of this.", queue,
			effect.Param{Name: "wait", Type: "bool", Default: "True", KeywordOnly: true, Doc: "False gives None when there is no item."},
			timeoutParam("How long to wait; for ever by default. Its end raises."),
			effect.Param{Name: "id", Type: "int", Least: 1, Most: 1 << 53, Default: "None", KeywordOnly: true, Doc: "Take the item of this number, as queue.all lists it, and no other. It gives None when that has left the queue."},
			effect.Param{Name: "lease", Type: "duration", Default: "None", KeywordOnly: true, Doc: "After this others may take the item although this run goes on; never by default."}),
		queueBuiltin("queue.ack", "None", "Drop an item from its queue: what it asked for is done. It raises where the item is not this run's any more, because its lease was over and "+
			"somebody has taken it. One that is parked may be dropped by any run.", item),
		queueBuiltin("queue.release", "None", "Give an item back, in its place and as it is or changed: whoever takes it next goes on with it. One that is parked may be given back by any run.", item,
			effect.Param{Name: "value", Default: "None", KeywordOnly: true, Doc: "What it is from now on; by default what it was."}),
		queueBuiltin("queue.park", "None", "Put an item aside, so that nobody takes it: queue.all shows it with the reason.", item,
			effect.Param{Name: "reason", Type: "string", Doc: "Why it cannot be done."}),
		queueBuiltin("queue.all", "list[Item]", "List the items of a queue, those that are parked behind the others.", queue),
	}
}

func queueBuiltin(name, result, doc string, params ...effect.Param) *effect.Builtin {
	return &effect.Builtin{FullName: name, Doc: doc, Params: params, Result: result, Class: effect.Waiting, Request: queueRequest}
}

// queueRequest checks by parameter and not by function, since the functions share them.
func queueRequest(c *effect.Call) (*effect.Request, error) {
	waits := false
	for _, p := range c.Builtin.Params {
		switch p.Name {
		case "item":
			return itemRequest(c)
		case "queue":
			if err := effect.CheckName(c.Text("queue", "")); err != nil {
				return nil, wrong(c, "queue", "%w", err)
			}
		case "key":
			if err := checkKey(c, p.Name); err != nil {
				return nil, err
			}
		case "id":
			if _, err := c.Count("id", 1); err != nil {
				return nil, err
			}
		case "timeout", "lease":
			waits = true
			if err := positive(c, p.Name); err != nil {
				return nil, err
			}
		}
	}
	r, err := operation(c)
	if err == nil && waits {
		r.Policy.Timeout = c.Duration("timeout", 0)
	}
	return r, err
}

// itemRequest is about an item that a queue has given: it names the item, and which taking of it
// this is.
func itemRequest(c *effect.Call) (*effect.Request, error) {
	it, ok := c.Get("item").(*effect.Record)
	if !ok || it.RecordType() != effect.ItemType {
		return nil, wrong(c, "item", "got %s, want what queue.take gives", c.Get("item").Type())
	}
	var o effect.Object
	o.Text("do", function(c))
	for _, field := range []string{"queue", "id", "tries"} {
		o.Raw(field, effect.MustEncode(it.Field(field)))
	}
	more := c.Builtin.Params[1:]
	for _, p := range more {
		if p.Name == "reason" && c.Text(p.Name, "") == "" {
			return nil, wrong(c, p.Name, "got an empty text, want why the item cannot be done")
		}
	}
	if err := addArguments(c, &o, more); err != nil {
		return nil, err
	}
	return &effect.Request{Class: c.Builtin.Class, Kind: "queue", Name: c.Builtin.FullName, Args: o.Payload()}, nil
}
