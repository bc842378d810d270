package approval

import (
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/tau-robot/tau/gate"
)

// rowSum is the check sum of what never changes of a row, each part behind its length.
func rowSum(kind string, times []time.Time, parts ...[]byte) [32]byte {
	var b bytes.Buffer
	part := func(p []byte) {
		b.Write(binary.BigEndian.AppendUint64(nil, uint64(len(p))))
		b.Write(p)
	}
	part([]byte(kind))
	for _, t := range times {
		part(binary.BigEndian.AppendUint64(nil, uint64(t.UnixNano())))
	}
	for _, p := range parts {
		part(p)
	}
	return sha256.Sum256(b.Bytes())
}

func grantSum(g gate.Grant) [32]byte {
	return rowSum("tau grant 1", []time.Time{g.Granted, g.Expires}, []byte(g.ID), []byte(g.Principal),
		[]byte(g.Session.Name), []byte(g.Session.Mode), []byte(g.Session.Backend), []byte(g.Session.OptIn),
		[]byte(g.Value), []byte(g.Reason), []byte(g.Card), []byte(g.Decider))
}

func routineSum(r gate.Routine) [32]byte {
	return rowSum("tau routine 1", []time.Time{r.Registered, r.Expires}, []byte(r.ID), []byte(r.Name), []byte(r.Principal),
		[]byte(r.Session.Name), []byte(r.Session.Mode), []byte(r.Session.Backend), []byte(r.Session.OptIn),
		[]byte(r.Decider), r.Digest[:], r.Snapshot, binary.BigEndian.AppendUint64(nil, uint64(r.Firings)))
}

func grantArgs(g gate.Grant, now reading) []any {
	sum := grantSum(g)
	return append(now.args(),
		sql.Named("id", g.ID), sql.Named("granted", g.Granted.UnixNano()), sql.Named("expiry", g.Expires.UnixNano()),
		sql.Named("principal", g.Principal), sql.Named("session", g.Session.Name), sql.Named("mode", string(g.Session.Mode)),
		sql.Named("backend", g.Session.Backend), sql.Named("opt_in", g.Session.OptIn), sql.Named("value", g.Value),
		sql.Named("reason", g.Reason), sql.Named("card", g.Card), sql.Named("decider", g.Decider), sql.Named("sum", sum[:]))
}

func routineArgs(r gate.Routine, now reading) []any {
	sum := routineSum(r)
	return append(now.args(),
		sql.Named("id", r.ID), sql.Named("registered", r.Registered.UnixNano()), sql.Named("expiry", r.Expires.UnixNano()),
		sql.Named("firings", r.Firings), sql.Named("name", r.Name), sql.Named("principal", r.Principal),
		sql.Named("session", r.Session.Name), sql.Named("mode", string(r.Session.Mode)), sql.Named("backend", r.Session.Backend),
		sql.Named("opt_in", r.Session.OptIn), sql.Named("decider", r.Decider), sql.Named("digest", r.Digest[:]),
		sql.Named("sum", sum[:]), sql.Named("snapshot", r.Snapshot))
}

var errSum = errors.New("its check sum is wrong")

// scanGrant reads a grant, if it is what was written.
func scanGrant(s scanner) (gate.Grant, error) {
	var g gate.Grant
	var granted, expiry int64
	var mode string
	var sum []byte
	err := s.Scan(&g.ID, &granted, &expiry, &g.Principal, &g.Session.Name, &mode, &g.Session.Backend, &g.Session.OptIn,
		&g.Value, &g.Reason, &g.Card, &g.Decider, &sum)
	if err != nil {
		return gate.Grant{}, err
	}
	g.Session.Mode, g.Granted, g.Expires = gate.Mode(mode), unix(granted), unix(expiry)
	if want := grantSum(g); !bytes.Equal(sum, want[:]) {
		return gate.Grant{}, damaged(fmt.Errorf("grant %q: %w", g.ID, errSum))
	}
	return g, nil
}

// scanRoutine reads a routine; with its snapshot, if it is what was written.
func scanRoutine(s scanner, whole bool) (gate.Routine, error) {
	var r gate.Routine
	var registered, expiry int64
	var mode string
	var digest, sum []byte
	dest := []any{
		&r.ID, &registered, &expiry, &r.Fired, &r.Firings, &r.Name, &r.Principal, &r.Session.Name, &mode,
		&r.Session.Backend, &r.Session.OptIn, &r.Decider, &digest, &sum,
	}
	if whole {
		dest = append(dest, &r.Snapshot)
	}
	if err := s.Scan(dest...); err != nil {
		return gate.Routine{}, err
	}
	if len(digest) != len(r.Digest) {
		return gate.Routine{}, damaged(fmt.Errorf("routine %q: a hash has the wrong length", r.ID))
	}
	r.Session.Mode, r.Digest = gate.Mode(mode), [32]byte(digest)
	r.Registered, r.Expires = unix(registered), unix(expiry)
	if want := routineSum(r); whole && !bytes.Equal(sum, want[:]) {
		return gate.Routine{}, damaged(fmt.Errorf("routine %q: %w", r.ID, errSum))
	}
	return r, nil
}

// checkPermits reads every grant and routine of a file that is being opened.
func checkPermits(ctx context.Context, conn *sql.Conn) error {
	if _, err := scanAll(ctx, conn, sqlGrantColumns, scanGrant); err != nil {
		return err
	}
	_, err := scanAll(ctx, conn, sqlRoutineAll, func(s scanner) (struct{}, error) {
		_, err := scanRoutine(s, true)
		return struct{}{}, err
	})
	return err
}

func scanAll[T any](ctx context.Context, conn *sql.Conn, q string, scan func(scanner) (T, error)) ([]T, error) {
	rows, err := conn.QueryContext(ctx, q)
	if err != nil {
		return nil, err
	}
	return collect(rows, scan)
}

// collect reads rows to their end and closes them.
func collect[T any](rows *sql.Rows, scan func(scanner) (T, error)) ([]T, error) {
	defer func() { _ = rows.Close() }() // Err is looked at
	var out []T
	for rows.Next() {
		v, err := scan(rows)
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, rows.Err()
}
