package notify

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"mime"
	"mime/quotedprintable"
	"strings"
	"time"
	"unicode"

	"starling/stdlib/project"
)

// told is what of a notice is written into a mail.
type told struct {
	Type, Run, Script, Error string
	At                       time.Time
	StartedBy                string `json:"started_by"`
	Gate                     *struct {
		Address, Prompt, Target string
		Options                 []struct{ Name, Description string }
		Deadline                *time.Time
		AnswerWith              string `json:"answer_with"`
	}
	Decision *struct{ Choice, Reason, By string }
	Work     *struct {
		Address, Agent string
		ClaimWith      string `json:"claim_with"`
	}
}

// maxSubject bounds the subject of a mail, in characters; the text has all of it.
const maxSubject = 120

// letter is the mail of a notice: plain text, with the id of the notice as that of the message, so
// that one that comes twice is known. What scripts have written stands in no header but the
// subject, and there without what could end a line.
func letter(n project.Notify, id, body string, now time.Time) ([]byte, error) {
	var t told
	if err := json.Unmarshal([]byte(body), &t); err != nil {
		return nil, err
	}
	var b bytes.Buffer
	_, domain, _ := strings.Cut(project.Mailbox(n.From), "@")
	for _, h := range [][2]string{
		{"From", n.From}, {"To", strings.Join(n.Mail, ", ")}, {"Subject", folded(t.subject())}, {"Date", now.Format(time.RFC1123Z)},
		{"Message-ID", "<" + id + "@" + domain + ">"}, {"Auto-Submitted", "auto-generated"}, {"MIME-Version", "1.0"},
		{"Content-Type", "text/plain; charset=utf-8"}, {"Content-Transfer-Encoding", "quoted-printable"},
	} {
		b.WriteString(h[0] + ": " + h[1] + "\r\n")
	}
	b.WriteString("\r\n")
	w := quotedprintable.NewWriter(&b)
	if _, err := w.Write([]byte(strings.ReplaceAll(t.text(n.Server), "\n", "\r\n"))); err != nil {
		return nil, err
	}
	err := w.Close()
	return b.Bytes(), err
}

// folded is a text as a header has it. An encoded one has a line for each of its words.
func folded(text string) string {
	return strings.ReplaceAll(mime.QEncoding.Encode("utf-8", text), "?= =?", "?=\r\n =?")
}

// oneLine is a text without what ends lines or moves a cursor, cut to a length.
func oneLine(text string) string {
	text = strings.Join(strings.FieldsFunc(strings.ToValidUTF8(text, "\uFFFD"), func(c rune) bool { return unicode.IsSpace(c) || !unicode.IsGraphic(c) }), " ")
	if runes := []rune(text); len(runes) > maxSubject {
		return string(runes[:maxSubject-1]) + "…"
	}
	return text
}

// several is a text of several lines, without anything else that is not shown.
func several(text string) string {
	return strings.Map(func(c rune) rune {
		if c == '\n' || c == '\t' || unicode.IsGraphic(c) {
			return c
		}
		return -1
	}, strings.ToValidUTF8(text, "\uFFFD"))
}

func (t *told) subject() string {
	switch {
	case t.Decision != nil:
		return oneLine("starling: " + t.Gate.Address + ": " + cmp.Or(t.Decision.Choice, "answered"))
	case t.Gate != nil:
		return oneLine("starling: " + cmp.Or(t.Gate.Prompt, t.Gate.Address))
	case t.Work != nil:
		return oneLine("starling: work for " + t.Work.Agent + " in " + t.Script)
	}
	return oneLine("starling: " + strings.TrimPrefix(t.Type, "run.") + " " + t.Script + " " + t.Run)
}

// text is what the mail says. server is the address of the server that answers are sent to, ""
// where it is not known.
func (t *told) text(server string) string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	if g := t.Gate; g != nil && t.Decision == nil {
		line("%s\n", several(cmp.Or(g.Prompt, g.Address+" is open.")))
		for _, o := range g.Options {
			line("  %s", strings.TrimRight(oneLine(o.Name)+"  "+oneLine(o.Description), " "))
		}
		if g.AnswerWith != "" {
			line("\nAnswer with\n\n  %s", reached(g.AnswerWith, server))
		}
		if g.Deadline != nil {
			line("\nuntil %s.", g.Deadline.UTC().Format(time.RFC1123))
		}
	}
	if d := t.Decision; d != nil {
		line("%s: %s by %s", t.Gate.Address, cmp.Or(d.Choice, "answered"), d.By)
		if d.Reason != "" {
			line("\n%s", several(d.Reason))
		}
	}
	if w := t.Work; w != nil {
		line("There is work for %s. Take it with\n\n  %s", w.Agent, reached(w.ClaimWith, server))
	}
	if t.Gate == nil && t.Work == nil {
		line("%s %s", strings.ReplaceAll(t.Type, ".", " "), t.Run)
	}
	if t.Error != "" {
		line("\n%s", several(t.Error))
	}
	line("\n-- \n%s of %s, started by %s, %s", t.Run, oneLine(t.Script), cmp.Or(t.StartedBy, "nobody that is known"), t.At.UTC().Format(time.RFC1123))
	return b.String()
}

// reached is a command with the server that it is sent to.
func reached(command, server string) string {
	if rest, ok := strings.CutPrefix(command, "starling "); ok && server != "" {
		return "starling --server " + server + " " + rest
	}
	return command
}
