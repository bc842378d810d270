package approval

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"

	sqlite3 "github.com/ncruces/go-sqlite3"
	_ "github.com/ncruces/go-sqlite3/driver"
	"github.com/ncruces/go-sqlite3/vfs"
)

// disk is a folder's files as a drive with a cache holds them: what was written since
// the last sync of a file is there to be read, and when the power goes any part of it
// may be lost, sector by sector, in any order. Once the power is off nothing changes any
// more and everything fails.
type disk struct {
	mu    sync.Mutex
	rng   *rand.Rand
	files map[string]*content
	left  int // changes until the power goes; negative: it stays
	off   bool
}

const sector = 512 // bytes that a drive writes whole or not at all

type content struct {
	now    []byte   // what is read
	synced []byte   // what outlives the power
	since  []change // what was done since then
	made   bool     // since the last sync: the file itself may be lost
	gone   bool     // deleted
}

// change is one write, or a truncation where data is nil.
type change struct {
	at   int64
	data []byte
}

var errOff = errors.New("the power is off")

// load takes what is in a folder.
func (d *disk) load(dir string) error {
	d.files = map[string]*content{}
	list, err := os.ReadDir(dir)
	for _, e := range list {
		var b []byte
		path := filepath.Join(dir, e.Name())
		if b, err = os.ReadFile(path); err != nil {
			return err
		}
		d.files[path] = &content{now: b, synced: bytes.Clone(b)}
	}
	return err
}

// step counts a change and reports whether the power is still there.
func (d *disk) step() error {
	if d.left == 0 {
		d.off = true
	}
	if d.off {
		return errOff
	}
	d.left--
	return nil
}

// lose leaves in the folder what a loss of power now would.
func (d *disk) lose() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.off = true
	for path, c := range d.files {
		b := c.survives(d.rng)
		err := os.Remove(path)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if b == nil {
			continue
		}
		if err := os.WriteFile(path, b, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// survives is what is left of a file; nil: it isn't there.
func (c *content) survives(rng *rand.Rand) []byte {
	if c.gone && (len(c.since) == 0 || rng.IntN(2) == 0) || c.made && rng.IntN(4) == 0 {
		return nil
	}
	b := bytes.Clone(c.synced)
	if b == nil {
		b = []byte{}
	}
	for _, ch := range c.since {
		if ch.data == nil {
			if rng.IntN(2) == 0 {
				b = resized(b, ch.at)
			}
			continue
		}
		for at := 0; at < len(ch.data); {
			// To the end of the sector that this byte lies in.
			n := min(sector-int((ch.at+int64(at))%sector), len(ch.data)-at)
			if rng.IntN(2) == 0 {
				b = written(b, ch.at+int64(at), ch.data[at:at+n])
			}
			at += n
		}
	}
	return b
}

func resized(b []byte, n int64) []byte {
	if n <= int64(len(b)) {
		return b[:n]
	}
	return append(b, make([]byte, n-int64(len(b)))...)
}

func written(b []byte, at int64, data []byte) []byte {
	if need := at + int64(len(data)); need > int64(len(b)) {
		b = resized(b, need)
	}
	copy(b[at:], data)
	return b
}

// handle is an open file. It serves SQLite and the tally alike.
type handle struct {
	d    *disk
	c    *content
	lock vfs.LockLevel
}

func (h *handle) ReadAt(p []byte, off int64) (int, error) {
	h.d.mu.Lock()
	defer h.d.mu.Unlock()
	if off >= int64(len(h.c.now)) {
		return 0, io.EOF
	}
	n := copy(p, h.c.now[off:])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

func (h *handle) WriteAt(p []byte, off int64) (int, error) {
	h.d.mu.Lock()
	defer h.d.mu.Unlock()
	if err := h.d.step(); err != nil {
		return 0, err
	}
	p = bytes.Clone(p)
	h.c.now = written(h.c.now, off, p)
	h.c.since = append(h.c.since, change{off, p})
	return len(p), nil
}

func (h *handle) Truncate(size int64) error {
	h.d.mu.Lock()
	defer h.d.mu.Unlock()
	if err := h.d.step(); err != nil {
		return err
	}
	h.c.now = resized(h.c.now, size)
	h.c.since = append(h.c.since, change{at: size})
	return nil
}

func (h *handle) sync() error {
	h.d.mu.Lock()
	defer h.d.mu.Unlock()
	if err := h.d.step(); err != nil {
		return err
	}
	h.c.synced, h.c.since, h.c.made = bytes.Clone(h.c.now), nil, false
	return nil
}

func (h *handle) Close() error { return nil }

// sqliteFile is a handle as SQLite sees it: one connection, so that locks are easy.
type sqliteFile struct{ *handle }

var _ vfs.File = sqliteFile{}

func (f sqliteFile) Sync(vfs.SyncFlag) error { return f.sync() }
func (f sqliteFile) Size() (int64, error) {
	f.d.mu.Lock()
	defer f.d.mu.Unlock()
	return int64(len(f.c.now)), nil
}
func (f sqliteFile) Lock(l vfs.LockLevel) error       { f.lock = l; return nil }
func (f sqliteFile) Unlock(l vfs.LockLevel) error     { f.lock = l; return nil }
func (f sqliteFile) CheckReservedLock() (bool, error) { return f.lock >= vfs.LOCK_RESERVED, nil }
func (f sqliteFile) SectorSize() int                  { return sector }
func (f sqliteFile) DeviceCharacteristics() vfs.DeviceCharacteristic {
	return vfs.IOCAP_POWERSAFE_OVERWRITE // as the product's own says of every disk
}

// tallyOn is a handle as the tally sees it.
type tallyOn struct{ *handle }

func (t tallyOn) Sync() error { return t.sync() }

// Open makes disk a vfs.VFS.
func (d *disk) Open(name string, flags vfs.OpenFlag) (vfs.File, vfs.OpenFlag, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if name == "" { // a file of SQLite's own, which nobody looks for afterwards
		return sqliteFile{&handle{d: d, c: &content{}}}, flags, nil
	}
	c := d.files[name]
	if c == nil || c.gone {
		if flags&vfs.OPEN_CREATE == 0 {
			return nil, flags, sqlite3.CANTOPEN
		}
		if err := d.step(); err != nil {
			return nil, flags, err
		}
		c = &content{made: true}
		d.files[name] = c
	}
	return sqliteFile{&handle{d: d, c: c}}, flags, nil
}

// Delete removes a file.
func (d *disk) Delete(name string, syncDir bool) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	c := d.files[name]
	if c == nil || c.gone {
		return sqlite3.IOERR_DELETE_NOENT
	}
	if err := d.step(); err != nil {
		return err
	}
	c.gone, c.since = true, nil
	if !syncDir {
		c.since = []change{{at: int64(len(c.synced))}} // it may come back
	}
	return nil
}

// Access reports whether a file is there.
func (d *disk) Access(name string, _ vfs.AccessFlag) (bool, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	c := d.files[name]
	return c != nil && !c.gone, nil
}

// FullPathname returns a path as it is.
func (d *disk) FullPathname(name string) (string, error) { return name, nil }

// below is the disk as what lies below a store; synchronous is SQLite's own word.
func (d *disk) below(synchronous string) layer {
	return layer{
		connect: func(ctx context.Context, path string) (*sql.DB, *sql.Conn, error) {
			db, err := sql.Open("sqlite3", "file:"+path+"?vfs="+diskName(d)+"&_txlock=immediate&_pragma=locking_mode(EXCLUSIVE)&_pragma=synchronous("+synchronous+")&_pragma=foreign_keys(ON)")
			if err != nil {
				return nil, nil, err
			}
			db.SetMaxOpenConns(1)
			conn, err := db.Conn(ctx)
			if err != nil {
				return nil, nil, errors.Join(err, db.Close())
			}
			var mode string
			if err := conn.QueryRowContext(ctx, "PRAGMA journal_mode(WAL)").Scan(&mode); err != nil || mode != "wal" {
				return nil, nil, errors.Join(errors.New("no wal: "+mode), err, conn.Close(), db.Close())
			}
			return db, conn, nil
		},
		tally: func(path string) (tallyFile, error) {
			d.mu.Lock()
			defer d.mu.Unlock()
			c := d.files[path]
			if c == nil {
				return nil, fs.ErrNotExist
			}
			return tallyOn{&handle{d: d, c: c}}, nil
		},
	}
}
