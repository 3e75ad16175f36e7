package transfer

import (
	"cmp"
	"context"
	"path/filepath"

	"starling/runtime/badger"
	"starling/runtime/postgres"
)

// Folder is a store in a directory.
type Folder string

// Name implements Place.
func (f Folder) Name() string { return string(f) }

// State implements Place.
func (f Folder) State(context.Context) (moved string, err error) { return badger.MovedTo(string(f)) }

// Open implements Place.
func (f Folder) Open(context.Context) (Store, error) {
	s, err := badger.Open(string(f), badger.Options{Moved: true})
	if err != nil {
		return nil, err
	}
	return s, nil
}

// Retire implements Place.
func (f Folder) Retire(_ context.Context, sequence uint64, to string) error {
	return badger.Retire(string(f), sequence, to)
}

// overlaps tells whether another place is this folder, or one of the two is within the other,
// whatever links lead there.
func (f Folder) overlaps(other Place) bool {
	to, ok := other.(Folder)
	if !ok || f == to {
		return false // of one name: there is a better word for it
	}
	a, b := resolved(string(f)), resolved(string(to))
	return within(a, b) || within(b, a)
}

func within(path, folder string) bool {
	rest, err := filepath.Rel(folder, path)
	return err == nil && filepath.IsLocal(rest)
}

// resolved is a path without links, as far as there is something.
func resolved(path string) string {
	real, err := filepath.EvalSymlinks(path)
	if up := filepath.Dir(path); err != nil && up != path {
		return filepath.Join(resolved(up), filepath.Base(path))
	}
	return cmp.Or(real, path)
}

// Database is a store at the address of a PostgreSQL database, with its secrets.
type Database struct {
	Address string
	Warn    func(format string, args ...any) // told what its operator should know
}

// Name implements Place.
func (d Database) Name() string { return postgres.Name(d.Address) }

// State implements Place.
func (d Database) State(ctx context.Context) (moved string, err error) {
	return postgres.MovedTo(ctx, d.Address)
}

// Open implements Place.
func (d Database) Open(ctx context.Context) (Store, error) {
	s, err := postgres.Open(ctx, d.Address, postgres.Options{Moved: true, Warn: d.Warn})
	if err != nil {
		return nil, err
	}
	return s, nil
}

// Retire implements Place.
func (d Database) Retire(ctx context.Context, sequence uint64, to string) error {
	return postgres.Retire(ctx, d.Address, sequence, to)
}
