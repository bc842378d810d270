package signed

import (
	"encoding/base64"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/tau-robot/tau/gate"
)

func TestG34_TheRingIsReadAnewEachTime(t *testing.T) {
	p := newPlace(t)
	require.True(t, p.ring.Enrolled())
	e, err := p.ring.Find(p.device.ID())
	require.NoError(t, err)
	require.Equal(t, "a phone", e.Name)
	require.Equal(t, KindDevice, e.Kind)
	st, err := os.Stat(p.file(e.ID))
	require.NoError(t, err)
	require.Equal(t, fs.FileMode(0o600), st.Mode().Perm())

	all, problems := p.ring.List()
	require.Empty(t, problems)
	require.Len(t, all, 2)
	require.Equal(t, p.operator.ID(), all[0].ID)
	require.Error(t, p.ring.Add(all[1]), "it is there")

	require.NoError(t, os.Remove(p.file(e.ID)))
	_, err = p.ring.Find(e.ID)
	refused(t, err, ReasonUnknown)
	require.True(t, p.ring.Enrolled())
	require.NoError(t, os.Remove(p.file(p.operator.ID())))
	_, err = p.ring.Find(p.operator.ID())
	refused(t, err, ReasonRing)
	require.False(t, p.ring.Enrolled())
}

func TestG34_ABridgeThatWasToldOfNoKeyTrustsNone(t *testing.T) {
	p := newPlace(t)
	r := OpenRing(p.dir, "")
	for _, id := range []string{p.operator.ID(), p.device.ID(), ""} {
		_, err := r.Find(id)
		refused(t, err, ReasonRing)
	}
	require.False(t, r.Enrolled())
	require.False(t, OpenRing(t.TempDir(), p.operator.ID()).Enrolled(), "no folder")
}

// TestG34_WhatAnotherProcessPutsIntoTheRingCountsForNothing: it can write the files, but
// has no passphrase.
func TestG34_WhatAnotherProcessPutsIntoTheRingCountsForNothing(t *testing.T) {
	mine := stranger
	forge := func(t *testing.T, p *place, kind Kind, by *Private) Entry {
		e, err := NewEntry("the operator", kind, mine.Public(), noon)
		require.NoError(t, err)
		e, err = by.Vouch(e)
		require.NoError(t, err)
		require.NoError(t, writeJSON(p.file(e.ID), e.file(), false))
		return e
	}
	for name, c := range map[string]struct {
		do     func(*testing.T, *place)
		reason gate.Reason
	}{
		"a key signed by itself":   {func(t *testing.T, p *place) { forge(t, p, KindOperator, mine) }, ReasonUnknown},
		"a key signed by a device": {func(t *testing.T, p *place) { forge(t, p, KindDevice, p.device) }, ReasonUnknown},
		"in the place of the operator's": {func(t *testing.T, p *place) {
			e := forge(t, p, KindOperator, mine)
			require.NoError(t, os.Rename(p.file(e.ID), p.file(p.operator.ID())))
		}, ReasonRing},
		"in the place of the device's": {func(t *testing.T, p *place) {
			e := forge(t, p, KindOperator, mine)
			require.NoError(t, os.Rename(p.file(e.ID), p.file(p.device.ID())))
		}, ReasonUnknown},
		"the operator's entry with another public key": {func(t *testing.T, p *place) {
			p.rewrite(t, p.operator.ID(), func(s string) string {
				return strings.Replace(s, b64(p.operator.Public()), b64(mine.Public()), 1)
			})
		}, ReasonRing},
		"the device's entry with another public key": {func(t *testing.T, p *place) {
			p.rewrite(t, p.device.ID(), func(s string) string {
				return strings.Replace(s, b64(p.device.Public()), b64(mine.Public()), 1)
			})
		}, ReasonUnknown},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlace(t)
			c.do(t, p)
			_, err := p.ring.Find(mine.ID())
			require.Error(t, err)
			if _, err = p.ring.Find(p.device.ID()); c.reason == ReasonRing {
				refused(t, err, ReasonRing)
			}
			v := &Verifier{Keys: p.ring, Nonces: NewNonces(&counter{}), Now: func() time.Time { return noon }}
			b := &bench{place: p, now: noon, v: v}
			_, err = v.Check(b.sign(t, mine, about()), Approve)
			refused(t, err, c.reason)
			_, problems := p.ring.List()
			require.NotEmpty(t, problems)
		})
	}
}

func b64(b []byte) string { return base64.StdEncoding.EncodeToString(b) }

// A device isn't made an operator by an edit, nor given another name.
func TestG34_AnEntryIsAsItWasSigned(t *testing.T) {
	for name, change := range map[string][2]string{
		"kind":    {`"kind":"device"`, `"kind":"operator"`},
		"name":    {`"name":"a phone"`, `"name":"operator"`},
		"created": {`:01:00Z"`, `:02:00Z"`},
		"version": {`"version":1`, `"version":2`},
		"unknown": {`"version":1`, `"version":1,"power":true`},
		"double":  {`"version":1`, `"version":1,"version":1`},
		"more":    {"}\n", "}\n{}\n"},
		"revoked": {`"version":1`, `"version":1,"revoked":"soon"`},
		"no text": {`"name":"a phone"`, "\"name\":\"a \xff\""},
	} {
		p := newPlace(t)
		p.rewrite(t, p.device.ID(), func(s string) string {
			out := strings.Replace(s, change[0], change[1], 1)
			require.NotEqual(t, s, out, name)
			return out
		})
		_, err := p.ring.Find(p.device.ID())
		refused(t, err, ReasonUnknown)
		require.ErrorContains(t, err, p.device.ID()+".json", name)
		_, problems := p.ring.List()
		require.Len(t, problems, 1, name)
	}
}

func TestG34_FilesThatOthersCouldHaveWrittenAreRefusedByName(t *testing.T) {
	for name, spoil := range map[string]func(t *testing.T, path string){
		"readable by others": func(t *testing.T, path string) { require.NoError(t, os.Chmod(path, 0o644)) },
		"writable by others": func(t *testing.T, path string) { require.NoError(t, os.Chmod(path, 0o620)) },
		"executable":         func(t *testing.T, path string) { require.NoError(t, os.Chmod(path, 0o700)) },
		"a symbolic link": func(t *testing.T, path string) {
			require.NoError(t, os.Rename(path, path+".elsewhere"))
			require.NoError(t, os.Symlink(path+".elsewhere", path))
		},
		"a folder": func(t *testing.T, path string) {
			require.NoError(t, os.Remove(path))
			require.NoError(t, os.Mkdir(path, 0o600))
		},
		"a pipe": func(t *testing.T, path string) {
			require.NoError(t, os.Remove(path))
			require.NoError(t, unix.Mkfifo(path, 0o600))
		},
		"too long": func(t *testing.T, path string) {
			require.NoError(t, os.WriteFile(path, []byte(strings.Repeat(" ", maxFile+1)), 0o600))
		},
		"empty": func(t *testing.T, path string) { require.NoError(t, os.Truncate(path, 0)) },
		"another user's": func(t *testing.T, path string) {
			if os.Geteuid() != 0 {
				t.Skip("only root can give a file away")
			}
			require.NoError(t, os.Chown(path, 4711, -1))
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlace(t)
			spoil(t, p.file(p.device.ID()))
			_, err := p.ring.Find(p.device.ID())
			refused(t, err, ReasonUnknown)
			require.ErrorContains(t, err, p.device.ID()+".json")
			require.True(t, p.ring.Enrolled(), "the others are as they were")
			spoil(t, p.file(p.operator.ID()))
			_, err = p.ring.Find(p.operator.ID())
			refused(t, err, ReasonRing)
			require.False(t, p.ring.Enrolled())
		})
	}
}

func TestG34_TheFolderIsThisUsersAlone(t *testing.T) {
	p := newPlace(t)
	dir := filepath.Join(p.dir, Folder)
	require.NoError(t, os.Chmod(dir, 0o750))
	require.False(t, p.ring.Enrolled())
	_, problems := p.ring.List()
	require.Len(t, problems, 1)
	require.NoError(t, os.Chmod(dir, 0o700))
	require.True(t, p.ring.Enrolled())
	require.NoError(t, os.Rename(dir, dir+".there"))
	require.NoError(t, os.Symlink(dir+".there", dir))
	require.False(t, p.ring.Enrolled())
	require.NoError(t, os.Remove(dir))
	all, problems := p.ring.List()
	require.Empty(t, all)
	require.Empty(t, problems, "no folder is no problem: nobody is enrolled")
}

func TestG34_ARevokedKeyStaysRevoked(t *testing.T) {
	p := newPlace(t)
	before, err := os.ReadFile(p.file(p.device.ID()))
	require.NoError(t, err)
	require.NoError(t, p.ring.Revoke(p.device.ID(), noon.Add(time.Hour)))
	require.NoError(t, p.ring.Revoke(p.device.ID(), noon.Add(2*time.Hour)), "again changes nothing")
	_, err = p.ring.Find(p.device.ID())
	refused(t, err, ReasonRevoked)
	// The file as it was before, put back by somebody, changes nothing in this process.
	require.NoError(t, os.WriteFile(p.file(p.device.ID()), before, 0o600))
	_, err = p.ring.Find(p.device.ID())
	refused(t, err, ReasonRevoked)
	require.NoError(t, p.ring.Revoke(p.device.ID(), noon.Add(3*time.Hour)))
	// Another process reads the file.
	r := OpenRing(p.dir, p.operator.ID())
	_, err = r.Find(p.device.ID())
	refused(t, err, ReasonRevoked)
	all, _ := r.List()
	require.Equal(t, noon.Add(time.Hour), all[1].Revoked)

	require.Error(t, p.ring.Revoke("ffffffffffffffffffffffffffffffff", noon))
	require.Error(t, p.ring.Revoke("../../etc/passwd", noon))
	require.Error(t, p.ring.Add(all[1]), "it can't be enrolled again")
}

func TestG34_OnlyTheOperatorsKeyEnrols(t *testing.T) {
	p := newPlace(t)
	e, err := NewEntry("another", KindDevice, stranger.Public(), noon)
	require.NoError(t, err)
	for _, by := range []*Private{p.device, stranger} {
		v, err := by.Vouch(e)
		require.NoError(t, err)
		refused(t, p.ring.Add(v), ReasonSignature)
	}
	v, err := p.operator.Vouch(e)
	require.NoError(t, err)
	v.Kind = KindOperator
	refused(t, p.ring.Add(v), ReasonSignature)
	v.Kind = KindDevice
	require.NoError(t, p.ring.Add(v))
	require.NoError(t, p.ring.Revoke(p.operator.ID(), noon))
	third, err := NewEntry("third", KindDevice, key(t, 7).Public(), noon)
	require.NoError(t, err)
	third, err = p.operator.Vouch(third)
	require.NoError(t, err)
	refused(t, p.ring.Add(third), ReasonRevoked)
}

func TestAStrayFileIsTold(t *testing.T) {
	p := newPlace(t)
	require.NoError(t, os.WriteFile(filepath.Join(p.dir, Folder, "notes.txt"), nil, 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(p.dir, Folder, ".new-123"), nil, 0o600)) // a crash's
	all, problems := p.ring.List()
	require.Len(t, all, 2)
	require.Len(t, problems, 1)
	require.ErrorContains(t, problems[0], "notes.txt")
}

func TestAnEntryGoesThroughAStatement(t *testing.T) {
	p := newPlace(t)
	e, err := NewEntry("Ayşe'nin telefonu", KindDevice, stranger.Public(), noon)
	require.NoError(t, err)
	e, err = p.operator.Vouch(e)
	require.NoError(t, err)
	got, err := EntryOf(Statement{Purpose: Enrol, ID: e.ID, Params: e.Params()})
	require.NoError(t, err)
	require.Equal(t, e, got)
	_, err = EntryOf(Statement{Purpose: Enrol, ID: PairingID})
	require.Error(t, err)
	_, err = EntryOf(Statement{Purpose: Enrol, ID: p.device.ID(), Params: e.Params()})
	require.Error(t, err, "the id isn't the key's")
}

func TestThePin(t *testing.T) {
	dir := t.TempDir()
	got, err := ReadPin(dir)
	require.NoError(t, err)
	require.Zero(t, got)
	want := Pin{Key: key(t, 1).ID(), Since: noon}
	require.NoError(t, WritePin(dir, want))
	got, err = ReadPin(dir)
	require.NoError(t, err)
	require.Equal(t, want, got)
	path := filepath.Join(dir, pinName)
	for _, bad := range []string{"", "{}", `{"version":1,"key":"x","since":"2026-05-01T12:00:00Z"}`, `{"version":2,"key":"` + want.Key + `","since":"2026-05-01T12:00:00Z"}`} {
		require.NoError(t, os.WriteFile(path, []byte(bad), 0o600))
		_, err = ReadPin(dir)
		require.ErrorContains(t, err, pinName, bad)
	}
	require.NoError(t, WritePin(dir, want), "a damaged one is replaced when it is written anew")
	require.NoError(t, os.Chmod(path, 0o644))
	_, err = ReadPin(dir)
	require.Error(t, err)
}

func TestAKeysIdAsItIsTyped(t *testing.T) {
	id := key(t, 1).ID()
	require.Len(t, Grouped(id), 39)
	for _, typed := range []string{id, Grouped(id), strings.ToUpper(Grouped(id)), strings.ReplaceAll(Grouped(id), "-", " ")} {
		got, err := ParseKeyID(typed)
		require.NoError(t, err)
		require.Equal(t, id, got)
	}
	for _, bad := range []string{"", "x", id[:31], id + "0", id[:31] + "g"} {
		_, err := ParseKeyID(bad)
		require.Error(t, err, bad)
	}
}
