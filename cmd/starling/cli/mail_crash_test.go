package cli

import (
	"bufio"
	"fmt"
	"net"
	"net/mail"
	"net/textproto"
	"strings"
	"sync"
	"testing"
)

// letterBox is a mail server (RFC 5321) on this machine that keeps what it has taken, and at which
// the process that brings a mail can be killed: at the line that begins so, or when it is GREETING,
// TEXT (all is there, and it is not taken yet) or TAKEN (the server has it, and nobody knows).
type letterBox struct {
	listener net.Listener

	mu    sync.Mutex // guards what follows
	at    string     // at which moment, "" for none
	kill  func()     // returns when the process is gone
	taken []string   // a Message-ID for each mail that was taken
}

func newLetterBox(t *testing.T) *letterBox {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	b := &letterBox{listener: l}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go b.serve(c)
		}
	}()
	return b
}

// arm has the process that comes next be killed, once.
func (b *letterBox) arm(at string, kill func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.at, b.kill, b.taken = at, kill, nil
}

// cuts kills where this is the moment, and tells whether it has.
func (b *letterBox) cuts(moment string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.at == "" || b.at != moment {
		return false
	}
	b.at = ""
	b.kill()
	return true
}

func (b *letterBox) serve(c net.Conn) {
	defer c.Close()
	if b.cuts("GREETING") {
		return
	}
	fmt.Fprint(c, "220 ready\r\n")
	lines := textproto.NewReader(bufio.NewReader(c))
	for {
		line, err := lines.ReadLine()
		word, _, _ := strings.Cut(line, " ")
		if err != nil || b.cuts(word) {
			return
		}
		if word != "DATA" {
			fmt.Fprint(c, "250 fine\r\n")
			continue
		}
		fmt.Fprint(c, "354 go on\r\n")
		text, err := lines.ReadDotBytes()
		if err != nil || b.cuts("TEXT") {
			return
		}
		m, err := mail.ReadMessage(strings.NewReader(string(text)))
		if err != nil {
			return
		}
		b.mu.Lock()
		b.taken = append(b.taken, m.Header.Get("Message-ID"))
		b.mu.Unlock()
		if b.cuts("TAKEN") {
			return
		}
		fmt.Fprint(c, "250 taken\r\n")
	}
}

// has are the mails that were taken.
func (b *letterBox) has() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]string{}, b.taken...)
}

// Whenever the process that brings a mail is killed, the mail comes: once, or twice with the same
// Message-ID where it was taken before it could be noted. It is noted once.
func TestMailSIGKILL(t *testing.T) {
	b := newLetterBox(t)
	for _, at := range []string{"GREETING", "RCPT", "TEXT", "TAKEN"} {
		t.Run(at, func(t *testing.T) {
			p := askingByMail(t, b)
			cmd := p.commandContext(t.Context(), "run", "ask.star", "--key", "k")
			b.arm(at, func() {
				_ = cmd.Process.Kill()
				_ = cmd.Wait()
			})
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			p.eventually("the end of the process", func() bool { return !alive(cmd.Process.Pid) })
			most := 1
			if at == "TAKEN" {
				most = 2
			}
			p.mailed(b, 1, most)
		})
	}
	sides := []string{"before", "after"}
	if !*everyCommit {
		sides = sides[drawn(t).IntN(2):][:1]
	}
	for _, side := range sides {
		doubled := 0
		for n, killed := 1, true; killed; n++ {
			p := askingByMail(t, b)
			b.arm("", nil)
			_, state := p.exec(killer{crash: fmt.Sprintf("%s %d", side, n)}, "run", "ask.star", "--key", "k")
			killed = state.killed
			doubled += p.mailed(b, 1, 2) - 1
		}
		if doubled > 1 { // killed between what the server has said and the note of it
			t.Errorf("killed %s each commit: %d mails came twice", side, doubled)
		}
	}
}

// askingByMail is a project whose gate is told of by mail.
func askingByMail(t *testing.T, b *letterBox) *telling {
	p := &telling{t: t, dir: t.TempDir(), end: &ending{}}
	p.write("ask.star", "def main():\n    return gate('go', options = ['yes']).choice\n")
	p.write("starling.toml", "[notify.lead]\nmail = ['ann@example.org']\nfrom = 'starling@example.org'\nsmtp = 'smtp://"+b.listener.Addr().String()+"'\non = ['gate']\n")
	return p
}

// mailed types the command again, lets the next owners send what was left, and wants so many mails,
// all of them the same one, and one note.
func (p *telling) mailed(b *letterBox, least, most int) int {
	p.t.Helper()
	run := strings.TrimSpace(string(p.do(killer{}, "run", "ask.star", "--key", "k", "--jq", ".id", "--raw")))
	sent := func() int {
		return strings.Count(string(p.do(killer{}, "logs", run, "--type", "notice.sent")), "notice.sent")
	}
	p.eventually("the mail", func() bool {
		if sent() == 0 {
			p.do(killer{}, "serve", "--idle", "1ms")
		}
		return sent() > 0
	})
	mails := b.has()
	if len(mails) < least || len(mails) > most || sent() != 1 {
		p.t.Errorf("got the mails %v, noted %d times, want %d to %d and one note", mails, sent(), least, most)
	}
	for _, id := range mails {
		if id != mails[0] || id == "" {
			p.t.Errorf("the mails are %v, want one Message-ID", mails)
		}
	}
	return len(mails)
}
