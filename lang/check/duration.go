package check

import (
	"errors"
	"fmt"
	"time"

	"go.starlark.net/syntax"

	"starling/lang/contract"
	"starling/lang/crontab"
	"starling/lang/diagnostic"
	"starling/lang/effect"
)

// The least time that agents and people are given, and the longest that anybody means. Beyond these
// a unit was probably mistaken.
const (
	leastWait   = time.Second
	longestWait = 366 * 24 * time.Hour
)

// duration checks a literal duration: what is none, what the machine refuses, and what is hardly
// meant.
func (c *checker) duration(sig *signature, p effect.Param, arg syntax.Expr, s string) {
	about := sig.name + ": for parameter " + p.Name
	d, err := contract.ParseDuration(s)
	switch {
	case err != nil:
		c.at("bad_duration", arg, diagnostic.Diagnostic{Message: about + ": " + err.Error(), Hint: contract.DurationHint(s)})
	case d == 0 && p.Name == "timeout":
		c.at("bad_duration", arg, diagnostic.Diagnostic{Message: about, Got: fmt.Sprintf("%q", s), Want: "a duration longer than 0"})
	case d > longestWait:
		c.unsafe(arg, about+": "+s+" is longer than a year", "the units are ns us ms s m h d")
	case d < leastWait && p.Name == "timeout" && (sig.name == "gate" || sig.name == "agent" || sig.name == "handoff" || sig.name == "role"):
		c.unsafe(arg, about+": nobody answers within "+s, "the units are ns us ms s m h d")
	}
}

// timetable checks a literal of the times of a schedule.
func (c *checker) timetable(sig *signature, p effect.Param, arg syntax.Expr, s string) {
	var err error
	switch p.Name {
	case "cron":
		_, err = crontab.Read(s, "", time.Unix(0, 0))
	case "zone":
		_, err = crontab.Zone(s)
	case "every":
		if d, wrong := contract.ParseDuration(s); wrong != nil || d >= time.Second {
			c.duration(sig, p, arg, s)
			return
		}
		err = &crontab.Problem{Got: fmt.Sprintf("%q", s), Want: "a second at least"}
	}
	if wrong := (*crontab.Problem)(nil); errors.As(err, &wrong) {
		c.at("bad_schedule", arg, diagnostic.Diagnostic{Message: sig.name + ": for parameter " + p.Name, Got: wrong.Got, Want: wrong.Want, Hint: wrong.Hint})
	}
}

func (c *checker) unsafe(arg syntax.Expr, message, hint string) {
	c.at("unsafe_duration", arg, diagnostic.Diagnostic{Severity: diagnostic.Warning, Message: message, Hint: hint})
}

// deadline refuses what a gate does at its deadline where it has none.
func (c *checker) deadline(args arguments, bound map[string]syntax.Expr) {
	if args.starStar || !none(bound["timeout"]) || !none(bound["escalate"]) {
		return
	}
	for _, param := range []string{"fallback", "on_timeout"} {
		arg := bound[param]
		if s, _ := text(orNone(arg)); none(arg) || typeOf(arg) == "" || s == "fail" {
			continue
		}
		c.at("no_deadline", arg, diagnostic.Diagnostic{
			Message: "gate: " + param + " never applies without a deadline",
			Hint:    `add timeout = "2h"`,
		})
	}
}

// none tells whether nothing is passed, or None.
func none(arg syntax.Expr) bool { return arg == nil || typeOf(arg) == "NoneType" }
