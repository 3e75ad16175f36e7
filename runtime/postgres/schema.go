package postgres

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"starling/runtime"
)

// format is the version of the tables.
const format = 1

// leastServer is the oldest major version of PostgreSQL that is tried.
const leastServer = 13

// tables are made in one transaction, under a lock: two processes that make the same table at once
// fail in the catalogue, whatever "if not exists" promises. The key of the lock is "starling" in
// ASCII. Values are mostly packed already, so the server is not to try.
const tables = `
select pg_advisory_xact_lock(8319396776888069735);
create table if not exists starling_store (
	row boolean primary key default true check (row),
	id text not null,
	format integer not null,
	epoch bigint not null,
	sequence bigint not null,
	beat bigint not null,
	lease bigint not null,
	holder text not null,
	machine text not null,
	pid bigint not null,
	address text not null,
	moved text not null
);
create table if not exists starling_keys (k bytea primary key, v bytea not null);
alter table starling_keys alter column v set storage external;
create table if not exists starling_runs (run bytea primary key, at bigint not null, head bytea);
insert into starling_store (id, format, epoch, sequence, beat, lease, holder, machine, pid, address, moved)
values ('%s', %d, 0, 0, 0, 0, '', '', 0, '', '') on conflict do nothing;
`

// row is the row of starling_store.
type row struct {
	id       string
	format   uint32
	epoch    uint64
	sequence uint64
	beat     uint64
	lease    int64  // how long it lasts, ms
	holder   string // the owner's name of itself, "" for none
	machine  string // on which it runs, as Options.Machine
	pid      int
	address  string // where others reach the owner, "" for nowhere
	moved    string // the store that has taken this one's place, "" for none
}

const selectRow = "select id, format, epoch, sequence, beat, lease, holder, machine, pid, address, moved from starling_store"

// readRow reads the row, or fails with runtime.ErrNoStore.
func readRow(ctx context.Context, db querier) (r row, err error) {
	err = db.row(ctx, selectRow, nil, &r.id, &r.format, &r.epoch, &r.sequence, &r.beat, &r.lease, &r.holder, &r.machine, &r.pid, &r.address, &r.moved)
	if state(err) == undefinedTable || errors.Is(err, errNoRows) {
		return r, runtime.ErrNoStore
	}
	if state(err) == undefinedColumn { // of a format that has other columns
		return r, fmt.Errorf("%w than %d, which this version reads; its tables have other columns", runtime.ErrNewer, format)
	}
	if err == nil && r.format != format {
		err = fmt.Errorf("%w: it has the format %d, this version reads %d", runtime.ErrNewer, r.format, format)
	}
	return r, err
}

// querier is a connection or a pool of them.
type querier interface {
	row(ctx context.Context, sql string, args []any, into ...any) error
}

// makeTables makes what is missing.
func makeTables(ctx context.Context, c *conn) error {
	id := make([]byte, 16)
	rand.Read(id) // never fails
	return c.script(ctx, fmt.Sprintf(tables, hex.EncodeToString(id), format))
}

// prepareSession settles how a connection works: it waits for the disk whatever the server's
// default is, does not plan for tables that are empty now and large in a minute, and compiles no
// statement, which takes a hundred times as long as one of these.
func prepareSession(ctx context.Context, c *conn) error {
	if err := checkVersion(c); err != nil {
		return err
	}
	return c.script(ctx, "set synchronous_commit = on; set enable_seqscan = off; set jit = off; set plan_cache_mode = force_generic_plan")
}

// checkVersion refuses a server that is too old.
func checkVersion(c *conn) error {
	said := c.ParameterStatus("server_version")
	major, _ := strconv.Atoi(said[:len(said)-len(strings.TrimLeft(said, "0123456789"))])
	if major < leastServer {
		return unusable("the server is PostgreSQL %s; %d or later is needed", said, leastServer)
	}
	return nil
}

// checkPooler refuses a pooler that gives the connection to others between two transactions. Such a
// one is seen when a second client gets the server process of the first; a pooler is what answers
// in the name of a process that is another.
func checkPooler(ctx context.Context, first *conn, config *pgconn.Config) error {
	pid, err := serverProcess(ctx, first)
	if err != nil || pid == first.PID() {
		return err
	}
	second, err := dial(ctx, config)
	if err != nil {
		return err
	}
	defer hangUp(second)
	other, err := serverProcess(ctx, second)
	if err == nil && other == pid {
		err = unusable("there is a pooler in transaction mode before the server; name the server itself, or a pool in session mode")
	}
	return err
}

func serverProcess(ctx context.Context, c *conn) (pid uint32, err error) {
	err = c.ask(ctx, "select pg_backend_pid()", &pid)
	return pid, err
}

// checkServer warns of a server that loses what it has acknowledged, and refuses one that takes no
// changes.
func checkServer(ctx context.Context, c *conn, warn func(format string, args ...any)) error {
	var fsync, pages, recovering, only string
	err := c.ask(ctx, "select current_setting('fsync'), current_setting('full_page_writes'), pg_is_in_recovery()::text, current_setting('transaction_read_only')",
		&fsync, &pages, &recovering, &only)
	switch {
	case err != nil:
		return err
	case recovering == "true":
		return readOnly("the server is a replica, which takes no changes; name the primary, or several hosts and target_session_attrs=read-write")
	case only == "on":
		return readOnly("the user may only read there (default_transaction_read_only is on)")
	case fsync != "on" || pages != "on":
		warn("warning: fsync is %s and full_page_writes %s at the server: a power cut there can lose what was acknowledged, or all of the store", fsync, pages)
	}
	return nil
}
