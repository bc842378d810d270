package approval

// Grants and routines belong to the bridge that made them: a session of the same name
// at another bridge is another session, which they don't cover. The columns of a life
// are named as those of a request, so that pgAlive holds for all three. ended is 0
// while nothing has ended it; it is never set back.
const (
	pgGrantsTable = `CREATE TABLE grants (
  seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  id bytea NOT NULL UNIQUE CHECK (id <> ''),
  home bytea NOT NULL CHECK (home <> ''),
  opened bigint NOT NULL,
  opened_boot bigint NOT NULL,
  opened_boot_id text NOT NULL,
  expiry bigint NOT NULL,
  ended bigint NOT NULL,
  granted bigint NOT NULL,
  principal bytea NOT NULL CHECK (principal <> ''),
  session bytea NOT NULL CHECK (session <> ''),
  mode bytea NOT NULL CHECK (mode <> ''),
  backend bytea NOT NULL CHECK (backend <> ''),
  opt_in bytea NOT NULL,
  value bytea NOT NULL CHECK (value <> ''),
  reason bytea NOT NULL,
  card bytea NOT NULL CHECK (card <> ''),
  decider bytea NOT NULL CHECK (decider <> ''),
  sum bytea NOT NULL CHECK (length(sum) = 32),
  CHECK (expiry > granted)
)`

	pgRoutinesTable = `CREATE TABLE routines (
  seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  id bytea NOT NULL UNIQUE CHECK (id <> ''),
  home bytea NOT NULL CHECK (home <> ''),
  opened bigint NOT NULL,
  opened_boot bigint NOT NULL,
  opened_boot_id text NOT NULL,
  expiry bigint NOT NULL,
  ended bigint NOT NULL,
  fired bigint NOT NULL,
  firings bigint NOT NULL,
  registered bigint NOT NULL,
  name bytea NOT NULL CHECK (name <> ''),
  principal bytea NOT NULL CHECK (principal <> ''),
  session bytea NOT NULL CHECK (session <> ''),
  mode bytea NOT NULL CHECK (mode <> ''),
  backend bytea NOT NULL CHECK (backend <> ''),
  opt_in bytea NOT NULL,
  decider bytea NOT NULL CHECK (decider <> ''),
  digest bytea NOT NULL CHECK (length(digest) = 32),
  sum bytea NOT NULL CHECK (length(sum) = 32),
  snapshot bytea NOT NULL,
  CHECK (expiry > registered),
  CHECK (fired >= 0 AND fired <= firings)
)`

	// Of several routines of a name one is in force.
	pgRoutinesIndex = `CREATE UNIQUE INDEX routines_by_name ON routines (home, session, principal, name) WHERE ended = 0`

	pgRoutinesStorage = `ALTER TABLE routines ALTER COLUMN snapshot SET STORAGE EXTERNAL`
)

const (
	pgHome    = `home = @home::bytea`
	pgInForce = pgHome + ` AND ended = 0 AND ` + pgAlive
)

// The writes, one conditional write each.
const (
	pgGrantInsert = `INSERT INTO grants (id, home, opened, opened_boot, opened_boot_id, expiry, ended, granted,
  principal, session, mode, backend, opt_in, value, reason, card, decider, sum)
SELECT @id::bytea, @home::bytea, @now::bigint, @boot::bigint, @boot_id::text, @expiry::bigint, 0, @granted::bigint,
  @principal::bytea, @session::bytea, @mode::bytea, @backend::bytea, @opt_in::bytea, @value::bytea, @reason::bytea, @card::bytea, @decider::bytea, @sum::bytea
WHERE ` + pgLive + ` ON CONFLICT DO NOTHING`

	pgGrantRevoke = `UPDATE grants SET ended = @now::bigint WHERE id = @id AND ` + pgInForce

	pgGrantRevokeCard = `UPDATE grants SET ended = @now::bigint WHERE card = @card AND ` + pgInForce

	pgGrantExpire = `UPDATE grants SET ended = @now::bigint WHERE ` + pgHome + ` AND ended = 0 AND NOT ` + pgAlive

	pgGrantPurge = `DELETE FROM grants WHERE ` + pgHome + ` AND ended <> 0 AND expiry <= @now::bigint AND ended <= @now::bigint - @retention::bigint`

	pgGrantRebase = `UPDATE grants SET opened = @now::bigint, opened_boot = @boot::bigint, opened_boot_id = @boot_id::text
WHERE ` + pgHome + ` AND ended = 0 AND opened_boot_id <> @boot_id::text`

	pgRoutineInsert = `INSERT INTO routines (id, home, opened, opened_boot, opened_boot_id, expiry, ended, fired, firings, registered,
  name, principal, session, mode, backend, opt_in, decider, digest, sum, snapshot)
SELECT @id::bytea, @home::bytea, @now::bigint, @boot::bigint, @boot_id::text, @expiry::bigint, 0, 0, @firings::bigint, @registered::bigint,
  @name::bytea, @principal::bytea, @session::bytea, @mode::bytea, @backend::bytea, @opt_in::bytea, @decider::bytea, @digest::bytea, @sum::bytea, @snapshot::bytea
WHERE ` + pgLive + ` ON CONFLICT DO NOTHING`

	pgRoutineFire = `UPDATE routines SET fired = fired + 1
WHERE id = @id AND fired = @fired::bigint AND fired < firings AND ` + pgInForce + ` AND ` + pgLive

	pgRoutineEnd = `UPDATE routines SET ended = @now::bigint WHERE id = @id AND ` + pgInForce

	pgRoutineExpire = `UPDATE routines SET ended = @now::bigint WHERE ` + pgHome + ` AND ended = 0 AND NOT ` + pgAlive

	pgRoutinePurge = `DELETE FROM routines WHERE ` + pgHome + ` AND ended <> 0 AND expiry <= @now::bigint AND ended <= @now::bigint - @retention::bigint`

	pgRoutineRebase = `UPDATE routines SET opened = @now::bigint, opened_boot = @boot::bigint, opened_boot_id = @boot_id::text
WHERE ` + pgHome + ` AND ended = 0 AND opened_boot_id <> @boot_id::text`
)

// The reads. Columns are in the order of pgScanGrant and pgScanRoutine.
const (
	pgGrantList = `SELECT id, granted, expiry, principal, session, mode, backend, opt_in, value, reason, card, decider, sum FROM grants
WHERE ` + pgInForce + ` ORDER BY seq`

	pgRoutineColumns = `SELECT id, registered, expiry, fired, firings, name, principal, session, mode, backend, opt_in, decider, digest, sum`

	pgRoutineNamed = pgRoutineColumns + `, snapshot FROM routines WHERE session = @session AND principal = @principal AND name = @name AND ` + pgInForce

	pgRoutineGet = pgRoutineColumns + `, snapshot FROM routines WHERE id = @id AND ` + pgInForce

	pgRoutineList = pgRoutineColumns + ` FROM routines WHERE ` + pgInForce + ` ORDER BY seq`

	pgRoutineTaken = `SELECT EXISTS (SELECT 1 FROM routines WHERE id = @id)`
)

// pgPermitRebase ends what has expired before it is counted on from now.
var pgPermitRebase = []string{pgGrantExpire, pgRoutineExpire, pgGrantRebase, pgRoutineRebase}

var pgPermitStatements = []string{
	pgGrantInsert, pgGrantRevoke, pgGrantRevokeCard, pgGrantExpire, pgGrantPurge, pgGrantRebase, pgGrantList,
	pgRoutineInsert, pgRoutineFire, pgRoutineEnd, pgRoutineExpire, pgRoutinePurge, pgRoutineRebase,
	pgRoutineNamed, pgRoutineGet, pgRoutineTaken, pgRoutineList,
}
