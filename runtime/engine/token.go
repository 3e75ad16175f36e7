package engine

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

	"starling/lang/effect"
	"starling/runtime"
	"starling/runtime/journal"
	"starling/runtime/run"
)

// checkTokenRequest gives what the token can do, if it may be made at all.
func checkTokenRequest(r runtime.TokenRequest) (runtime.Capability, error) {
	can, err := runtime.ParseCapabilities(r.Can)
	if err == nil && can == 0 {
		err = runtime.Refusef(runtime.ErrUsage, "got no capabilities, want some of %s", strings.Join(runtime.CapabilityNames(), ", "))
	}
	if err == nil {
		err = effect.CheckName(r.Name)
	}
	if err != nil {
		hint := cmp.Or(runtime.AsRefusal(err).Help, "starling token add NAME --can read,signal; starling token --help says what the capabilities are")
		return 0, runtime.Refusef(runtime.ErrUsage, "a token: %v", err).WithHelp("%s", hint)
	}
	return can, nil
}

// tokenRow is a token as the store has it.
type tokenRow struct {
	runtime.Token
	SHA256 string `json:"sha256"` // of the secret, hexadecimal
}

// A secret tells which token's it is, so that recognising it needs one row: "st_NAME_" and 32
// letters, 160 bits from the system's generator. Names may have "_". That of an attempt has the run
// in the place of the name.
const (
	secretPrefix = "st_"
	attemptMark  = "!"
)

var secretLetters = base32.NewEncoding(journal.Crockford).WithPadding(base32.NoPadding)

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
func (e *Local) AddToken(ctx context.Context, r runtime.TokenRequest) (*runtime.Token, error) {
	if err := need(ctx, runtime.CanAdmin, "make tokens"); err != nil {
		return nil, err
	}
	can, err := checkTokenRequest(r)
	if err != nil {
		return nil, err
	}
	release := e.hold(journal.PrefixToken)
	defer release()
	if _, err := e.store.Get([]byte(journal.PrefixToken + r.Name)); !errors.Is(err, runtime.ErrNoKey) {
		return nil, errors.Join(err, runtime.Refusef(runtime.ErrUsage, "there is a token %q already", r.Name).WithHelp("remove it first: starling token rm %s", r.Name))
	}
	t := runtime.Token{Name: r.Name, Can: can.Names(), By: runtime.CallerOf(ctx).Name, At: e.now()}
	secret := newSecret(t.Name)
	row, err := json.Marshal(tokenRow{t, digestOfSecret(secret)})
	if err != nil {
		return nil, err
	}
	t.Secret = secret
	return &t, e.commit(ctx, &runtime.Batch{Writes: []runtime.Write{{Key: []byte(journal.PrefixToken + r.Name), Value: row}}})
}

// RemoveToken revokes a token.
func (e *Local) RemoveToken(ctx context.Context, name string) (*runtime.Token, error) {
	if err := need(ctx, runtime.CanAdmin, "revoke tokens"); err != nil {
		return nil, err
	}
	release := e.hold(journal.PrefixToken)
	defer release()
	row, err := e.token(name)
	if err != nil {
		return nil, err
	}
	if row == nil {
		return nil, runtime.Refusef(runtime.ErrUnknownToken, "no token %q", name).WithHelp("list them with: starling token ls")
	}
	return &row.Token, e.commit(ctx, &runtime.Batch{Writes: []runtime.Write{{Key: []byte(journal.PrefixToken + name), Value: nil}}})
}

// ListTokens lists the tokens.
func (r *reader) ListTokens(ctx context.Context, q runtime.TokenQuery) ([]runtime.Token, error) {
	if err := need(ctx, runtime.CanAdmin, "list tokens"); err != nil {
		return nil, err
	}
	list := []runtime.Token{}
	err := journal.Scan(r.store, journal.PrefixToken, func(_ string, v []byte) error {
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
	v, err := r.store.Get([]byte(journal.PrefixToken + name))
	if errors.Is(err, runtime.ErrNoKey) {
		return nil, nil
	}
	row := new(tokenRow)
	if err == nil {
		err = json.Unmarshal(v, row)
	}
	return row, err
}

// errBearer says no more than it must: not whether the name exists.
var errBearer = runtime.Refusef(runtime.ErrDenied, "the token is not known: it was revoked, or never made").WithHelp("ask who keeps the store for another: starling token add NAME")

// Whoami is who asks.
func (r *reader) Whoami(ctx context.Context) (*runtime.Caller, error) {
	c := runtime.CallerOf(ctx)
	return &c, nil
}

// Bearer is who brings the secret of a token.
func (r *reader) Bearer(secret string) (runtime.Caller, error) {
	name, found := strings.CutPrefix(secret, secretPrefix)
	end := strings.LastIndexByte(name, '_')
	if !found || end < 0 {
		return runtime.Caller{}, errBearer
	}
	if run, attempt := strings.CutPrefix(name[:end], attemptMark); attempt {
		if _, err := r.store.Get(journal.RunKey(run)); errors.Is(err, runtime.ErrNoKey) {
			return runtime.Caller{}, nil
		}
		return runtime.Caller{}, errBearer
	}
	row, err := r.token(name[:end])
	if err != nil {
		return runtime.Caller{}, err
	}
	if row == nil || subtle.ConstantTimeCompare([]byte(row.SHA256), []byte(digestOfSecret(secret))) != 1 {
		return runtime.Caller{}, errBearer
	}
	can, err := runtime.ParseCapabilities(row.Can)
	return runtime.Caller{Name: row.Name, Can: can}, err
}

// Bearer is who brings the secret of a token, or that of an attempt in flight.
func (e *Local) Bearer(secret string) (runtime.Caller, error) {
	e.mu.Lock()
	c, ok := e.bearers[secret]
	e.mu.Unlock()
	if ok {
		return c, nil
	}
	return e.reader.Bearer(secret)
}

// attemptSecret makes the secret by which whoever works for an attempt is known, for as long as it
// is in flight. It is kept in memory only.
func (e *Local) attemptSecret(run string, st *run.Step) (secret string, forget func()) {
	args, _ := st.Args.View()
	secret = newSecret(attemptMark + run)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.bearers[secret] = runtime.Caller{Name: "attempt:" + run + "@" + st.Step, Agent: journal.AgentName(args), Run: run}
	return secret, func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		delete(e.bearers, secret)
	}
}

// AddToken is refused.
func (*readOnly) AddToken(context.Context, runtime.TokenRequest) (*runtime.Token, error) {
	return nil, errReadOnly
}

// RemoveToken is refused.
func (*readOnly) RemoveToken(context.Context, string) (*runtime.Token, error) {
	return nil, errReadOnly
}

var (
	_, _ runtime.Tokens  = (*Local)(nil), (*readOnly)(nil)
	_, _ runtime.Bearers = (*Local)(nil), (*readOnly)(nil)
	_, _ runtime.Whoami  = (*Local)(nil), (*readOnly)(nil)
)
