package notify_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"io"
	"mime"
	"mime/quotedprintable"
	"net"
	"net/http"
	"net/http/httptest"
	"net/mail"
	"net/textproto"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"starling/lang/effect"
)

// certificate is one for 127.0.0.1, which this process trusts: TestMain has seen to it.
var certificate tls.Certificate

// trustOurs makes the certificate, and has the machine's trust be in it.
func trustOurs() (remove func()) {
	s := httptest.NewTLSServer(http.NotFoundHandler())
	defer s.Close()
	certificate = s.TLS.Certificates[0]
	dir, err := os.MkdirTemp("", "")
	file := filepath.Join(dir, "roots.pem")
	if err == nil {
		err = os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}), 0o600)
	}
	if err == nil {
		err = os.Setenv("SSL_CERT_FILE", file)
	}
	if err != nil {
		panic(err)
	}
	return func() { os.RemoveAll(dir) }
}

// post office is a mail server (RFC 5321) that answers some lines as it is told.
type postOffice struct {
	answers map[string]string // what begins a line, and what is answered to it
	extras  []string          // what it offers
	atOnce  bool              // TLS from the start
	address string

	mu   sync.Mutex
	said []string // what it was told, without what was sent in the clear before TLS
	mail string   // what came as data
}

func (o *postOffice) open(t *testing.T) *postOffice {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	if o.atOnce {
		l = tls.NewListener(l, &tls.Config{Certificates: []tls.Certificate{certificate}})
	}
	o.address = l.Addr().String()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go o.serve(c)
		}
	}()
	return o
}

func (o *postOffice) serve(c net.Conn) {
	defer func() { c.Close() }()
	r, encrypted := bufio.NewReader(c), o.atOnce
	if greeting, ok := o.answers["CONNECT"]; ok {
		io.WriteString(c, greeting)
		return
	}
	fmt.Fprintf(c, "220 ready\r\n")
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			return
		}
		line = strings.TrimRight(line, "\r\n")
		word, _, _ := strings.Cut(strings.ToUpper(line), " ")
		answer := map[string]string{"EHLO": o.offer(encrypted), "DATA": "354 go on", "AUTH": "235 welcome", "STARTTLS": "220 begin", "QUIT": "221 bye"}[word]
		if answer == "" {
			answer = "250 fine"
		}
		for begin, other := range o.answers {
			if strings.HasPrefix(line, begin) {
				answer = other
			}
		}
		o.mu.Lock()
		o.said = append(o.said, line)
		o.mu.Unlock()
		if answer == "HANG" {
			io.Copy(io.Discard, r)
			return
		}
		fmt.Fprintf(c, "%s\r\n", answer)
		switch {
		case word == "STARTTLS" && answer[0] == '2':
			s := tls.Server(c, &tls.Config{Certificates: []tls.Certificate{certificate}})
			c, r, encrypted = s, bufio.NewReader(s), true
			o.mu.Lock()
			o.said = nil
			o.mu.Unlock()
		case word == "DATA" && answer[0] == '3':
			text, err := io.ReadAll(textproto.NewReader(r).DotReader())
			if err != nil {
				return
			}
			o.mu.Lock()
			o.mail = string(text)
			o.mu.Unlock()
			end, ok := o.answers["END"]
			if !ok {
				end = "250 taken"
			}
			fmt.Fprintf(c, "%s\r\n", end)
		}
	}
}

func (o *postOffice) offer(encrypted bool) string {
	list := []string{"here"}
	for _, x := range o.extras {
		if x != "STARTTLS" || !encrypted {
			list = append(list, x)
		}
	}
	for i := range list {
		list[i] = "250-" + list[i]
	}
	list[len(list)-1] = "250 " + list[len(list)-1][4:]
	return strings.Join(list, "\r\n")
}

// gateNotice is a notice of a gate whose prompt means harm.
const gateNotice = `{"type":"gate.opened","at":"2026-11-25T12:00:00Z","run":"r1","script":"a.star","started_by":"local:ann",
"gate":{"address":"r1/ship","prompt":"Grüße, ship\r\nBcc: eve@example.org\n\n.\nQUIT\u001b[2J?","options":[{"name":"approve","description":"ship it"},{"name":"reject"}],"answer_with":"starling approve r1/ship"}}`

// project is one that sends mail.
func mailTo(o *postOffice, more string) string {
	scheme := "smtp"
	if o.atOnce {
		scheme = "smtps"
	}
	return fmt.Sprintf("[secrets.hook]\nenv = 'HOOK_KEY'\n[notify.ops]\nmail = ['Ann <ann@example.org>', 'bob@example.org']\nfrom = 'starling@example.net'\nsmtp = '%s://%s'\n%s", scheme, o.address, more)
}

const withPassword = "user = 'star'\nsecret = 'hook'\nserver = 'https://starling.example'\n"

// A mail has what is asked and how it is answered; nothing that a script writes is more than text.
func TestMail(t *testing.T) {
	plain := base64.StdEncoding.EncodeToString([]byte("\x00star\x00" + hookKey))
	for name, c := range map[string]struct {
		office *postOffice
		more   string
		auth   string
	}{
		"in the clear on this machine": {office: &postOffice{}},
		"STARTTLS":                     {office: &postOffice{extras: []string{"STARTTLS", "AUTH PLAIN LOGIN", "8BITMIME"}}, more: withPassword, auth: "AUTH PLAIN " + plain},
		"TLS at once":                  {office: &postOffice{extras: []string{"AUTH PLAIN"}, atOnce: true}, more: withPassword, auth: "AUTH PLAIN " + plain},
		"AUTH LOGIN": {office: &postOffice{extras: []string{"STARTTLS", "AUTH LOGIN"}, answers: map[string]string{"AUTH": "334 VXNlcm5hbWU6",
			base64.StdEncoding.EncodeToString([]byte("star")): "334 UGFzc3dvcmQ6", base64.StdEncoding.EncodeToString([]byte(hookKey)): "235 welcome"}}, more: withPassword, auth: "AUTH LOGIN"},
	} {
		t.Run(name, func(t *testing.T) {
			o := c.office
			if got := show(tell(t, mailTo(o.open(t), c.more), gateNotice)); got != "" {
				t.Fatal(got)
			}
			said := "\n" + strings.Join(o.said, "\n") + "\n"
			for _, want := range []string{"MAIL FROM:<starling@example.net>", "RCPT TO:<ann@example.org>", "RCPT TO:<bob@example.org>", c.auth} {
				if !strings.Contains(said, "\n"+want) {
					t.Errorf("it was not told %s, but %s", want, said)
				}
			}
			if strings.Contains(said, "eve@") || strings.Count(said, "\nQUIT") != 1 {
				t.Errorf("the prompt has spoken: %s", said)
			}
			judgeMail(t, o.mail, c.more != "")
		})
	}
}

func judgeMail(t *testing.T, text string, elsewhere bool) {
	t.Helper()
	m, err := mail.ReadMessage(strings.NewReader(text))
	if err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	subject, err := new(mime.WordDecoder).DecodeHeader(m.Header.Get("Subject"))
	if want := "starling: Grüße, ship Bcc: eve@example.org . QUIT [2J?"; err != nil || subject != want {
		t.Errorf("the subject is %q, want %q (%v)", subject, want, err)
	}
	if m.Header.Get("Bcc") != "" || m.Header.Get("Message-Id") != "<run1_7_ops@example.net>" || m.Header.Get("To") != `"Ann" <ann@example.org>, <bob@example.org>` {
		t.Errorf("the headers are %v", m.Header)
	}
	for line := range strings.SplitSeq(text, "\n") {
		if len(line) > 90 {
			t.Errorf("a line of %d bytes: %s", len(line), line)
		}
	}
	body, err := io.ReadAll(quotedprintable.NewReader(m.Body))
	if err != nil {
		t.Fatal(err)
	}
	command := "starling approve r1/ship"
	if elsewhere {
		command = "starling --server https://starling.example approve r1/ship"
	}
	for _, want := range []string{"Grüße, ship\nBcc: eve@example.org\n\n.\nQUIT[2J?\n", "  approve  ship it\n  reject\n", "Answer with\n\n  " + command + "\n", "r1 of a.star, started by local:ann"} {
		if !strings.Contains(strings.ReplaceAll(string(body), "\r\n", "\n"), want) {
			t.Errorf("there is no %q in %s", want, body)
		}
	}
}

// What a server says decides whether a mail is sent again. Where one cannot have it just now nobody
// is sent it, so that no other has it twice; nothing of the password is in what is told.
func TestMailRefused(t *testing.T) {
	plain := base64.StdEncoding.EncodeToString([]byte("\x00star\x00" + hookKey))
	for name, c := range map[string]struct {
		answers map[string]string
		extras  []string
		more    string
		want    string
		sent    bool
	}{
		"later":            {answers: map[string]string{"RCPT TO:<bob": "451 4.7.1 greylisted"}, want: "retryable the mail server at HOST: <bob@example.org>: 451 \"4.7.1 greylisted\""},
		"one is unknown":   {answers: map[string]string{"RCPT TO:<bob": "550 5.1.1 no such user"}, want: "final the mail server at HOST: <bob@example.org>: 550 \"5.1.1 no such user\"", sent: true},
		"all are unknown":  {answers: map[string]string{"RCPT": "550 nobody"}, want: "final the mail server at HOST: \"Ann\" <ann@example.org>: 550 \"nobody\"\n<bob@example.org>: 550 \"nobody\""},
		"it is spam":       {answers: map[string]string{"END": "554 5.7.1 spam"}, want: "final the mail server at HOST: 554 \"5.7.1 spam\"", sent: true},
		"it is full":       {answers: map[string]string{"END": "452 4.3.1 full"}, want: "retryable the mail server at HOST: 452 \"4.3.1 full\"", sent: true},
		"it is busy":       {answers: map[string]string{"CONNECT": "421 too many\r\n"}, want: "retryable the mail server at HOST: 421 \"too many\""},
		"it says nothing":  {answers: map[string]string{"CONNECT": ""}, want: "retryable the mail server at HOST: EOF"},
		"no mail server":   {answers: map[string]string{"CONNECT": "HTTP/1.1 400 Bad Request\r\n"}, want: "retryable the mail server at HOST: short response: \"HTTP/1.1 400 Bad Request\""},
		"a wrong password": {answers: map[string]string{"AUTH": "535 5.7.8 not " + plain + " nor " + hookKey}, extras: []string{"STARTTLS", "AUTH PLAIN"}, more: withPassword, want: "retryable the mail server at HOST: 535 \"5.7.8 not [hook] nor [hook]\""},
	} {
		t.Run(name, func(t *testing.T) {
			o := (&postOffice{answers: c.answers, extras: c.extras}).open(t)
			got := show(tell(t, mailTo(o, c.more), gateNotice))
			if got = strings.ReplaceAll(got, o.address, "HOST"); got != c.want || (o.mail != "") != c.sent {
				t.Errorf("got  %s\nwant %s; it has mail: %t", got, c.want, o.mail != "")
			}
		})
	}
}

// A server that hangs holds nothing up for longer than its time.
func TestMailServerHangs(t *testing.T) {
	o := (&postOffice{answers: map[string]string{"MAIL": "HANG"}}).open(t)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if r := tellWithin(ctx, t, mailTo(o, ""), gateNotice); r.Class != effect.Retryable || r.Err == nil || !strings.Contains(r.Err.Message, "i/o timeout") {
		t.Errorf("got %+v", r)
	}
}
