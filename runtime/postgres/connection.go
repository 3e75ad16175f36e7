package postgres

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/puddle/v2"
)

// conn is a connection, with the statements that it has prepared. One goroutine uses it at a time.
type conn struct {
	*pgconn.PgConn
	prepared map[string]*pgconn.StatementDescription // by their text
}

func dial(ctx context.Context, config *pgconn.Config) (*conn, error) {
	c, err := pgconn.ConnectConfig(ctx, config)
	if err != nil {
		return nil, err
	}
	return &conn{c, map[string]*pgconn.StatementDescription{}}, nil
}

// query sends a statement, which is prepared when it comes for the first time. Its rows must be
// closed.
func (c *conn) query(ctx context.Context, sql string, args ...any) (*rows, error) {
	values, types := encoded(args)
	statement, ok := c.prepared[sql]
	if !ok {
		var err error
		if statement, err = c.Prepare(ctx, "starling"+strconv.Itoa(len(c.prepared)), sql, types); err != nil {
			return nil, err
		}
		c.prepared[sql] = statement
	}
	return &rows{c.ExecStatement(ctx, statement, values, allBinary, allBinary)}, nil
}

// ask sends a statement that is not prepared, for a server of which is not known yet whether it is
// the same one for the next statement, and reads the only row.
func (c *conn) ask(ctx context.Context, sql string, into ...any) error {
	return one(&rows{c.ExecParams(ctx, sql, nil, nil, nil, allBinary)}, into)
}

// script sends statements whose rows nobody wants.
func (c *conn) script(ctx context.Context, sql string) error {
	_, err := c.Exec(ctx, sql).ReadAll()
	return err
}

// row reads the only row of a statement, or fails with errNoRows.
func (c *conn) row(ctx context.Context, sql string, args []any, into ...any) error {
	r, err := c.query(ctx, sql, args...)
	if err != nil {
		return err
	}
	return one(r, into)
}

// errNoRows is the error of a statement that has found nothing.
var errNoRows = errors.New("nothing was found")

func one(r *rows, into []any) error {
	err := errNoRows
	if r.NextRow() {
		err = r.scan(into...)
	}
	if _, failed := r.Close(); failed != nil {
		err = failed
	}
	return err
}

// rows are what a statement gives. What their reader gives is valid until it is asked again; what
// scan gives stays.
type rows struct{ *pgconn.ResultReader }

// errShape is the error of a column that is not of the type that it is read as.
var errShape = errors.New("a column has another type")

// scan reads the row at hand into pointers to []byte, string and integers.
func (r *rows) scan(into ...any) error {
	values := r.Values()
	if len(values) != len(into) {
		return fmt.Errorf("%w: there are %d, want %d", errShape, len(values), len(into))
	}
	for i, to := range into {
		if err := decode(values[i], to); err != nil {
			return fmt.Errorf("%w: column %d", err, i+1)
		}
	}
	return nil
}

// pool has connections for a number of goroutines. Its methods may be called by many at once.
type pool struct{ *puddle.Pool[*conn] }

// restless is how long a connection may lie idle before it is asked whether it is still there.
const restless = time.Second

// newPool makes a pool of at most so many connections, none of which it makes before it is needed.
func newPool(config *pgconn.Config, most int32) (*pool, error) {
	p, err := puddle.NewPool(&puddle.Config[*conn]{
		MaxSize: most,
		Constructor: func(ctx context.Context) (*conn, error) {
			c, err := dial(ctx, config)
			if err != nil {
				return nil, err
			}
			if err := prepareSession(ctx, c); err != nil {
				hangUp(c)
				return nil, err
			}
			return c, nil
		},
		Destructor: hangUp,
	})
	return &pool{p}, err
}

// parting is how long the end of a connection waits for the server to hear of it.
const parting = time.Second

// hangUp ends a connection.
func hangUp(c *conn) {
	ctx, cancel := context.WithTimeout(context.Background(), parting)
	defer cancel()
	_ = c.Close(ctx) // it is gone in either case
}

// take takes a connection out of the pool that answers; it must be given back.
func (p *pool) take(ctx context.Context) (*puddle.Resource[*conn], error) {
	for {
		r, err := p.Acquire(ctx)
		if err != nil {
			return nil, err
		}
		if r.IdleDuration() < restless || r.Value().Ping(ctx) == nil {
			return r, nil
		}
		r.Destroy()
	}
}

// giveBack puts a connection back, or ends it where the last call has left it unusable.
func giveBack(r *puddle.Resource[*conn]) {
	if c := r.Value(); c.IsClosed() || c.IsBusy() || c.TxStatus() != 'I' {
		r.Destroy()
		return
	}
	r.Release()
}

// do calls a function with a connection.
func (p *pool) do(ctx context.Context, call func(*conn) error) error {
	r, err := p.take(ctx)
	if err != nil {
		return err
	}
	defer giveBack(r)
	return call(r.Value())
}

// row reads the only row of a statement, or fails with errNoRows.
func (p *pool) row(ctx context.Context, sql string, args []any, into ...any) error {
	return p.do(ctx, func(c *conn) error { return c.row(ctx, sql, args, into...) })
}

// exec sends a statement, and tells how many rows it has changed.
func (p *pool) exec(ctx context.Context, sql string, args ...any) (changed int64, err error) {
	err = p.do(ctx, func(c *conn) error {
		r, err := c.query(ctx, sql, args...)
		if err != nil {
			return err
		}
		tag, err := r.Close()
		changed = tag.RowsAffected()
		return err
	})
	return changed, err
}

// Arguments and columns are sent in binary form, which for the types of our tables are the few of
// encode and decode: https://www.postgresql.org/docs/current/protocol-overview.html and, of arrays,
// array_send of the server.

// allBinary says that all arguments, or all columns, are binary.
var allBinary = []int16{1}

// The types, as catalogue pg_type numbers them.
const (
	typeBytes  = 17
	typeNumber = 20
	typeText   = 25

	typeListOfBytes   = 1001
	typeListOfNumbers = 1016
)

func encoded(args []any) (values [][]byte, types []uint32) {
	for _, arg := range args {
		value, of := encode(arg)
		values, types = append(values, value), append(types, of)
	}
	return values, types
}

// encode gives an argument in binary form, with its type. A nil []byte is NULL.
func encode(arg any) (value []byte, of uint32) {
	switch arg := arg.(type) {
	case []byte:
		return arg, typeBytes
	case string:
		return []byte(arg), typeText
	case int:
		return number(int64(arg)), typeNumber
	case int64:
		return number(arg), typeNumber
	case uint64:
		return number(int64(arg)), typeNumber
	case [][]byte:
		return list(arg, typeBytes), typeListOfBytes
	case []int64:
		elements := make([][]byte, len(arg))
		for i, n := range arg {
			elements[i] = number(n)
		}
		return list(elements, typeNumber), typeListOfNumbers
	}
	panic(fmt.Sprintf("postgres: no form for an argument of type %T", arg))
}

func number(n int64) []byte { return binary.BigEndian.AppendUint64(nil, uint64(n)) }

// list gives an array: its dimensions, which are one or, of an empty one, none, whether an element
// is NULL, their type, how many they are, the number of the first, and each behind its length.
func list(elements [][]byte, of uint32) []byte {
	size, dimensions, null := 20, uint32(min(1, len(elements))), uint32(0)
	for _, e := range elements {
		size += 4 + len(e)
		if e == nil {
			null = 1
		}
	}
	out := make([]byte, 0, size)
	word := func(n uint32) { out = binary.BigEndian.AppendUint32(out, n) }
	word(dimensions)
	word(null)
	word(of)
	if dimensions > 0 {
		word(uint32(len(elements)))
		word(1)
	}
	for _, e := range elements {
		if e == nil {
			word(1<<32 - 1)
			continue
		}
		word(uint32(len(e)))
		out = append(out, e...)
	}
	return out
}

// decode reads a column. NULL is nil, and no number or text.
func decode(value []byte, into any) error {
	switch to := into.(type) {
	case *[]byte:
		*to = bytes.Clone(value)
		return nil
	case *string:
		*to = string(value)
		if value == nil {
			return errShape
		}
		return nil
	}
	var n int64
	switch len(value) {
	case 4:
		n = int64(int32(binary.BigEndian.Uint32(value)))
	case 8:
		n = int64(binary.BigEndian.Uint64(value))
	default:
		return errShape
	}
	switch to := into.(type) {
	case *int:
		*to = int(n)
	case *int64:
		*to = n
	case *uint32:
		*to = uint32(n)
	case *uint64:
		*to = uint64(n)
	default:
		panic(fmt.Sprintf("postgres: no form for a column of type %T", into))
	}
	return nil
}
