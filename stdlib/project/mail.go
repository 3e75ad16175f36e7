package project

import (
	"fmt"
	"net/mail"
	"net/url"
	"strings"

	"starling/lang/diagnostic"
)

// The schemes of mail servers: TLS is begun by STARTTLS, or at once.
const (
	MailWithSTARTTLS = "smtp"
	MailOverTLS      = "smtps"
)

// Mailbox is the address in "Ann <ann@example.org>", or in the address alone.
func Mailbox(text string) string {
	a, err := mail.ParseAddress(text)
	if err != nil {
		return ""
	}
	return a.Address
}

// address is a text as a header has it, "" for what is no address.
func address(text string) string {
	a, err := mail.ParseAddress(text)
	if err != nil || strings.ContainsAny(a.Address, "\r\n\x00 ") {
		return ""
	}
	return a.String()
}

// mail reads what says how somebody is sent mail.
func (r *reader) mail(n *Notify, t table) {
	if _, given := t.values["mail"]; !given {
		return
	}
	n.Mail = r.strings(t, "mail")
	if one, is := t.values["mail"].([]any); is && len(one) == 0 {
		r.refuse(t.at("mail"), "nobody", `addresses, such as ["ann@example.org"]`, "")
	}
	const form = `an address, such as "ann@example.org" or "Ann <ann@example.org>"`
	for i, text := range n.Mail {
		if n.Mail[i] = address(text); n.Mail[i] == "" {
			r.refuse(t.element("mail", i), fmt.Sprintf("%q", text), form, "")
		}
	}
	for _, key := range []string{"from", "smtp"} {
		if _, given := t.values[key]; !given {
			r.complain(t.path, diagnostic.Diagnostic{Message: key + " is missing, which mail needs",
				Hint: `write from = "starling@example.org" and smtp = "smtp://mail.example.org:587"`})
		}
	}
	if text, ok := r.string(t, "from"); ok {
		if n.From = address(text); n.From == "" {
			r.refuse(t.at("from"), fmt.Sprintf("%q", text), form, "")
		}
	}
	var ok bool
	if n.SMTP, ok = r.string(t, "smtp"); ok {
		u, err := url.Parse(n.SMTP)
		if err != nil || u.Scheme != MailWithSTARTTLS && u.Scheme != MailOverTLS || u.Hostname() == "" || u.User != nil || strings.Trim(u.Path, "/")+u.RawQuery != "" {
			r.refuse(t.at("smtp"), fmt.Sprintf("%q", n.SMTP), `"smtp://HOST:587" for STARTTLS, or "smtps://HOST:465"`, "user and secret say who sends")
		}
	}
	n.User, _ = r.string(t, "user")
	if n.Server, ok = r.string(t, "server"); ok {
		r.checkAddress(t.at("server"), n.Server, n.Server)
	}
	if (n.User == "") != (n.Secret == "") {
		r.complain(t.path, diagnostic.Diagnostic{Message: "user and secret, the password, go together", Hint: "leave both out for a server that takes mail from this machine"})
	}
}
