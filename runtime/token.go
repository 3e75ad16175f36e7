package runtime

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base32"
	"encoding/hex"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"starling/lang/effect"
)

// Tokens gives callers names and capabilities of their own: who brings the secret of a token acts in its name. Secrets are not kept, only what recognises them. It is
// served by [Local] and by a client of its socket; what only reads a store knows bearers.
type Tokens interface {
	// AddToken makes a token. The secret is in this answer and nowhere else. A name that is taken is refused with usage.
	AddToken(ctx context.Context, r TokenRequest) (*Token, error)

	// ListTokens lists the tokens by name, without their secrets: all of them, or the one that the query names.
	ListTokens(ctx context.Context, q TokenQuery) ([]Token, error)

	// RemoveToken revokes a token: from the next request on its bearer is nobody.
	RemoveToken(ctx context.Context, name string) (*Token, error)
}

// Bearers knows who brings a secret.
type Bearers interface {
	// Bearer is who brings the secret of a token, or of an attempt in flight. That of an attempt of another store says nothing here: it is the zero Caller. Any other is
	// denied.
	Bearer(secret string) (Caller, error)
}

// Whoami knows who asks, and what that one may do: a process at the other end of a socket knows neither.
type Whoami interface {
	// Whoami is the caller as the engine sees it.
	Whoami(ctx context.Context) (*Caller, error)
}

// TokenRequest asks for a token.
type TokenRequest struct {
	Name string   `json:"name"` // in which its bearer acts
	Can  []string `json:"can"`  // capabilities, see [ParseCapabilities]
}

// checkTokenRequest gives what the token can do, if it may be made at all.
func checkTokenRequest(r TokenRequest) (Capability, error) {
	can, err := ParseCapabilities(r.Can)
	if err == nil && can == 0 {
		err = refuse(ErrUsage, "got no capabilities, want some of %s", strings.Join(CapabilityNames(), ", "))
	}
	if err == nil {
		err = effect.CheckName(r.Name)
	}
	if err != nil {
		hint := cmp.Or(AsRefusal(err).Help, "starling token add NAME --can read,signal; starling token --help says what the capabilities are")
		return 0, refuse(ErrUsage, "a token: %v", err).WithHelp("%s", hint)
	}
	return can, nil
}

// TokenQuery selects tokens.
type TokenQuery struct {
	Name string `json:"name,omitempty"` // "" for all
}

// Token is a name with capabilities.
type Token struct {
	Name   string    `json:"name"`
	Can    []string  `json:"can"`
	By     string    `json:"by"` // who made it
	At     time.Time `json:"at"`
	Secret string    `json:"secret,omitempty"` // only where it was just made
}

// tokenRow is a token as the store has it.
type tokenRow struct {
	Token
	SHA256 string `json:"sha256"` // of the secret, hexadecimal
}

// A secret tells which token's it is, so that recognising it needs one row: "st_NAME_" and 32 letters, 160 bits from the system's generator. Names may have "_".
// That of an attempt has the run in the place of the name.
const (
	secretPrefix = "st_"
	attemptMark  = "!"
)

var secretLetters = base32.NewEncoding(crockford).WithPadding(base32.NoPadding)

func newSecret(name string) string {
	b := make([]byte, 20)
	_, _ = rand.Read(b) // never fails since Go 1.24
	return secretPrefix + name + "_" + secretLetters.EncodeToString(b)
}

func digestOfSecret(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}

// AddToken makes a token.
func (e *Local) AddToken(ctx context.Context, r TokenRequest) (*Token, error) {
	if err := need(ctx, CanAdmin, "make tokens"); err != nil {
		return nil, err
	}
	can, err := checkTokenRequest(r)
	if err != nil {
		return nil, err
	}
	release := e.hold(prefixToken)
	defer release()
	if _, err := e.store.Get([]byte(prefixToken + r.Name)); !errors.Is(err, ErrNoKey) {
		return nil, errors.Join(err, refuse(ErrUsage, "there is a token %q already", r.Name).WithHelp("remove it first: starling token rm %s", r.Name))
	}
	t := Token{Name: r.Name, Can: can.Names(), By: CallerOf(ctx).Name, At: e.now()}
	secret := newSecret(t.Name)
	row, err := json.Marshal(tokenRow{t, digestOfSecret(secret)})
	if err != nil {
		return nil, err
	}
	t.Secret = secret
	return &t, e.commit(ctx, &Batch{Writes: []Write{{Key: []byte(prefixToken + r.Name), Value: row}}})
}

// RemoveToken revokes a token.
func (e *Local) RemoveToken(ctx context.Context, name string) (*Token, error) {
	if err := need(ctx, CanAdmin, "revoke tokens"); err != nil {
		return nil, err
	}
	release := e.hold(prefixToken)
	defer release()
	row, err := e.token(name)
	if err != nil {
		return nil, err
	}
	if row == nil {
		return nil, refuse(ErrUnknownToken, "no token %q", name).WithHelp("list them with: starling token ls")
	}
	return &row.Token, e.commit(ctx, &Batch{Writes: []Write{{Key: []byte(prefixToken + name), Value: nil}}})
}

// ListTokens lists the tokens.
func (r *reader) ListTokens(ctx context.Context, q TokenQuery) ([]Token, error) {
	if err := need(ctx, CanAdmin, "list tokens"); err != nil {
		return nil, err
	}
	list := []Token{}
	err := scan(r.store, prefixToken, func(_ string, v []byte) error {
		var row tokenRow
		if err := json.Unmarshal(v, &row); err != nil {
			return err
		}
		if q.Name == "" || q.Name == row.Name {
			list = append(list, row.Token)
		}
		return nil
	})
	return list, err
}

// token reads a row, nil where there is none.
func (r *reader) token(name string) (*tokenRow, error) {
	v, err := r.store.Get([]byte(prefixToken + name))
	if errors.Is(err, ErrNoKey) {
		return nil, nil
	}
	row := new(tokenRow)
	if err == nil {
		err = json.Unmarshal(v, row)
	}
	return row, err
}

// errBearer says no more than it must: not whether the name exists.
var errBearer = refuse(ErrDenied, "the token is not known: it was revoked, or never made").WithHelp("ask who keeps the store for another: starling token add NAME")

// Whoami is who asks.
func (r *reader) Whoami(ctx context.Context) (*Caller, error) {
	c := CallerOf(ctx)
	return &c, nil
}

// Bearer is who brings the secret of a token.
func (r *reader) Bearer(secret string) (Caller, error) {
	name, found := strings.CutPrefix(secret, secretPrefix)
	end := strings.LastIndexByte(name, '_')
	if !found || end < 0 {
		return Caller{}, errBearer
	}
	if run, attempt := strings.CutPrefix(name[:end], attemptMark); attempt {
		if _, err := r.store.Get(runKey(run)); errors.Is(err, ErrNoKey) {
			return Caller{}, nil
		}
		return Caller{}, errBearer
	}
	row, err := r.token(name[:end])
	if err != nil {
		return Caller{}, err
	}
	if row == nil || subtle.ConstantTimeCompare([]byte(row.SHA256), []byte(digestOfSecret(secret))) != 1 {
		return Caller{}, errBearer
	}
	can, err := ParseCapabilities(row.Can)
	return Caller{Name: row.Name, Can: can}, err
}

// Bearer is who brings the secret of a token, or that of an attempt in flight.
func (e *Local) Bearer(secret string) (Caller, error) {
	e.mu.Lock()
	c, ok := e.bearers[secret]
	e.mu.Unlock()
	if ok {
		return c, nil
	}
	return e.reader.Bearer(secret)
}

// attemptSecret makes the secret by which whoever works for an attempt is known, for as long as it is in flight. It is kept in memory only.
func (e *Local) attemptSecret(run string, st *step) (secret string, forget func()) {
	args, _ := st.Args.View()
	secret = newSecret(attemptMark + run)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.bearers[secret] = Caller{Name: "attempt:" + run + "@" + st.Step, Agent: agentName(args), Run: run}
	return secret, func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		delete(e.bearers, secret)
	}
}

// AddToken is refused.
func (*readOnly) AddToken(context.Context, TokenRequest) (*Token, error) { return nil, errReadOnly }

// RemoveToken is refused.
func (*readOnly) RemoveToken(context.Context, string) (*Token, error) { return nil, errReadOnly }

var (
	_, _ Tokens  = (*Local)(nil), (*readOnly)(nil)
	_, _ Bearers = (*Local)(nil), (*readOnly)(nil)
	_, _ Whoami  = (*Local)(nil), (*readOnly)(nil)
)
