package signed

import (
	"crypto/aes"
	"crypto/cipher"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/crypto/argon2"

	"github.com/tau-robot/tau/gate"
)

// keyName is the file of the operator's private key in the data folder.
const keyName = "operator.key"

// Cost is what a guess at a passphrase costs (Argon2id, RFC 9106).
type Cost struct {
	Time      uint32 // passes
	MemoryKiB uint32
	Threads   uint8
}

// DefaultCost is RFC 9106's second recommended choice: 3 passes over 64 MiB, 4 lanes.
func DefaultCost() Cost { return Cost{Time: 3, MemoryKiB: 64 << 10, Threads: 4} }

// maxCost bounds what a file may ask of the machine that opens it.
var maxCost = Cost{Time: 64, MemoryKiB: 1 << 20, Threads: 64}

// The bounds of a passphrase, in bytes. The file can be tried at leisure by whoever
// can read it, so a short one protects nothing.
const (
	MinPassphrase = 10
	MaxPassphrase = 1024
)

// ErrPassphrase says that a passphrase isn't the one, or that the file isn't as it was
// written, which can't be told apart. As an error it is an *gate.Error NOT_APPROVED.
var ErrPassphrase error = gate.Errf(gate.CodeNotApproved, "passphrase", "it is not the passphrase of the operator's key, or the key's file has been changed")

// keyFile is the private key as it lies on the disk: AES-256-GCM under a key that
// Argon2id makes of the passphrase. All other members are authenticated with it.
type keyFile struct {
	Version   int    `json:"version"`
	Name      string `json:"name"`
	Created   string `json:"created"`
	Public    []byte `json:"public_key"`
	KDF       string `json:"kdf"`
	Time      uint32 `json:"time"`
	MemoryKiB uint32 `json:"memory_kib"`
	Threads   uint8  `json:"threads"`
	Salt      []byte `json:"salt"`
	Cipher    string `json:"cipher"`
	Nonce     []byte `json:"nonce"`
	Sealed    []byte `json:"sealed"`
}

const (
	kdfName    = "argon2id"
	cipherName = "aes-256-gcm"
	saltLen    = 16
)

// KeyPath returns where the operator's private key of a data folder lies.
func KeyPath(dataDir string) string { return filepath.Join(dataDir, keyName) }

// CheckPassphrase refuses one that can't be used.
func CheckPassphrase(passphrase []byte) error {
	if len(passphrase) < MinPassphrase || len(passphrase) > MaxPassphrase {
		return bad("passphrase", "has %d bytes, %d to %d are allowed", len(passphrase), MinPassphrase, MaxPassphrase)
	}
	return nil
}

// WriteKey stores a private key under a passphrase. fresh: one that is there is an
// error and stays; else it is replaced, whole or not at all. It blocks for as long as
// the cost says. The passphrase stays the caller's, who wipes it.
func WriteKey(path, name string, created time.Time, p *Private, passphrase []byte, cost Cost, rand io.Reader, fresh bool) error {
	if err := CheckPassphrase(passphrase); err != nil {
		return err
	}
	if p.key == nil {
		return gate.Errf(gate.CodeInternal, "key", "the private key has been wiped")
	}
	f := keyFile{
		Version: 1, Name: name, Created: created.UTC().Format(time.RFC3339), Public: p.Public(),
		KDF: kdfName, Time: cost.Time, MemoryKiB: cost.MemoryKiB, Threads: cost.Threads,
		Salt: make([]byte, saltLen), Cipher: cipherName,
	}
	if err := f.check(path); err != nil {
		return err
	}
	if _, err := io.ReadFull(rand, f.Salt); err != nil {
		return gate.Errf(gate.CodeInternal, "key", "there is no randomness: %w", err)
	}
	aead, err := f.aead(passphrase)
	if err != nil {
		return err
	}
	f.Nonce = make([]byte, aead.NonceSize())
	if _, err := io.ReadFull(rand, f.Nonce); err != nil {
		return gate.Errf(gate.CodeInternal, "key", "there is no randomness: %w", err)
	}
	raw, err := p.key.Bytes()
	if err != nil {
		return gate.Errf(gate.CodeInternal, "key", "%w", err)
	}
	defer clear(raw)
	f.Sealed = aead.Seal(nil, f.Nonce, raw, f.header())
	return writeJSON(path, f, fresh)
}

// KeyInfo is what can be read of a private key's file without its passphrase.
type KeyInfo struct {
	ID, Name string
	Created  time.Time
}

// ReadKeyInfo reads it. None of it is authenticated before the key has been opened.
func ReadKeyInfo(path string) (KeyInfo, error) {
	f, err := readKeyFile(path)
	if err != nil {
		return KeyInfo{}, err
	}
	return f.info(), nil
}

// OpenKey opens the private key. A wrong passphrase is ErrPassphrase and changes
// nothing. It blocks for as long as the file's cost says. The caller wipes both the
// passphrase and the key.
func OpenKey(path string, passphrase []byte) (*Private, KeyInfo, error) {
	f, err := readKeyFile(path)
	if err != nil {
		return nil, KeyInfo{}, err
	}
	aead, err := f.aead(passphrase)
	if err != nil {
		return nil, KeyInfo{}, err
	}
	raw, err := aead.Open(nil, f.Nonce, f.Sealed, f.header())
	if err != nil {
		return nil, KeyInfo{}, ErrPassphrase
	}
	defer clear(raw)
	p, err := parsePrivate(raw)
	if err != nil {
		return nil, KeyInfo{}, distrust(path, "%w", err)
	}
	if p.ID() != KeyID(f.Public) {
		p.Wipe()
		return nil, KeyInfo{}, distrust(path, "the private key in it belongs to another public one")
	}
	return p, f.info(), nil
}

func readKeyFile(path string) (keyFile, error) {
	var f keyFile
	if err := readJSON(path, &f); err != nil {
		return f, err
	}
	if len(f.Nonce) != 12 || len(f.Sealed) != 32+16 {
		return f, distrust(path, "is damaged: the sealed key has another length")
	}
	return f, f.check(path)
}

func (f *keyFile) check(path string) error {
	_, terr := time.Parse(time.RFC3339, f.Created)
	switch {
	case f.Version != 1:
		return distrust(path, "is of version %d, this program knows 1", f.Version)
	case f.KDF != kdfName || f.Cipher != cipherName:
		return distrust(path, "is sealed with %s and %s, this program knows %s and %s", f.KDF, f.Cipher, kdfName, cipherName)
	case f.Time < 1 || f.Threads < 1 || f.MemoryKiB < 8*uint32(f.Threads) || f.Time > maxCost.Time || f.MemoryKiB > maxCost.MemoryKiB || f.Threads > maxCost.Threads:
		return distrust(path, "asks for %d passes over %d KiB in %d lanes, at most %d, %d and %d are allowed", f.Time, f.MemoryKiB, f.Threads, maxCost.Time, maxCost.MemoryKiB, maxCost.Threads)
	case len(f.Salt) != saltLen:
		return distrust(path, "has a salt of %d bytes, want %d", len(f.Salt), saltLen)
	case f.Name == "" || len(f.Name) > MaxName:
		return distrust(path, "name: has %d bytes, 1 to %d are allowed", len(f.Name), MaxName)
	case terr != nil:
		return distrust(path, "created: %w", terr)
	}
	if err := checkPublic(f.Public); err != nil {
		return distrust(path, "%w", err)
	}
	return nil
}

func (f *keyFile) info() KeyInfo {
	created, _ := time.Parse(time.RFC3339, f.Created) // check has parsed it
	return KeyInfo{ID: KeyID(f.Public), Name: f.Name, Created: created}
}

// header is what is authenticated beside the key itself.
func (f *keyFile) header() []byte {
	return fmt.Appendf(nil, "tau-operator-key-%d\n%s\n%s\n%x\n%s %d %d %d\n%x\n%s", f.Version,
		strconv.Quote(f.Name), f.Created, f.Public, f.KDF, f.Time, f.MemoryKiB, f.Threads, f.Salt, f.Cipher)
}

func (f *keyFile) aead(passphrase []byte) (cipher.AEAD, error) {
	k := argon2.IDKey(passphrase, f.Salt, f.Time, f.MemoryKiB, f.Threads, 32)
	defer clear(k)
	block, err := aes.NewCipher(k)
	if err != nil {
		return nil, gate.Errf(gate.CodeInternal, "key", "%w", err)
	}
	g, err := cipher.NewGCM(block)
	if err != nil {
		return nil, gate.Errf(gate.CodeInternal, "key", "%w", err)
	}
	return g, nil
}

// ChangePassphrase stores the key under another passphrase. A wrong old one is
// ErrPassphrase and changes nothing.
func ChangePassphrase(path string, old, fresh []byte, cost Cost, rand io.Reader) error {
	if err := CheckPassphrase(fresh); err != nil {
		return err
	}
	p, info, err := OpenKey(path, old)
	if err != nil {
		return err
	}
	defer p.Wipe()
	return WriteKey(path, info.Name, info.Created, p, fresh, cost, rand, false)
}
