package engine_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"
)

// plan is a script that nobody wrote, with what the world does when it is run: how each gate is
// answered, how each agent behaves.
//
// A calm plan comes to one output, whatever happens to the processes that carry it and in whichever
// order things come in: what a gate is answered follows from its name, a gate with a deadline is
// never answered, an agent's reply follows from its step. In a racy plan people and clocks race,
// branches are cancelled where they stand, and the run itself may be.
type plan struct {
	racy     bool
	script   string
	files    map[string]string // of its child runs
	gates    map[string]*gatePlan
	agents   map[string]*agentPlan
	messages []string // names under which one message each is sent
}

type gatePlan struct {
	choice string // "" when it is never answered
	free   bool   // it takes a payload instead of a choice
	quorum int
	target string
}

type agentPlan struct {
	failures int           // of the transport, before it replies
	slips    int           // replies that break the contract, after those
	delay    time.Duration // before a reply
	deaf     bool          // it does not stop when it is told to
	hopeless bool          // it fails for good
	panics   bool
	events   []string
	typed    bool // its reply is {n: int}
}

// author writes plans from a grammar.
type author struct {
	*rand.Rand
	plan
	names int
	depth int // of child runs
}

func newPlan(r *rand.Rand) *plan {
	a := &author{Rand: r, plan: plan{racy: r.IntN(2) == 0, files: map[string]string{}, gates: map[string]*gatePlan{}, agents: map[string]*agentPlan{}}}
	a.agents["helper"] = &agentPlan{}
	a.script = "def main():\n" + a.body()
	return &a.plan
}

// preamble is what all scripts of a plan have.
const preamble = `
def listen(ev):
    if ev.kind == "enough":
        return stop("enough")
    if ev.kind == "ask":
        return steer(agent("helper").output)
    print("heard", ev.kind)

def deeper(n, f):
    return f() if n == 0 else deeper(n - 1, f)

def swap(name):
    queue.push(name, 1)
    item = queue.take(name)
    queue.ack(item)
    return item.value

def chatter(n):
    for i in range(n):
        print("line", i, "x" * 4000)
    return n
`

func (a *author) body() string {
	var b strings.Builder
	b.WriteString("    out = []\n")
	for range 1 + a.IntN(4) {
		switch a.IntN(8) {
		case 0:
			fmt.Fprintf(&b, "    print(%q)\n", a.name("said"))
		case 1:
			fmt.Fprintf(&b, "    for x in range(%d):\n        out.append([x, %s])\n", 1+a.IntN(3), a.expr(2, true))
		case 2:
			fmt.Fprintf(&b, "    h = %s\n    out.append(%s)\n    out.append(h.decision().choice)\n", a.gate(", wait = False"), a.expr(2, false))
		default:
			fmt.Fprintf(&b, "    out.append(%s)\n", a.expr(3, false))
		}
		if a.racy || a.depth == 0 { // a run whose first turn fails is none
			b.WriteString("    poison()\n")
		}
	}
	return b.String() + "    return out\n" + preamble
}

func (a *author) name(prefix string) string {
	a.names++
	return fmt.Sprint(prefix, a.names)
}

// expr writes an expression. In a loop it is evaluated more than once.
func (a *author) expr(depth int, loop bool) string {
	if depth == 0 {
		return a.leaf(loop)
	}
	switch a.IntN(10) {
	case 0:
		return fmt.Sprintf("parallel([%s])", a.branches(depth, loop, "lambda: %s"))
	case 1:
		return fmt.Sprintf("parallel({%s})", a.branches(depth, loop, `"`+a.name("b")+`-%d": lambda: %s`))
	case 2:
		return fmt.Sprintf("parallel(lambda x: [x, %s], over = range(%d), limit = %d)", a.expr(depth-1, true), 1+a.IntN(4), 1+a.IntN(3))
	case 3:
		return a.any(depth, loop)
	case 4:
		return fmt.Sprintf("attempt(lambda: %s).value", a.expr(depth-1, loop))
	case 5:
		return fmt.Sprintf("sorted([2, 1], key = lambda x: [len(str(%s)), x])", a.expr(depth-1, true))
	case 6:
		return fmt.Sprintf("deeper(%d, lambda: %s)", a.IntN(20), a.expr(depth-1, loop))
	case 7:
		return fmt.Sprintf("[[x, %s] for x in range(%d)]", a.expr(depth-1, true), 1+a.IntN(2))
	case 8:
		return a.child(loop)
	}
	return a.leaf(loop)
}

// branches writes two or three branches.
func (a *author) branches(depth int, loop bool, format string) string {
	var all []string
	for i := range 2 + a.IntN(2) {
		e := a.expr(depth-1, loop)
		if strings.Contains(format, "%d") {
			all = append(all, fmt.Sprintf(format, i, e))
		} else {
			all = append(all, fmt.Sprintf(format, e))
		}
	}
	return strings.Join(all, ", ")
}

// any writes a race. In a calm plan one branch alone can win it.
func (a *author) any(depth int, loop bool) string {
	losers := []string{`lambda: sleep("9000h")`, "lambda: " + a.silent()}
	if a.racy {
		losers = []string{"lambda: " + a.expr(depth-1, loop), "lambda: " + a.expr(depth-1, loop)}
	}
	return fmt.Sprintf(`[o.status for o in parallel([lambda: %s, %s], wait = "any")]`, a.expr(depth-1, loop), strings.Join(losers, ", "))
}

// silent writes a gate that nobody answers.
func (a *author) silent() string {
	name := a.name("g")
	a.gates[name] = &gatePlan{}
	return fmt.Sprintf("gate(%q, options = [\"yes\", \"no\"])", name)
}

func (a *author) child(loop bool) string {
	if a.depth == 2 {
		return a.leaf(loop)
	}
	a.depth++
	file := a.name("child") + ".star"
	a.files[file] = "def main(x):\n" + a.body()
	a.depth--
	if a.IntN(3) == 0 {
		return fmt.Sprintf("run(%q, {\"x\": 1}, on_error = \"return\").ok", file)
	}
	return fmt.Sprintf("run(%q, {\"x\": 1})", file)
}

func (a *author) leaf(loop bool) string {
	switch n := a.IntN(17); {
	case n < 4:
		return a.agent()
	case n < 7:
		return a.gate("") + ".choice"
	case n == 7:
		return fmt.Sprintf("sleep(%q)", a.duration())
	case n == 8:
		return a.deadline()
	case n == 9 && !loop && a.depth == 0: // a message is sent to the run at the top
		name := a.name("m")
		a.messages = append(a.messages, name)
		return fmt.Sprintf("mailbox.take(%q).payload", name)
	case n == 10:
		return `attempt(lambda: fail("no")).error.message`
	case n == 11:
		return `[len(uuid()), now() > "1999", random() < 1]`
	case n == 12:
		return a.hopeless()
	case n == 13:
		name := a.name("g")
		a.gates[name] = &gatePlan{free: true, choice: name, quorum: 1}
		return fmt.Sprintf("gate(%q, schema = contract(\"{note: string}\")).payload", name)
	case n == 15:
		return fmt.Sprintf("swap(%q)", a.name("q"))
	case n == 16:
		return fmt.Sprintf("memory.project.set(%q, 1)", a.name("v"))
	case n == 14 && a.IntN(4) == 0:
		return fmt.Sprintf("chatter(%d)", 10+a.IntN(60))
	}
	return fmt.Sprint(a.IntN(100))
}

func (a *author) duration() string {
	return []string{"1ms", "40ms", "2s", "31s", "5m"}[a.IntN(5)]
}

// gate writes a gate that is answered.
func (a *author) gate(more string) string {
	name := a.name("g")
	g := &gatePlan{choice: []string{"yes", "no"}[a.IntN(2)], quorum: 1}
	a.gates[name] = g
	switch a.IntN(6) {
	case 0:
		g.quorum = 2 + a.IntN(2)
		more += fmt.Sprintf(", quorum = %d", g.quorum)
	case 1:
		g.target = "reviewer"
		more += `, target = "reviewer"`
	case 2:
		if a.racy {
			more += fmt.Sprintf(", timeout = %q, fallback = \"no\"", a.duration())
		}
	}
	return fmt.Sprintf("gate(%q, options = [\"yes\", \"no\"]%s)", name, more)
}

// deadline writes a gate or a mailbox that a clock decides.
func (a *author) deadline() string {
	name := a.name("g")
	g := &gatePlan{}
	if a.racy {
		g.choice, g.quorum = "yes", 1
	}
	a.gates[name] = g
	switch a.IntN(4) {
	case 0:
		return fmt.Sprintf(`gate(%q, options = ["yes", "no"], timeout = %q, on_timeout = "return").timed_out`, name, a.duration())
	case 1:
		return fmt.Sprintf(`attempt(lambda: gate(%q, options = ["yes"], timeout = %q)).status`, name, a.duration())
	case 2:
		return fmt.Sprintf(`gate(%q, options = ["yes", "no"], escalate = [("lead", %q), ("boss", %q)], fallback = "no").via`, name, a.duration(), a.duration())
	}
	return fmt.Sprintf(`attempt(lambda: mailbox.take("never", timeout = %q)).status`, a.duration())
}

// agent writes an agent that replies in the end.
func (a *author) agent() string {
	name := a.name("a")
	p := &agentPlan{failures: max(0, a.IntN(5)-2), delay: time.Duration(a.IntN(3)) * time.Duration(a.IntN(3000)) * time.Millisecond, deaf: a.IntN(8) == 0}
	a.agents[name] = p
	more := fmt.Sprintf(", retries = %d", p.failures)
	switch a.IntN(6) {
	case 0:
		more += `, on_uncertain = "ask"`
	case 1:
		p.slips, p.typed = a.IntN(3), true
		more += `, output = contract("{n: int}")`
	case 2:
		if a.racy {
			p.events = [][]string{{"note"}, {"note", "ask", "note"}, {"note", "enough", "note"}, {"ask", "ask", "late"}}[a.IntN(4)]
			more += ", on_event = listen"
		}
	case 3:
		if a.racy {
			more += `, on_uncertain = "fail"`
		}
	case 4:
		return fmt.Sprintf(`handoff(%q, {"x": 1}%s).output`, name, more)
	}
	return fmt.Sprintf("agent(%q%s).output", name, more)
}

// hopeless writes an agent that never replies.
func (a *author) hopeless() string {
	name := a.name("a")
	p := &agentPlan{}
	a.agents[name] = p
	switch a.IntN(4) {
	case 0:
		p.panics = true
	case 1:
		p.delay = time.Minute
		return fmt.Sprintf(`attempt(lambda: agent(%q, timeout = "2s")).error.kind`, name)
	case 2:
		p.failures = 99
		return fmt.Sprintf(`attempt(lambda: agent(%q, retries = %d)).error.kind`, name, a.IntN(3))
	default:
		p.hopeless = true
	}
	return fmt.Sprintf(`agent(%q, on_error = "return").ok`, name)
}
