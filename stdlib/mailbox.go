package stdlib

import "starling/lang/effect"

// mailboxModule has no way to look without taking: a message that two branches have seen would be
// acted on twice.
func mailboxModule() []*effect.Builtin {
	return []*effect.Builtin{{
		FullName: "mailbox.take",
		Doc: "Take the oldest message of a name that was sent to this run, or wait for one. Messages are kept until taken, also those that came " +
			"before anybody waited.",
		Params: []effect.Param{
			{Name: "name", Type: "string", Doc: "The name under which messages are sent."},
			timeoutParam("How long to wait; for ever by default. Its end raises."),
		},
		Result: "Message",
		Class:  effect.Waiting,
		Request: func(c *effect.Call) (*effect.Request, error) {
			if err := effect.CheckName(c.Text("name", "")); err != nil {
				return nil, wrong(c, "name", "%w", err)
			}
			if err := positive(c, "timeout"); err != nil {
				return nil, err
			}
			r, err := request(c, "mailbox.take", "mailbox.take", "name", "timeout")
			if err != nil {
				return nil, err
			}
			r.Policy.Timeout = c.Duration("timeout", 0)
			return r, nil
		},
	}}
}
