package notify

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/smtp"
	"net/textproto"
	"net/url"
	"os"
	"time"

	"starling/lang/effect"
	"starling/stdlib/project"
	"starling/stdlib/redact"
	"starling/stdlib/secret"
)

// mailTime is how long a server may take for one mail.
const mailTime = 20 * time.Second

// post sends a notice once, by mail. Whoever is refused for good does not keep the others from
// having it, and is named in the end; where somebody cannot have it just now nobody is sent it, and
// all are tried again.
func post(ctx context.Context, a *effect.Attempt, n project.Notify, body string) effect.Reply {
	shown := new(redact.Redactor)
	password, err := passwordOf(ctx, a, n, shown)
	if err != nil {
		return failed(effect.Retryable, "%v", err)
	}
	text, err := letter(n, a.Key, body, time.Now())
	if err != nil {
		return failed(effect.Final, "the mail: %v", err)
	}
	ctx, cancel := context.WithTimeout(ctx, mailTime)
	defer cancel()
	refused, err := deliver(ctx, n, password, text)
	if err != nil {
		return failed(classOf(err), "%s", shown.Redact(fmt.Sprintf("the mail server at %s: %v", hostOf(n), err)))
	}
	if refused != nil {
		return failed(effect.Final, "%s", shown.Redact(fmt.Sprintf("the mail server at %s: %v", hostOf(n), refused)))
	}
	return effect.Reply{}
}

// passwordOf is the password of the mail server, "" without one. shown hides it, and what it is
// sent as.
func passwordOf(ctx context.Context, a *effect.Attempt, n project.Notify, shown *redact.Redactor) (string, error) {
	if n.Secret == "" {
		return "", nil
	}
	value, err := secret.Reveal(ctx, a, n.Secret)
	if err == nil {
		shown.Hide(n.Secret, value)
		shown.Hide(n.Secret, base64.StdEncoding.EncodeToString([]byte("\x00"+n.User+"\x00"+value)))
		shown.Hide(n.Secret, base64.StdEncoding.EncodeToString([]byte(value)))
	}
	return value, err
}

// hostOf is the mail server as it is shown.
func hostOf(n project.Notify) string {
	u, err := url.Parse(n.SMTP)
	if err != nil {
		return "?"
	}
	return u.Host
}

// classOf says whether what a server has refused is worth another try: replies of 5yz are for good,
// but those to a password (RFC 4954, 535), which somebody may mend.
func classOf(err error) effect.Failure {
	said := (*textproto.Error)(nil)
	if errors.As(err, &said) && said.Code >= 550 && said.Code < 560 {
		return effect.Final
	}
	return effect.Retryable
}

// deliver hands a mail over. refused is what the server has said of recipients that it does not
// take, when others have it.
func deliver(ctx context.Context, n project.Notify, password string, text []byte) (refused, err error) {
	c, err := dial(ctx, n)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	if n.User != "" {
		if err := c.Auth(authOf(c, n, password)); err != nil {
			return nil, err
		}
	}
	if err := c.Mail(project.Mailbox(n.From)); err != nil {
		return nil, err
	}
	taken := 0
	for _, to := range n.Mail {
		err := c.Rcpt(project.Mailbox(to))
		switch {
		case err == nil:
			taken++
		case classOf(err) == effect.Final:
			refused = errors.Join(refused, fmt.Errorf("%s: %w", to, err))
		default:
			return nil, fmt.Errorf("%s: %w", to, err)
		}
	}
	if taken == 0 {
		return nil, refused
	}
	w, err := c.Data()
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(text); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil { // the server has it from here on
		return nil, err
	}
	_ = c.Quit() // what it says of that changes nothing
	return refused, nil
}

// dial connects to the server, and has the connection encrypted unless it stays on this machine.
func dial(ctx context.Context, n project.Notify) (*smtp.Client, error) {
	u, err := url.Parse(n.SMTP)
	if err != nil {
		return nil, err
	}
	host, port := u.Hostname(), u.Port()
	config := &tls.Config{ServerName: host, MinVersion: tls.VersionTLS12}
	atOnce := u.Scheme == project.MailOverTLS
	if port == "" {
		if port = "587"; atOnce { // RFC 6409 and RFC 8314
			port = "465"
		}
	}
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", net.JoinHostPort(host, port))
	if err != nil {
		return nil, err
	}
	if at, ok := ctx.Deadline(); ok {
		err = conn.SetDeadline(at)
	}
	if atOnce {
		conn = tls.Client(conn, config)
	}
	var c *smtp.Client
	if err == nil {
		c, err = smtp.NewClient(conn, host)
	}
	if err != nil {
		conn.Close()
		return nil, err
	}
	if err := greet(c, u, config); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// greet says who calls, and begins TLS where the connection has none yet.
func greet(c *smtp.Client, u *url.URL, config *tls.Config) error {
	name, err := os.Hostname()
	if err != nil {
		name = "localhost"
	}
	if err := c.Hello(name); err != nil {
		return err
	}
	if u.Scheme == project.MailOverTLS {
		return nil
	}
	if ok, _ := c.Extension("STARTTLS"); ok {
		return c.StartTLS(config)
	}
	if ip := net.ParseIP(u.Hostname()); u.Hostname() == "localhost" || ip != nil && ip.IsLoopback() {
		return nil
	}
	return errors.New("it offers no STARTTLS, and nothing is sent in the clear; smtps:// is for servers that speak TLS at once")
}

// authOf is how the server is told the password: PLAIN, or LOGIN where it takes that alone.
func authOf(c *smtp.Client, n project.Notify, password string) smtp.Auth {
	_, offered := c.Extension("AUTH")
	if words := bytes.Fields([]byte(offered)); !contains(words, "PLAIN") && contains(words, "LOGIN") {
		return &login{n.User, password}
	}
	u, _ := url.Parse(n.SMTP) // it was parsed before
	return smtp.PlainAuth("", n.User, password, u.Hostname())
}

func contains(words [][]byte, word string) bool {
	for _, w := range words {
		if bytes.EqualFold(w, []byte(word)) {
			return true
		}
	}
	return false
}

// login is AUTH LOGIN, which has no specification of its own: a server asks for two lines.
type login struct{ user, password string }

// Start implements smtp.Auth. As smtp.PlainAuth, it tells nobody anything without TLS.
func (l *login) Start(s *smtp.ServerInfo) (string, []byte, error) {
	if ip := net.ParseIP(s.Name); !s.TLS && s.Name != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return "", nil, errors.New("unencrypted connection")
	}
	return "LOGIN", nil, nil
}

// Next implements smtp.Auth.
func (l *login) Next(asked []byte, more bool) ([]byte, error) {
	switch {
	case !more:
		return nil, nil
	case bytes.HasPrefix(bytes.ToLower(asked), []byte("user")):
		return []byte(l.user), nil
	default:
		return []byte(l.password), nil
	}
}
