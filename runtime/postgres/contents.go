package postgres

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"starling/runtime"
)

// Contents keeps contents by their hashes in a table of its own, beside the store of the same
// schema if there is one. It has no owner: any number of processes on any machine write and read
// it, for what is written under a hash is always the same. It connects when it is asked for
// something first. Nothing drops what it has.
type Contents struct {
	address string
	warn    func(format string, args ...any)

	mu   sync.Mutex // guards what follows
	pool *pool
}

// NewContents makes them for an address, as [Open] takes it. warn is told what operators should
// know, once.
func NewContents(address string, warn func(format string, args ...any)) *Contents {
	return &Contents{address: address, warn: warn}
}

// contentsTable is made by the first who keeps something. The time is for who wants to drop what is
// old.
const contentsTable = `
select pg_advisory_xact_lock(8319396776888069735);
create table if not exists starling_contents (hash text primary key, content bytea not null, made timestamptz not null default now());
alter table starling_contents alter column content set storage external;
`

// Put keeps a content, and returns when it is durable.
func (c *Contents) Put(ctx context.Context, hash string, content []byte) error {
	return c.do(ctx, func(p *pool) error {
		put := func() error {
			_, err := p.exec(ctx, "insert into starling_contents (hash, content) values ($1, $2) on conflict (hash) do nothing", hash, content)
			return err
		}
		err := put()
		if state(err) != undefinedTable {
			return err
		}
		if err = p.do(ctx, func(c *conn) error { return c.script(ctx, contentsTable) }); err != nil {
			return err
		}
		return put()
	})
}

// Get gives a content that was kept, or fails with runtime.ErrNoKey.
func (c *Contents) Get(ctx context.Context, hash string) (content []byte, err error) {
	err = c.do(ctx, func(p *pool) error {
		err := p.row(ctx, "select content from starling_contents where hash = $1", []any{hash}, &content)
		if state(err) == undefinedTable || errors.Is(err, errNoRows) {
			return runtime.ErrNoKey
		}
		return err
	})
	return content, err
}

// Name is the address without its secrets.
func (c *Contents) Name() string { return Name(c.address) }

// Look fails where the server cannot be used.
func (c *Contents) Look(ctx context.Context) error {
	return c.do(ctx, func(p *pool) error {
		return p.do(ctx, func(c *conn) error { return c.Ping(ctx) })
	})
}

// Close ends its connections.
func (c *Contents) Close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.pool != nil {
		c.pool.Close()
	}
	c.pool = nil
}

// do has something done with connections, and tells in one sentence what went wrong. Where the
// server is away for a moment it is done again: all of it may be.
func (c *Contents) do(ctx context.Context, call func(*pool) error) error {
	var said error // what the server said last, which tells more than that time was up
	for pause := 10 * time.Millisecond; ; pause = min(2*pause, 500*time.Millisecond) {
		p, err := c.connected(ctx)
		if err == nil {
			err = call(p)
		}
		if err == nil || errors.Is(err, runtime.ErrNoKey) {
			return err
		}
		if said == nil || ctx.Err() == nil {
			said = err
		}
		if !passing(err) || ctx.Err() != nil {
			return explained(c.address, said)
		}
		sleep(ctx, pause)
	}
}

func (c *Contents) connected(ctx context.Context) (*pool, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.pool != nil {
		return c.pool, nil
	}
	config, err := configOf(c.address)
	if err != nil {
		return nil, err
	}
	if err := c.greet(ctx, config); err != nil {
		return nil, err
	}
	c.pool, err = newPool(config, readers)
	return c.pool, err
}

// greet looks at the server once. Of one that takes no changes it may still be read.
func (c *Contents) greet(ctx context.Context, config *pgconn.Config) error {
	first, err := dial(ctx, config)
	if err != nil {
		return err
	}
	defer hangUp(first)
	if err := checkVersion(first); err != nil {
		return err
	}
	if err := checkPooler(ctx, first, config); err != nil {
		return err
	}
	err = checkServer(ctx, first, c.warn)
	if r := (*runtime.Refusal)(nil); errors.As(err, &r) && r.Kind == runtime.ErrKindReadOnly {
		return nil
	}
	return err
}
