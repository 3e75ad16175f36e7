// Package manpage writes the manual of commands for man(1): a page of section 1 for each, in the
// macros of man(7) that groff and mandoc share.
package manpage

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Write writes the pages of a command, and of all below it, into a folder, which is made: NAME.1
// and NAME-VERB.1. source stands in the foot, such as "starling v1.2.3".
func Write(folder, source string, cmd *cobra.Command) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(folder, name(cmd)+".1"), []byte(Page(source, cmd)), 0o644); err != nil {
		return err
	}
	for _, sub := range shown(cmd) {
		if err := Write(folder, source, sub); err != nil {
			return err
		}
	}
	return nil
}

// name is what a page is called: the words of the command, with hyphens.
func name(cmd *cobra.Command) string { return strings.ReplaceAll(cmd.CommandPath(), " ", "-") }

func shown(cmd *cobra.Command) (list []*cobra.Command) {
	for _, sub := range cmd.Commands() {
		if !sub.Hidden {
			list = append(list, sub)
		}
	}
	return list
}

// Page is the page of one command.
func Page(source string, cmd *cobra.Command) string {
	p := &page{}
	p.line(".TH %s 1 \"\" %s \"Starling\"", quote(strings.ToUpper(name(cmd))), quote(source))
	p.section("NAME")
	p.line("%s \\- %s", escape(name(cmd)), escape(lowered(cmd.Short)))
	p.section("SYNOPSIS")
	p.line(".B %s", escape(cmd.UseLine()))
	if cmd.Long != "" {
		p.section("DESCRIPTION")
		p.prose(cmd.Long)
	}
	p.flags("OPTIONS", cmd.NonInheritedFlags())
	if cmd.HasParent() {
		p.flags("OPTIONS OF EVERY COMMAND", cmd.InheritedFlags())
	}
	if cmd.Example != "" {
		p.section("EXAMPLES")
		p.block(strings.ReplaceAll("\n"+cmd.Example, "\n  ", "\n")[1:])
	}
	p.commands(cmd)
	return p.String()
}

type page struct{ strings.Builder }

func (p *page) line(format string, args ...any) { fmt.Fprintf(p, format+"\n", args...) }

func (p *page) section(title string) { p.line(".SH %s", quote(title)) }

// prose is a text in paragraphs; what is indented is a block.
func (p *page) prose(text string) {
	for i, part := range strings.Split(strings.TrimSpace(text), "\n\n") {
		if i > 0 {
			p.line(".PP")
		}
		lead, block := part, ""
		if at := strings.Index("\n"+part, "\n  "); at >= 0 {
			lead, block = part[:at], strings.Trim(part[at:], "\n")
		}
		if lead = strings.TrimSpace(lead); lead != "" {
			p.line("%s", escape(strings.Join(strings.Fields(lead), " ")))
		}
		p.block(block)
	}
}

// block is a text whose lines stay as they are.
func (p *page) block(text string) {
	if text == "" {
		return
	}
	p.line(".RS 4\n.nf")
	for line := range strings.SplitSeq(text, "\n") {
		p.line("%s", escape(line))
	}
	p.line(".fi\n.RE")
}

func (p *page) flags(title string, set *pflag.FlagSet) {
	if !set.HasAvailableFlags() {
		return
	}
	p.section(title)
	set.VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		takes, usage := pflag.UnquoteUsage(f)
		p.line(".TP")
		head := `\fB` + escape("--"+f.Name) + `\fR`
		if f.Shorthand != "" {
			head = `\fB` + escape("-"+f.Shorthand) + `\fR, ` + head
		}
		if takes != "" {
			head += ` \fI` + escape(takes) + `\fR`
		}
		p.line("%s", head)
		switch f.DefValue {
		case "", "false", "[]", "0":
		default:
			usage += " (default " + f.DefValue + ")"
		}
		p.line("%s", escape(usage))
	})
}

// commands are those below, and those beside which this one stands.
func (p *page) commands(cmd *cobra.Command) {
	if below := shown(cmd); len(below) > 0 {
		p.section("COMMANDS")
		for _, sub := range below {
			p.line(".TP\n.BR %s (1)\n%s", escape(name(sub)), escape(sub.Short))
		}
	}
	if cmd.HasParent() {
		p.section("SEE ALSO")
		p.line(".BR %s (1)", escape(name(cmd.Parent())))
	}
}

func lowered(text string) string { return strings.ToLower(text[:1]) + text[1:] }

// quote is a word of a request.
func quote(text string) string { return `"` + strings.ReplaceAll(escape(text), `"`, `\(dq`) + `"` }

// escape is a text with nothing in it that roff takes for its own.
func escape(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`, "'", `\(aq`, "`", `\(ga`, "^", `\(ha`, "~", `\(ti`).Replace(text)
	text = beyond(text)
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, ".") {
			lines[i] = `\&` + line
		}
	}
	return strings.Join(lines, "\n")
}

// beyond writes what is not ASCII as every roff reads it, whatever the locale is.
func beyond(text string) string {
	var b strings.Builder
	for _, r := range text {
		if r < 0x80 {
			b.WriteRune(r)
		} else {
			fmt.Fprintf(&b, `\[u%04X]`, r)
		}
	}
	return b.String()
}
