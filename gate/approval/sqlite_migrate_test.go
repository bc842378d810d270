package approval_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/gate/approval"
	"github.com/tau-robot/tau/gate/approval/storetest"
)

// Databases that the program wrote when its schema was number 1: one that was closed,
// and one as kill -9 left it, with everything still in its log. v1.json is what it
// then read from them.
func schema1(t *testing.T) (files map[string]image, want map[string]gate.Record) {
	t.Helper()
	read := func(name string) []byte {
		b, err := os.ReadFile(filepath.Join("testdata", name))
		require.NoError(t, err)
		return b
	}
	require.NoError(t, json.Unmarshal(read("v1.json"), &want))
	for id, r := range want { // indented for people
		for _, part := range []*json.RawMessage{&r.Request.Args, &r.Request.Card.Data} {
			var b bytes.Buffer
			require.NoError(t, json.Compact(&b, *part))
			*part = b.Bytes()
		}
		want[id] = r
	}
	require.Len(t, want, 9, "one in each state")
	return map[string]image{"closed": {db: read("v1.db")}, "killed": {db: read("v1-open.db"), wal: read("v1-open.db-wal")}}, want
}

func TestADatabaseOfSchema1KeepsEveryRow(t *testing.T) {
	files, want := schema1(t)
	for name, f := range files {
		t.Run(name, func(t *testing.T) {
			clock := storetest.NewClock()
			clock.Advance(time.Minute)
			path := dbIn(t.TempDir())
			f.write(t, path)
			for life := range 2 { // as it was, and as it is now
				s, err := approval.OpenSQLite(t.Context(), path, bounds(clock, time.Hour))
				require.NoError(t, err)
				for id, w := range want {
					got, err := s.Get(t.Context(), id)
					require.NoError(t, err)
					require.Equal(t, w, got, "life %d", life)
				}
				pending, err := s.Pending(t.Context(), clock.Now())
				require.NoError(t, err)
				require.Len(t, pending, 1)
				// What schema 1 didn't know is there.
				granted, err := s.Grants(t.Context(), clock.Now())
				require.NoError(t, err)
				require.Len(t, granted, life)
				require.NoError(t, s.AddGrants(t.Context(), []gate.Grant{{
					ID: string(rune('a' + life)), Principal: "p", Session: gate.Session{Name: "s", Mode: gate.ModeSim, Backend: "sim"}, Value: "zone:z",
					Card: "c", Decider: "d", Granted: clock.Now(), Expires: clock.Now().Add(time.Minute),
				}}))
				require.NoError(t, s.Close())
			}
		})
	}
}

// What was started in it isn't run again, what was decided is asked again.
func TestG44_WhatWasStartedUnderSchema1IsUnknown(t *testing.T) {
	files, _ := schema1(t)
	clock := storetest.NewClock()
	clock.Advance(time.Minute)
	path := dbIn(t.TempDir())
	files["killed"].write(t, path)
	s, err := approval.OpenSQLite(t.Context(), path, bounds(clock, time.Hour))
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	got, err := s.Recover(t.Context(), "next", clock.Now())
	require.NoError(t, err)
	require.Len(t, got.Unknown, 1)
	require.Len(t, got.Reopened, 1)
}

// A file of schema 1 that isn't sound is refused as any other, and stays what it is.
func TestADamagedDatabaseOfSchema1IsLeftAsItIs(t *testing.T) {
	files, _ := schema1(t)
	f := files["closed"]
	damaged := bytes.ReplaceAll(f.db, []byte("snapshot of"), []byte("snapshot oF")) // also what SQLite has left of earlier rows
	require.NotEqual(t, f.db, damaged)
	f.db = damaged
	path := dbIn(t.TempDir())
	f.write(t, path)
	_, err := approval.OpenSQLite(t.Context(), path, approval.Options{})
	require.ErrorIs(t, err, approval.ErrDamaged)
	require.Equal(t, f, imageOf(t, path))
}

// A change of a grant or a routine behind the store's back is found when it is opened.
func TestAChangedPermissionIsRefused(t *testing.T) {
	clock := storetest.NewClock()
	path := dbIn(t.TempDir())
	s, err := approval.OpenSQLite(t.Context(), path, bounds(clock, time.Hour))
	require.NoError(t, err)
	session := gate.Session{Name: "s", Mode: gate.ModeReal, Backend: "arm"}
	now := clock.Now()
	require.NoError(t, s.AddGrants(t.Context(), []gate.Grant{{
		ID: "a", Principal: "p", Session: session, Value: "zone:small", Card: "c", Decider: "d", Granted: now, Expires: now.Add(time.Minute),
	}}))
	require.NoError(t, s.AddRoutine(t.Context(), gate.Routine{
		ID: "r", Name: "wave", Principal: "p", Session: session, Digest: [32]byte{1}, Snapshot: []byte("precious steps"),
		Firings: 2, Decider: "d", Registered: now, Expires: now.Add(time.Minute),
	}))
	require.NoError(t, s.Close())
	sound := imageOf(t, path)
	for _, text := range []string{"zone:small", "precious steps", "wave"} {
		at := bytes.Index(sound.db, []byte(text))
		require.Positive(t, at, text)
		files := image{db: bytes.Clone(sound.db), tally: sound.tally}
		files.db[at+len(text)-1]++ // of the same length, so that SQLite sees nothing
		files.write(t, path)
		_, err := approval.OpenSQLite(t.Context(), path, bounds(clock, time.Hour))
		require.ErrorIs(t, err, approval.ErrDamaged, text)
		require.Equal(t, files, imageOf(t, path))
	}
	sound.write(t, path)
	s, err = approval.OpenSQLite(t.Context(), path, bounds(clock, time.Hour))
	require.NoError(t, err)
	require.NoError(t, s.Close())
}
