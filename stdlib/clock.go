package stdlib

import "starling/lang/effect"

func sleepBuiltin() *effect.Builtin {
	return &effect.Builtin{
		FullName: "sleep",
		Doc:      "Suspend for a while. The timer is durable: it goes on while nothing runs.",
		Params: []effect.Param{
			{Name: "duration", Type: "duration", Doc: "How long, such as \"90s\" or \"2h\"."},
			nameParam("sleep"),
		},
		Result: "None",
		Class:  effect.Waiting,
		Request: func(c *effect.Call) (*effect.Request, error) {
			name, err := stepName(c, "sleep")
			if err != nil {
				return nil, err
			}
			return request(c, "sleep", name, "duration")
		},
	}
}

// clockBuiltins are answered inside the slice: recorded once, the same on every replay.
func clockBuiltins() []*effect.Builtin {
	return []*effect.Builtin{
		answer("now", "timestamp", "The time as text, RFC 3339 in UTC with milliseconds; such texts sort by time. time.parse makes seconds of it."),
		answer("uuid", "string", "A random UUID, version 4."),
		answer("random", "float", "A random float, at least 0 and less than 1."),
	}
}

// answer is a builtin that the machine is answered at once, without leaving its slice: a turn for
// each call would cost a commit.
func answer(name, result, doc string) *effect.Builtin {
	return &effect.Builtin{
		FullName: name, Doc: doc, Result: result, Class: effect.Answer,
		Request: func(c *effect.Call) (*effect.Request, error) { return request(c, name, name) },
	}
}
