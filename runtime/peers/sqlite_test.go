package peers

import (
	"context"
	"database/sql"
	"path/filepath"
	"testing"
)

// fullSync opens an empty SQLite database for a peer. Its commits are synced before they return;
// all connections are asked whether that is so.
func fullSync(t testing.TB, connections int) *sql.DB {
	db, err := sql.Open("sqlite", "file:"+filepath.Join(t.TempDir(), "peer.sqlite")+
		"?_txlock=immediate&_pragma=busy_timeout(5000)&_pragma=foreign_keys(ON)&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	db.SetMaxOpenConns(connections)
	db.SetMaxIdleConns(connections)
	for range connections {
		conn, err := db.Conn(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		const full = 2
		var mode string
		var level int
		err = conn.QueryRowContext(context.Background(), "SELECT journal_mode, synchronous FROM pragma_journal_mode, pragma_synchronous").Scan(&mode, &level)
		if err != nil || mode != "wal" || level != full {
			t.Fatalf("a connection of the peer has journal mode %q and synchronous = %d: %v; wanted wal and %d", mode, level, err, full)
		}
	}
	return db
}
