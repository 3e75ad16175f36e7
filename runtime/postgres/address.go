package postgres

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"
	"syscall"

	"github.com/jackc/pgx/v5/pgconn"

	"starling/runtime"
)

// IsAddress tells whether a store's name is the address of a database.
func IsAddress(store string) bool {
	return strings.HasPrefix(store, "postgres://") || strings.HasPrefix(store, "postgresql://")
}

// Name is an address as people may see it: without what is after the user's name, and without those
// parameters that are secrets. Two addresses of one name are one store.
func Name(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return "postgres://..." // what it holds cannot be told apart
	}
	u.Scheme, u.Fragment = "postgres", ""
	if u.User != nil {
		u.User = url.User(u.User.Username())
	}
	kept := url.Values{}
	for _, known := range []string{"search_path", "host", "port", "dbname", "user", "service"} {
		if v, ok := u.Query()[known]; ok {
			kept[known] = v
		}
	}
	u.RawQuery = kept.Encode()
	return u.String()
}

// WithoutPassword is an address that people may see and use, if they have the password elsewhere.
func WithoutPassword(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return Name(address)
	}
	if u.User != nil {
		u.User = url.User(u.User.Username())
	}
	q := u.Query()
	q.Del("password")
	q.Del("sslpassword")
	u.RawQuery = q.Encode()
	return u.String()
}

// secretsOf are the passwords in an address, as they stand there and as they are meant.
func secretsOf(address string) []string {
	var out []string
	u, err := url.Parse(address)
	if err != nil {
		return nil
	}
	if password, ok := u.User.Password(); ok && password != "" {
		_, written, _ := strings.Cut(u.User.String(), ":")
		out = append(out, password, written)
	}
	for _, key := range []string{"password", "sslpassword"} {
		out = append(out, u.Query()[key]...)
	}
	return slices.DeleteFunc(out, func(s string) bool { return s == "" })
}

// SQLSTATEs that are told apart: https://www.postgresql.org/docs/current/errcodes-appendix.html
const (
	undefinedTable   = "42P01"
	undefinedColumn  = "42703"
	noPrivilege      = "42501"
	noSchema         = "3F000"
	noDatabase       = "3D000"
	wrongPassword    = "28P01"
	notAuthorized    = "28000"
	diskFull         = "53100"
	readOnlyNow      = "25006"
	shutdownByAdmin  = "57P01"
	shutdownByCrash  = "57P02"
	cannotConnectNow = "57P03"
	tooMany          = "53300"
	serialization    = "40001"
	deadlock         = "40P01"
)

// state is the SQLSTATE of an error, "" for one that no server has sent.
func state(err error) string {
	if e := (*pgconn.PgError)(nil); errors.As(err, &e) {
		return e.Code
	}
	return ""
}

// passing tells whether the same may succeed a moment later, on another connection. Whether it was
// done is not known then.
func passing(err error) bool {
	switch code := state(err); code {
	case shutdownByAdmin, shutdownByCrash, cannotConnectNow, tooMany, readOnlyNow, serialization, deadlock:
		return true
	case "":
		return err != nil && !ours(err)
	default:
		return strings.HasPrefix(code, "08")
	}
}

// ours tells whether an error is no trouble with a connection but an answer that was understood.
func ours(err error) bool {
	for _, known := range []error{runtime.ErrNoKey, runtime.ErrNoStore, runtime.ErrNewer, runtime.ErrDamaged, runtime.ErrLost, runtime.ErrLocked, runtime.ErrFailed, errNoRows, errShape} {
		if errors.Is(err, known) {
			return true
		}
	}
	return errors.As(err, new(*runtime.Refusal)) || errors.As(err, new(*pgconn.ParseConfigError))
}

// unusable refuses a server that cannot hold a store.
func unusable(format string, args ...any) *runtime.Refusal {
	return runtime.Refuse(runtime.ErrKindNotAStore, "", format, args...)
}

func readOnly(format string, args ...any) *runtime.Refusal {
	return runtime.Refuse(runtime.ErrKindReadOnly, "", format, args...)
}

// explained makes one sentence of what went wrong with the store of an address, without its
// secrets.
func explained(address string, err error) error {
	if err == nil {
		return nil
	}
	r := (*runtime.Refusal)(nil)
	name := Name(address)
	switch {
	case errors.As(err, &r):
		return runtime.Refuse(r.Kind, r.Help, "%s: %s", name, r.Message)
	case errors.Is(err, runtime.ErrNoStore), errors.Is(err, runtime.ErrNewer), errors.Is(err, runtime.ErrLocked), errors.Is(err, runtime.ErrDamaged),
		errors.Is(err, runtime.ErrLost), errors.Is(err, runtime.ErrFenced):
		return fmt.Errorf("%s: %w", name, err)
	}
	kind, help, said := reason(err)
	for _, secret := range secretsOf(address) {
		said = strings.ReplaceAll(said, secret, "...")
	}
	return runtime.Refuse(kind, help, "%s: %s", name, said)
}

// reason says in one sentence why a server cannot be used.
func reason(err error) (kind runtime.ErrorKind, help, said string) {
	kind = runtime.ErrStoreUnreachable
	server, parse := (*pgconn.PgError)(nil), (*pgconn.ParseConfigError)(nil)
	dns, cert, unknown, host := (*net.DNSError)(nil), (*tls.CertificateVerificationError)(nil), x509.UnknownAuthorityError{}, x509.HostnameError{}
	switch {
	case errors.As(err, &server):
		return reasonOfServer(server)
	case errors.As(err, &parse):
		return runtime.ErrUsage, "such as postgres://USER@HOST:5432/DATABASE, with the password in PGPASSWORD or ~/.pgpass",
			"it is no address of a database: " + lastLine(cmp.Or(errors.Unwrap(parse), err))
	case errors.As(err, &dns):
		return kind, "", fmt.Sprintf("the host %s is not known", dns.Name)
	case errors.Is(err, syscall.ECONNREFUSED):
		return kind, "is the server running, and does it listen there?", "nothing answers there: connection refused"
	case errors.As(err, &cert), errors.As(err, &unknown), errors.As(err, &host):
		return kind, "sslrootcert=FILE names who has signed it", "the server's certificate is not believed: " + lastLine(err)
	case pgconn.Timeout(err):
		return kind, "", "it did not answer in time"
	}
	return kind, "", lastLine(err)
}

// reasonOfServer says what a server has answered.
func reasonOfServer(e *pgconn.PgError) (kind runtime.ErrorKind, help, said string) {
	said = "the server says: " + e.Message
	switch e.Code {
	case wrongPassword, notAuthorized:
		return runtime.ErrStoreUnreachable, "the password is read from PGPASSWORD or ~/.pgpass where the address has none", said
	case noDatabase:
		return runtime.ErrStoreUnreachable, "make it with: createdb DATABASE", said
	case noSchema:
		return runtime.ErrStoreUnreachable, "make the schema with CREATE SCHEMA, or name another with search_path", said
	case noPrivilege:
		return runtime.ErrKindReadOnly, "the owner of a store needs CREATE on the schema, and SELECT, INSERT, UPDATE and DELETE on the tables", said
	case readOnlyNow:
		return runtime.ErrKindReadOnly, "", said
	case diskFull:
		return runtime.ErrKindFull, "nothing that was acknowledged is lost: free some space at the server and start again", said
	}
	return runtime.ErrStoreUnreachable, "", said
}

// lastLine is the end of an error that tells of several tries.
func lastLine(err error) string {
	lines := strings.Split(strings.TrimSpace(err.Error()), "\n")
	return strings.TrimSpace(lines[len(lines)-1])
}
