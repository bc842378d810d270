package approval

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/tau-robot/tau/gate"
)

// scrubber returns what takes an address and its password out of errors.
func scrubber(address, password string) func(error) error {
	secrets := []string{address}
	if password != "" {
		secrets = append(secrets, password, url.QueryEscape(password), url.PathEscape(password))
	}
	return func(err error) error {
		text := err.Error()
		clean := text
		for _, s := range secrets {
			clean = strings.ReplaceAll(clean, s, "…")
		}
		if clean == text {
			return err
		}
		return errors.New(clean) // what it wraps would say it again
	}
}

// fault is the typed error of a server that couldn't do what it was told.
func (s *Postgres) fault(err error) error {
	var typed *gate.Error
	if errors.As(err, &typed) {
		return err
	}
	kind := kindOf(err)
	err = s.scrub(err)
	if kind != nil && !errors.Is(err, kind) {
		err = fmt.Errorf("%w: %w", kind, err)
	}
	return gate.Errf(gate.CodeInternal, s.place, "%w", err)
}

// kindOf says what an error of the server, or of the way to it, means; nil: nothing
// that has a name here.
func kindOf(err error) error {
	for _, known := range []error{ErrDamaged, ErrNewer, ErrInUse, ErrFull, ErrClosed, ErrCutOff, ErrUnsafe, ErrSkew, ErrSlow, ErrUnreachable} {
		if errors.Is(err, known) {
			return known
		}
	}
	var e *pgconn.PgError
	if errors.As(err, &e) {
		return kindOfState(e.Code)
	}
	var connect *pgconn.ConnectError
	var network net.Error
	switch {
	case errors.As(err, &connect):
		return ErrUnreachable
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &network) && network.Timeout():
		return ErrSlow
	case errors.Is(err, pgx.ErrNoRows), errors.Is(err, context.Canceled):
		return nil
	}
	return ErrUnreachable // whatever else pgx says is about the connection
}

// kindOfState says what an SQLSTATE means.
func kindOfState(code string) error {
	switch {
	case code == "53100": // disk_full
		return fmt.Errorf("%w: make room on the server; until then nothing new is asked and nothing begins to move", ErrFull)
	case code == "57014", code == "55P03", code == "25P03", code == "40P01": // cancelled by a time-out, lock not available, deadlock
		return ErrSlow
	case code == "42P01", code == "42703", code == "42883", code == "42804": // a table, column, function or type isn't there
		return fmt.Errorf("%w: its tables are not what this program made; nothing of it was changed", ErrDamaged)
	case strings.HasPrefix(code, "XX"): // data or index corrupted
		return ErrDamaged
	case strings.HasPrefix(code, "08"), strings.HasPrefix(code, "57P"), strings.HasPrefix(code, "53"), strings.HasPrefix(code, "28"), code == "3D000":
		return ErrUnreachable // no connection, shutting down, too many, not let in, no such database
	case code == "25006":
		return fmt.Errorf("%w: it takes no writes: name the primary, not a standby", ErrUnreachable)
	}
	return nil
}
