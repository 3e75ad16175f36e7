package runtime

import (
	"context"
	"time"
)

// Tokens gives callers names and capabilities of their own: who brings the secret of a token acts
// in its name. Secrets are not kept, only what recognises them. It is served by engine.Local and by
// a client of its socket; what only reads a store knows bearers.
type Tokens interface {
	// AddToken makes a token. The secret is in this answer and nowhere else. A name that is taken
	// is refused with usage.
	AddToken(ctx context.Context, r TokenRequest) (*Token, error)

	// ListTokens lists the tokens by name, without their secrets: all of them, or the one that the
	// query names.
	ListTokens(ctx context.Context, q TokenQuery) ([]Token, error)

	// RemoveToken revokes a token: from the next request on its bearer is nobody.
	RemoveToken(ctx context.Context, name string) (*Token, error)
}

// Bearers knows who brings a secret.
type Bearers interface {
	// Bearer is who brings the secret of a token, or of an attempt in flight. That of an attempt of
	// another store says nothing here: it is the zero Caller. Any other is denied.
	Bearer(secret string) (Caller, error)
}

// Whoami knows who asks, and what that one may do: a process at the other end of a socket knows
// neither.
type Whoami interface {
	// Whoami is the caller as the engine sees it.
	Whoami(ctx context.Context) (*Caller, error)
}

// TokenRequest asks for a token.
type TokenRequest struct {
	Name string   `json:"name"` // in which its bearer acts
	Can  []string `json:"can"`  // capabilities, see [ParseCapabilities]
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
