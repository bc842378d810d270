package approval

// Schema 2 adds what a person has permitted for longer than one call: grants and
// routines. The columns of a life (opened, opened_boot, opened_boot_id, expiry) are
// named as those of a request, so that sqlAlive holds for all three. ended is 0 while
// nothing has ended it; it is never set back.
const (
	sqlGrantsTable = `CREATE TABLE grants (
  seq INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE CHECK (id <> ''),
  opened INTEGER NOT NULL,
  opened_boot INTEGER NOT NULL,
  opened_boot_id TEXT NOT NULL,
  expiry INTEGER NOT NULL,
  ended INTEGER NOT NULL,
  granted INTEGER NOT NULL,
  principal TEXT NOT NULL CHECK (principal <> ''),
  session TEXT NOT NULL CHECK (session <> ''),
  mode TEXT NOT NULL CHECK (mode <> ''),
  backend TEXT NOT NULL CHECK (backend <> ''),
  opt_in TEXT NOT NULL,
  value TEXT NOT NULL CHECK (value <> ''),
  reason TEXT NOT NULL,
  card TEXT NOT NULL CHECK (card <> ''),
  decider TEXT NOT NULL CHECK (decider <> ''),
  sum BLOB NOT NULL CHECK (length(sum) = 32),
  CHECK (expiry > granted)
) STRICT`

	sqlRoutinesTable = `CREATE TABLE routines (
  seq INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE CHECK (id <> ''),
  opened INTEGER NOT NULL,
  opened_boot INTEGER NOT NULL,
  opened_boot_id TEXT NOT NULL,
  expiry INTEGER NOT NULL,
  ended INTEGER NOT NULL,
  fired INTEGER NOT NULL,
  firings INTEGER NOT NULL,
  registered INTEGER NOT NULL,
  name TEXT NOT NULL CHECK (name <> ''),
  principal TEXT NOT NULL CHECK (principal <> ''),
  session TEXT NOT NULL CHECK (session <> ''),
  mode TEXT NOT NULL CHECK (mode <> ''),
  backend TEXT NOT NULL CHECK (backend <> ''),
  opt_in TEXT NOT NULL,
  decider TEXT NOT NULL CHECK (decider <> ''),
  digest BLOB NOT NULL CHECK (length(digest) = 32),
  sum BLOB NOT NULL CHECK (length(sum) = 32),
  snapshot BLOB NOT NULL,
  CHECK (expiry > registered),
  CHECK (fired >= 0 AND fired <= firings)
) STRICT`

	// Of several routines of a name one is in force.
	sqlRoutinesIndex = `CREATE UNIQUE INDEX routines_by_name ON routines (session, principal, name) WHERE ended = 0`
)

// The writes, one conditional write each.
const (
	sqlGrantInsert = `INSERT INTO grants (id, opened, opened_boot, opened_boot_id, expiry, ended, granted,
  principal, session, mode, backend, opt_in, value, reason, card, decider, sum)
VALUES (@id, @now, @boot, @boot_id, @expiry, 0, @granted,
  @principal, @session, @mode, @backend, @opt_in, @value, @reason, @card, @decider, @sum)`

	sqlGrantRevoke = `UPDATE grants SET ended = @now WHERE id = @id AND ended = 0 AND ` + sqlAlive

	sqlGrantRevokeCard = `UPDATE grants SET ended = @now WHERE card = @card AND ended = 0 AND ` + sqlAlive

	sqlGrantExpire = `UPDATE grants SET ended = @now WHERE ended = 0 AND NOT ` + sqlAlive

	sqlGrantPurge = `DELETE FROM grants WHERE ended <> 0 AND expiry <= @now AND ended <= @now - @retention`

	sqlGrantRebase = `UPDATE grants SET opened = @now, opened_boot = @boot, opened_boot_id = @boot_id
WHERE ended = 0 AND opened_boot_id <> @boot_id`

	sqlRoutineInsert = `INSERT INTO routines (id, opened, opened_boot, opened_boot_id, expiry, ended, fired, firings, registered,
  name, principal, session, mode, backend, opt_in, decider, digest, sum, snapshot)
VALUES (@id, @now, @boot, @boot_id, @expiry, 0, 0, @firings, @registered,
  @name, @principal, @session, @mode, @backend, @opt_in, @decider, @digest, @sum, @snapshot)`

	sqlRoutineFire = `UPDATE routines SET fired = fired + 1
WHERE id = @id AND ended = 0 AND fired = @fired AND fired < firings AND ` + sqlAlive

	sqlRoutineEnd = `UPDATE routines SET ended = @now WHERE id = @id AND ended = 0 AND ` + sqlAlive

	sqlRoutineExpire = `UPDATE routines SET ended = @now WHERE ended = 0 AND NOT ` + sqlAlive

	sqlRoutinePurge = `DELETE FROM routines WHERE ended <> 0 AND expiry <= @now AND ended <= @now - @retention`

	sqlRoutineRebase = `UPDATE routines SET opened = @now, opened_boot = @boot, opened_boot_id = @boot_id
WHERE ended = 0 AND opened_boot_id <> @boot_id`
)

// The reads. Columns are in the order of scanGrant and scanRoutine.
const (
	sqlGrantColumns = `SELECT id, granted, expiry, principal, session, mode, backend, opt_in, value, reason, card, decider, sum FROM grants`

	sqlGrantList = sqlGrantColumns + ` WHERE ended = 0 AND ` + sqlAlive + ` ORDER BY seq`

	sqlRoutineColumns = `SELECT id, registered, expiry, fired, firings, name, principal, session, mode, backend, opt_in, decider, digest, sum`

	sqlRoutineAll = sqlRoutineColumns + `, snapshot FROM routines`

	sqlRoutineNamed = sqlRoutineAll + ` WHERE session = @session AND principal = @principal AND name = @name AND ended = 0 AND ` + sqlAlive

	sqlRoutineGet = sqlRoutineAll + ` WHERE id = @id AND ended = 0 AND ` + sqlAlive

	sqlRoutineTaken = `SELECT count(*) FROM routines WHERE id = @id`

	sqlRoutineList = sqlRoutineColumns + ` FROM routines WHERE ended = 0 AND ` + sqlAlive + ` ORDER BY seq`

	sqlGrantTaken = `SELECT count(*) FROM grants WHERE id = @id`
)

// permitRebase ends what has expired before it is counted on from now.
var permitRebase = []string{sqlGrantExpire, sqlRoutineExpire, sqlGrantRebase, sqlRoutineRebase}

var permitStatements = []string{
	sqlGrantInsert, sqlGrantRevoke, sqlGrantRevokeCard, sqlGrantExpire, sqlGrantPurge, sqlGrantRebase, sqlGrantList, sqlGrantTaken,
	sqlRoutineInsert, sqlRoutineFire, sqlRoutineEnd, sqlRoutineExpire, sqlRoutinePurge, sqlRoutineRebase,
	sqlRoutineNamed, sqlRoutineGet, sqlRoutineTaken, sqlRoutineList,
}
