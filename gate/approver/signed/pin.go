package signed

import (
	"errors"
	"io/fs"
	"path/filepath"
	"time"
)

// pinName is the file, in the data folder, of the key that a bridge was told to trust.
const pinName = "operator.pin"

// Pin is the operator's key that the bridges of a data folder trust, and since when.
// It is written by a bridge that was told of the key on its command line, and by
// nothing else: making a key makes nobody trust it.
type Pin struct {
	Key   string
	Since time.Time
}

type pinFile struct {
	Version int    `json:"version"`
	Key     string `json:"key"`
	Since   string `json:"since"`
}

// ReadPin returns the pin of a data folder; the zero Pin where there is none.
func ReadPin(dataDir string) (Pin, error) {
	path := filepath.Join(dataDir, pinName)
	var f pinFile
	err := readJSON(path, &f)
	if errors.Is(err, fs.ErrNotExist) {
		return Pin{}, nil
	}
	if err != nil {
		return Pin{}, err
	}
	since, err := time.Parse(time.RFC3339, f.Since)
	if err != nil || f.Version != 1 || !hexKey.MatchString(f.Key) {
		return Pin{}, distrust(path, "is damaged; start the bridge with --operator-key to write it anew")
	}
	return Pin{Key: f.Key, Since: since}, nil
}

// WritePin replaces the pin of a data folder.
func WritePin(dataDir string, p Pin) error {
	return writeJSON(filepath.Join(dataDir, pinName), pinFile{Version: 1, Key: p.Key, Since: p.Since.UTC().Format(time.RFC3339)}, false)
}
