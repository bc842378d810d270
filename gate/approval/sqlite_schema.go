package approval

import "slices"

// The file's marks: application_id says that it is ours, user_version which
// schema it has.
const (
	applicationID = 0x74617561 // "taua"
	schemaVersion = 2
)

// schema makes an empty database. Times are Unix nanoseconds, boot times
// nanoseconds since the start of the machine that boot_id names. What is small
// stands first, so that a list reads no bulk. STRICT and the checks are held by
// SQLite on each write, and against the whole file when it is opened.
//
// sum covers what never changes of a row, bulk the drawing and the snapshot; the
// rest is held by the checks. Each version only adds to the one before.
var schema = slices.Concat(schema1, schema2)

var schema1 = []string{
	`CREATE TABLE requests (
  seq INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE CHECK (id <> ''),
  state TEXT NOT NULL CHECK (state IN ('pending','claimed','started','done','rejected','withdrawn','expired','stopped','unknown')),
  secret BLOB NOT NULL CHECK (length(secret) = 32),
  digest BLOB NOT NULL CHECK (length(digest) = 32),
  asked INTEGER NOT NULL,
  opened INTEGER NOT NULL,
  opened_boot INTEGER NOT NULL,
  opened_boot_id TEXT NOT NULL,
  expiry INTEGER NOT NULL,
  claims INTEGER NOT NULL CHECK (claims >= 0),
  worker TEXT NOT NULL,
  claimed INTEGER NOT NULL,
  claimed_boot INTEGER NOT NULL,
  renewed INTEGER NOT NULL,
  renewed_boot INTEGER NOT NULL,
  lease_boot_id TEXT NOT NULL,
  lease INTEGER NOT NULL,
  decision INTEGER NOT NULL CHECK (decision IN (0, 1, 165)),
  decider TEXT NOT NULL,
  ended INTEGER NOT NULL,
  tool TEXT NOT NULL,
  tier INTEGER NOT NULL CHECK (tier BETWEEN 0 AND 2),
  effect TEXT NOT NULL,
  session TEXT NOT NULL,
  mode TEXT NOT NULL,
  backend TEXT NOT NULL,
  opt_in TEXT NOT NULL,
  principal TEXT NOT NULL,
  origin TEXT NOT NULL,
  sum BLOB NOT NULL CHECK (length(sum) = 32),
  bulk BLOB NOT NULL CHECK (length(bulk) = 32),
  args BLOB,
  facts BLOB NOT NULL,
  answer BLOB,
  drawing BLOB,
  snapshot BLOB NOT NULL,
  CHECK (state <> 'pending' OR (worker = '' AND decision = 0 AND ended = 0)),
  CHECK (state NOT IN ('claimed','started','done','unknown') OR (claims > 0 AND worker <> '' AND decider <> '' AND decision = 165)),
  CHECK (state NOT IN ('claimed','started') OR ended = 0),
  CHECK (expiry > opened)
) STRICT`,
	`CREATE INDEX requests_by_state ON requests (state, seq)`,
}

// schema2: overtaken names the open requests in whose session a later call has been
// started (G47); tally counts every change of a row that matters. The grants and the routines
// are described where their tables are.
var schema2 = slices.Concat([]string{
	`CREATE TABLE tally (one INTEGER PRIMARY KEY CHECK (one = 1), id BLOB NOT NULL CHECK (length(id) = 16), changes INTEGER NOT NULL CHECK (changes >= 0)) STRICT`,
	`CREATE TABLE overtaken (id TEXT PRIMARY KEY REFERENCES requests (id) ON DELETE CASCADE) STRICT, WITHOUT ROWID`,
	sqlGrantsTable, sqlRoutinesTable, sqlRoutinesIndex,
}, counted("requests"), counted("overtaken"), counted("grants"), counted("routines"))

// schemaOf returns what a database of a version has.
func schemaOf(version int) []string {
	if version == 1 {
		return schema1
	}
	return schema
}

const (
	sqlNewTally = `INSERT INTO tally (one, id, changes) VALUES (1, @id, 0)`
	sqlTallied  = `SELECT id, changes FROM tally`
)

// The conditions that come up in several statements. Their parameters are named.
const (
	// alive: the logical expiry hasn't passed, by no clock.
	sqlAlive = `(expiry > @now AND CASE WHEN @boot_id <> '' AND opened_boot_id = @boot_id
    THEN @boot - opened_boot < expiry - opened ELSE opened <= @now + @slack END)`
	// leased: the lease hasn't run out, by no clock.
	sqlLeased = `(lease > @now AND CASE WHEN @boot_id <> '' AND lease_boot_id = @boot_id
    THEN @boot - renewed_boot < lease - renewed ELSE renewed <= @now + @slack END)`
	// held: a lease in force on a request that is alive.
	sqlHeld = `id = @id AND state = 'claimed' AND worker = @worker AND claims = @claims AND ` + sqlLeased + ` AND ` + sqlAlive
)

// The transitions, one conditional write each.
const (
	sqlInsert = `INSERT INTO requests (id, state, secret, digest, asked, opened, opened_boot, opened_boot_id, expiry, claims, worker,
  claimed, claimed_boot, renewed, renewed_boot, lease_boot_id, lease, decision, decider, ended,
  tool, tier, effect, session, mode, backend, opt_in, principal, origin, sum, bulk, args, facts, drawing, snapshot)
VALUES (@id, 'pending', @secret, @digest, @asked, @now, @boot, @boot_id, @expiry, 0, '', 0, 0, 0, 0, '', 0, 0, '', 0,
  @tool, @tier, @effect, @session, @mode, @backend, @opt_in, @principal, @origin, @sum, @bulk, @args, @facts, @drawing, @snapshot)`

	sqlSecret = `UPDATE requests SET secret = @secret
WHERE id = @id AND (state = 'pending' OR (state = 'claimed' AND NOT ` + sqlLeased + `)) AND ` + sqlAlive

	sqlClaim = `UPDATE requests SET state = 'claimed', claims = claims + 1, worker = @worker, decision = 165, decider = @decider,
  claimed = @now, claimed_boot = @boot, renewed = @now, renewed_boot = @boot, lease_boot_id = @boot_id, lease = @lease
WHERE id = @id AND secret = @secret AND digest = @digest AND claims = @claims AND claims < @max_claims
  AND (state = 'pending' OR (state = 'claimed' AND NOT ` + sqlLeased + `)) AND ` + sqlAlive

	sqlRenew = `UPDATE requests SET lease = min(@lease, claimed + @hard_stop), renewed = @now, renewed_boot = @boot
WHERE ` + sqlHeld + ` AND lease_boot_id = @boot_id AND @now < claimed + @hard_stop
  AND (@boot_id = '' OR @boot - claimed_boot < @hard_stop)`

	sqlStart = `UPDATE requests SET state = 'started' WHERE ` + sqlHeld

	// A call that begins overtakes what was asked before it in its session.
	sqlOvertake = `INSERT OR IGNORE INTO overtaken (id) SELECT o.id FROM requests AS o JOIN requests AS r ON o.session = r.session
WHERE r.id = @id AND o.seq < r.seq AND o.state IN ('pending', 'claimed')`

	sqlMoved = `INSERT OR IGNORE INTO overtaken (id) SELECT id FROM requests WHERE session = @session AND state IN ('pending', 'claimed')`

	sqlReplaced = `UPDATE requests SET state = 'withdrawn', decision = 0, answer = @answer, ended = @now WHERE ` + sqlHeld

	sqlFinishOpen = `UPDATE requests SET state = @state, answer = @answer, ended = @now, decision = CASE WHEN @state = 'rejected' THEN 1 ELSE decision END,
  decider = CASE WHEN @decider <> '' THEN @decider ELSE decider END
WHERE id = @id AND (state = 'pending' OR (state = 'claimed' AND @state <> 'rejected'))`

	sqlFinishStarted = `UPDATE requests SET state = @state, answer = @answer, ended = @now,
  decider = CASE WHEN @decider <> '' THEN @decider ELSE decider END WHERE id = @id AND state = 'started'`

	sqlExpire = `UPDATE requests SET state = 'expired', ended = @now WHERE id = @id AND state IN ('pending', 'claimed')`

	sqlExpireAll = `UPDATE requests SET state = 'expired', ended = @now WHERE state IN ('pending', 'claimed') AND NOT ` + sqlAlive

	sqlPurge = `DELETE FROM requests WHERE state IN ('done', 'rejected', 'withdrawn', 'expired', 'stopped', 'unknown')
  AND expiry <= @now AND ended <= @now - @retention`

	sqlUnknown = `UPDATE requests SET state = 'unknown', ended = @now WHERE state = 'started' AND worker <> @worker`

	sqlReopen = `UPDATE requests SET state = 'pending', worker = '', decision = 0, decider = '', lease = 0
WHERE state = 'claimed' AND worker <> @worker`

	// The clock that nobody can set counts on from here for what was opened in an
	// earlier start of the machine, of which only the clock on the wall can tell.
	sqlRebase = `UPDATE requests SET opened = @now, opened_boot = @boot, opened_boot_id = @boot_id
WHERE state = 'pending' AND opened_boot_id <> @boot_id`
)

// The reads. Columns are in the order of scanLight.
const (
	sqlLight = `SELECT id, state, secret, digest, asked, opened, opened_boot, opened_boot_id, expiry, claims, worker,
  claimed, claimed_boot, renewed, renewed_boot, lease_boot_id, lease, decision, decider,
  tool, tier, effect, session, mode, backend, opt_in, principal, origin, sum, bulk, args, facts,
  EXISTS (SELECT 1 FROM overtaken WHERE overtaken.id = requests.id)`
	sqlGet     = sqlLight + `, answer, drawing, snapshot FROM requests WHERE id = @id`
	sqlPending = sqlLight + ` FROM requests WHERE state = 'pending' AND ` + sqlAlive + ` ORDER BY seq`
	sqlLeft    = sqlLight + ` FROM requests WHERE state IN ('claimed', 'started') AND worker <> @worker ORDER BY seq`
)
