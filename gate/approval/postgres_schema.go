package approval

import "slices"

// pgVersion is the schema that this program knows. Each version adds to the one before.
const pgVersion = 1

// pgSteps makes a schema of each version from the one before it. Times are Unix
// nanoseconds, boot times nanoseconds since the start of the machine that boot_id
// names; what came from outside is bytea, because it is kept as it is, whatever bytes
// it has.
//
// owner is the generation of the bridge that has the request: the number of a lock
// that a bridge holds for as long as it lives. home names that bridge for good, keeper
// is what people call it. nonce is the asking that is open there; posted, posted_by,
// posted_reason and posted_at are the answer that another bridge has posted to it.
var pgSteps = [][]string{{
	`CREATE TABLE requests (
  seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  id bytea NOT NULL UNIQUE CHECK (length(id) BETWEEN 1 AND 512),
  state text NOT NULL CHECK (state IN ('pending','claimed','started','done','rejected','withdrawn','expired','stopped','unknown')),
  secret bytea NOT NULL CHECK (length(secret) = 32),
  digest bytea NOT NULL CHECK (length(digest) = 32),
  asked bigint NOT NULL,
  opened bigint NOT NULL,
  opened_boot bigint NOT NULL,
  opened_boot_id text NOT NULL,
  expiry bigint NOT NULL,
  claims integer NOT NULL CHECK (claims >= 0),
  worker bytea NOT NULL,
  claimed bigint NOT NULL,
  claimed_boot bigint NOT NULL,
  renewed bigint NOT NULL,
  renewed_boot bigint NOT NULL,
  lease_boot_id text NOT NULL,
  lease bigint NOT NULL,
  decision smallint NOT NULL CHECK (decision IN (0, 1, 165)),
  decider bytea NOT NULL,
  ended bigint NOT NULL,
  gone_on boolean NOT NULL DEFAULT false,
  owner bigint NOT NULL CHECK (owner > 0),
  home bytea NOT NULL CHECK (length(home) > 0),
  keeper bytea NOT NULL,
  nonce bytea NOT NULL DEFAULT '',
  nonce_until bigint NOT NULL DEFAULT 0,
  posted smallint NOT NULL DEFAULT 0 CHECK (posted IN (0, 1, 165)),
  posted_by bytea NOT NULL DEFAULT '',
  posted_reason bytea NOT NULL DEFAULT '',
  posted_proof bytea NOT NULL DEFAULT '' CHECK (length(posted_proof) <= 65536),
  said bytea NOT NULL DEFAULT '',
  posted_at timestamptz,
  tool bytea NOT NULL,
  tier smallint NOT NULL CHECK (tier BETWEEN 0 AND 2),
  effect bytea NOT NULL,
  session bytea NOT NULL,
  mode bytea NOT NULL,
  backend bytea NOT NULL,
  opt_in bytea NOT NULL,
  principal bytea NOT NULL,
  origin bytea NOT NULL,
  sum bytea NOT NULL CHECK (length(sum) = 32),
  bulk bytea NOT NULL CHECK (length(bulk) = 32),
  args bytea,
  facts bytea NOT NULL,
  answer bytea,
  drawing bytea,
  snapshot bytea NOT NULL,
  CHECK (state <> 'pending' OR (worker = '' AND decision = 0 AND ended = 0)),
  CHECK (state NOT IN ('claimed','started','done','unknown') OR (claims > 0 AND worker <> '' AND decider <> '' AND decision = 165)),
  CHECK (state NOT IN ('claimed','started') OR ended = 0),
  CHECK ((posted = 0) = (posted_at IS NULL)),
  CHECK (expiry > opened)
)`,
	// Bulk is kept beside the row, as it is: a list reads none of it.
	`ALTER TABLE requests ALTER COLUMN drawing SET STORAGE EXTERNAL, ALTER COLUMN snapshot SET STORAGE EXTERNAL, ALTER COLUMN answer SET STORAGE EXTERNAL`,
	`CREATE INDEX requests_by_state ON requests (state, seq)`,
	// The generations that live: a lock is held for as long as its session goes on.
	`CREATE VIEW living AS SELECT (classid::bigint << 32) | objid::bigint AS generation FROM pg_locks
WHERE locktype = 'advisory' AND granted AND objsubid = 1 AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`,
	pgGrantsTable, pgRoutinesTable, pgRoutinesIndex, pgRoutinesStorage,
}}

// The conditions. Their parameters are named, and cast where nothing else says what
// they are.
const (
	pgAlive = `(expiry > @now::bigint AND CASE WHEN @boot_id::text <> '' AND opened_boot_id = @boot_id::text
    THEN @boot::bigint - opened_boot < expiry - opened ELSE opened <= @now::bigint + @slack::bigint END)`
	pgLeased = `(lease > @now::bigint AND CASE WHEN @boot_id::text <> '' AND lease_boot_id = @boot_id::text
    THEN @boot::bigint - renewed_boot < lease - renewed ELSE renewed <= @now::bigint + @slack::bigint END)`
	// mine: this bridge has it, or one that has ended.
	pgMine = `(owner = @me::bigint OR owner NOT IN (SELECT generation FROM living))`
	// ours: this bridge has it, or had it in an earlier life. Another's has to be taken
	// up first.
	pgOurs = `(owner = @me::bigint OR home = @home::bytea AND owner NOT IN (SELECT generation FROM living))`
	// own: this bridge has it, in this life or an earlier one. What a bridge left long
	// ago may be cleared away by any.
	pgOwn = `(home = @home::bytea OR expiry <= @now::bigint - 86400000000000)`
	// I live: the server says so now, whatever this process believes.
	pgLive = `@me::bigint IN (SELECT generation FROM living)`
	pgHeld = `id = @id AND state = 'claimed' AND worker = @worker AND claims = @claims AND owner = @me::bigint AND ` + pgLive + ` AND ` + pgLeased + ` AND ` + pgAlive
	// What is written to many rows goes in their order and around those that somebody
	// else is writing to: nobody waits in a circle.
	pgEach = `seq IN (SELECT seq FROM requests WHERE `
	pgSkip = ` ORDER BY seq FOR UPDATE SKIP LOCKED)`
	// taken: the request is this bridge's from here on, and nothing is posted to it.
	pgTaken = `owner = @me::bigint, home = @home::bytea, keeper = @keeper::bytea`
	pgNone  = `posted = 0, posted_by = '', posted_reason = '', posted_proof = '', posted_at = NULL`
	pgBlank = `nonce = '', nonce_until = 0, said = '', ` + pgNone
)

// The transitions, one conditional write each.
const (
	pgInsert = `INSERT INTO requests (id, state, secret, digest, asked, opened, opened_boot, opened_boot_id, expiry, claims, worker,
  claimed, claimed_boot, renewed, renewed_boot, lease_boot_id, lease, decision, decider, ended, owner, home, keeper,
  tool, tier, effect, session, mode, backend, opt_in, principal, origin, sum, bulk, args, facts, drawing, snapshot)
SELECT @id, 'pending', @secret, @digest, @asked::bigint, @now::bigint, @boot::bigint, @boot_id::text, @expiry::bigint, 0, '',
  0, 0, 0, 0, '', 0, 0, '', 0, @me::bigint, @home::bytea, @keeper::bytea,
  @tool::bytea, @tier::smallint, @effect::bytea, @session::bytea, @mode::bytea, @backend::bytea, @opt_in::bytea, @principal::bytea, @origin::bytea,
  @sum::bytea, @bulk::bytea, @args::bytea, @facts::bytea, @drawing::bytea, @snapshot::bytea
WHERE ` + pgLive + ` ON CONFLICT (id) DO NOTHING`

	pgSecret = `UPDATE requests SET secret = @secret, ` + pgTaken + `
WHERE id = @id AND (state = 'pending' OR (state = 'claimed' AND NOT ` + pgLeased + `)) AND ` + pgOurs + ` AND ` + pgLive + ` AND ` + pgAlive

	pgClaim = `UPDATE requests SET state = 'claimed', claims = claims + 1, worker = @worker, decision = 165, decider = @decider,
  claimed = @now::bigint, claimed_boot = @boot::bigint, renewed = @now::bigint, renewed_boot = @boot::bigint, lease_boot_id = @boot_id::text, lease = @lease::bigint,
  ` + pgTaken + `, ` + pgBlank + `
WHERE id = @id AND secret = @secret AND digest = @digest AND claims = @claims AND claims < @max_claims
  AND (state = 'pending' OR (state = 'claimed' AND NOT ` + pgLeased + `)) AND ` + pgOurs + ` AND ` + pgLive + ` AND ` + pgAlive

	pgRenew = `UPDATE requests SET lease = least(@lease::bigint, claimed + @hard_stop::bigint), renewed = @now::bigint, renewed_boot = @boot::bigint
WHERE ` + pgHeld + ` AND lease_boot_id = @boot_id::text AND @now::bigint < claimed + @hard_stop::bigint
  AND (@boot_id::text = '' OR @boot::bigint - claimed_boot < @hard_stop::bigint)`

	// A call that begins overtakes what was asked before it in its session.
	pgStart = `WITH began AS (UPDATE requests SET state = 'started' WHERE ` + pgHeld + ` RETURNING seq, session, home),
overtaken AS (UPDATE requests AS o SET gone_on = true FROM began
  WHERE o.session = began.session AND o.home = began.home AND o.seq < began.seq AND o.state IN ('pending', 'claimed'))
SELECT seq FROM began`

	pgMoved = `UPDATE requests SET gone_on = true WHERE session = @session::bytea AND home = @home::bytea AND state IN ('pending', 'claimed')`

	pgReplaced = `UPDATE requests SET state = 'withdrawn', decision = 0, answer = @answer, ended = @now::bigint WHERE ` + pgHeld

	pgFinishOpen = `UPDATE requests SET state = @state::text, answer = @answer, ended = @now::bigint,
  decision = CASE WHEN @state::text = 'rejected' THEN 1 ELSE decision END, decider = CASE WHEN @decider::bytea <> '' THEN @decider::bytea ELSE decider END
WHERE id = @id AND (state = 'pending' OR (state = 'claimed' AND @state::text <> 'rejected')) AND ` + pgMine

	pgFinishStarted = `UPDATE requests SET state = @state::text, answer = @answer, ended = @now::bigint,
  decider = CASE WHEN @decider::bytea <> '' THEN @decider::bytea ELSE decider END
WHERE id = @id AND state = 'started' AND home = @home::bytea AND ` + pgMine

	pgExpire = `UPDATE requests SET state = 'expired', ended = @now::bigint WHERE id = @id AND state IN ('pending', 'claimed') AND ` + pgMine

	pgExpireAll = `UPDATE requests SET state = 'expired', ended = @now::bigint WHERE ` + pgEach + `state IN ('pending', 'claimed') AND ` + pgOwn + ` AND NOT ` + pgAlive + pgSkip

	pgPurge = `DELETE FROM requests WHERE ` + pgEach + `state IN ('done', 'rejected', 'withdrawn', 'expired', 'stopped', 'unknown')
  AND expiry <= @now::bigint AND ended <= @now::bigint - @retention::bigint AND ` + pgOwn + pgSkip

	// left: what a worker that has ended was at: another one of this process, or one
	// whose bridge doesn't live.
	pgLeft    = `worker <> @worker::bytea AND ` + pgMine
	pgUnknown = `UPDATE requests SET state = 'unknown', ended = @now::bigint WHERE ` + pgEach + `state = 'started' AND ` + pgLeft + ` ORDER BY seq FOR UPDATE)`
	pgReopen  = `UPDATE requests SET state = 'pending', worker = '', decision = 0, decider = '', lease = 0, ` + pgBlank + `
WHERE ` + pgEach + `state = 'claimed' AND ` + pgLeft + ` ORDER BY seq FOR UPDATE)`

	// What this bridge asked in an earlier life is its own again, and nothing that was
	// posted to it then counts; the clock that nobody can set counts on from here for
	// what was opened in an earlier start of the machine.
	pgAdoptOwn = `UPDATE requests SET ` + pgTaken + `, ` + pgBlank + ` WHERE state = 'pending' AND home = @home::bytea AND owner <> @me::bigint AND ` + pgMine
	pgRebase   = `UPDATE requests SET opened = @now::bigint, opened_boot = @boot::bigint, opened_boot_id = @boot_id::text
WHERE state = 'pending' AND owner = @me::bigint AND opened_boot_id <> @boot_id::text`
)

// The reads. Columns are in the order of pgRow.dest.
const (
	pgLight = `SELECT id, state, secret, digest, asked, opened, opened_boot, opened_boot_id, expiry, claims, worker,
  claimed, claimed_boot, renewed, renewed_boot, lease_boot_id, lease, decision, decider,
  tool, tier, effect, session, mode, backend, opt_in, principal, origin, sum, bulk, args, facts, gone_on,
  owner, home, keeper, nonce, nonce_until, posted, posted_by, said, ` + pgMine + ` AS mine, owner IN (SELECT generation FROM living) AS lives`
	pgGet     = pgLight + `, answer, drawing, snapshot FROM requests WHERE id = @id`
	pgPending = pgLight + ` FROM requests WHERE state = 'pending' AND ` + pgAlive + ` ORDER BY seq`
	pgTodo    = pgLight + ` FROM requests WHERE state IN ('claimed', 'started') AND ` + pgLeft + ` ORDER BY seq FOR UPDATE`
)

// Between bridges.
const (
	// asks: the question lies open on this bridge's desk, and an answer to it names
	// this nonce.
	pgAsks = `WITH asked AS (UPDATE requests SET nonce = @nonce::bytea, nonce_until = @until::bigint
  WHERE id = @id AND state = 'pending' AND owner = @me::bigint RETURNING seq)
SELECT seq, pg_notify(@channel::text, '') FROM asked`

	// Of any number of answers that are posted to a bridge that lives the first is kept;
	// one that nobody has taken within its time is none. A no may come before the
	// question is open: it gives no power.
	pgPost = `WITH post AS (UPDATE requests SET posted = @posted::smallint, posted_by = @by::bytea, posted_reason = @reason::bytea,
    posted_proof = @proof::bytea, posted_at = clock_timestamp(), said = ''
  WHERE id = @id AND state = 'pending' AND digest = @digest AND owner <> @me::bigint AND owner IN (SELECT generation FROM living)
    AND (posted = 0 OR posted_at <= clock_timestamp() - @stale::interval) AND (@posted::smallint = 1 OR nonce <> '') AND ` + pgAlive + ` RETURNING seq)
SELECT seq, pg_notify(@channel::text, '') FROM post`

	// take: what is posted is handed out once, to the bridge that has the request.
	pgTake = `WITH old AS (SELECT seq, posted, posted_by, posted_reason, posted_proof FROM requests
  WHERE id = @id AND state = 'pending' AND owner = @me::bigint AND posted <> 0 AND posted_at > clock_timestamp() - @stale::interval AND ` + pgLive + ` FOR UPDATE)
UPDATE requests SET ` + pgNone + ` FROM old WHERE requests.seq = old.seq
RETURNING old.posted, old.posted_by, old.posted_reason, old.posted_proof`

	pgPosted = `SELECT id, posted FROM requests WHERE state = 'pending' AND owner = @me::bigint AND posted <> 0 ORDER BY seq`

	// says: why what was posted wasn't taken, for whoever posted it.
	pgSays = `WITH said AS (UPDATE requests SET said = @said::bytea WHERE id = @id AND owner = @me::bigint RETURNING seq)
SELECT seq, pg_notify(@channel::text, '') FROM said`

	// adopt: a request of a bridge that has ended becomes this one's, if nobody was
	// quicker.
	pgAdopt = `UPDATE requests SET ` + pgTaken + `, ` + pgBlank + `, opened = @now::bigint, opened_boot = @boot::bigint, opened_boot_id = @boot_id::text
WHERE id = @id AND state = 'pending' AND owner <> @me::bigint AND ` + pgMine + ` AND ` + pgLive + ` AND ` + pgAlive

	pgShares = pgLight + ` FROM requests WHERE state = 'pending' AND home <> @home::bytea AND ` + pgAlive + ` ORDER BY seq`

	// A bridge that was cut off and is back: what it asks, and what it runs, is still
	// its own, if nobody has taken it up. What it had claimed and not begun isn't.
	pgBack = `UPDATE requests SET owner = @me::bigint WHERE home = @home::bytea AND owner = ANY(@before::bigint[]) AND state IN ('pending', 'started')`
)

// pgStatements is every statement that has to be possible on a schema.
var pgStatements = slices.Concat([]string{
	pgInsert, pgSecret, pgClaim, pgRenew, pgStart, pgMoved, pgReplaced, pgFinishOpen, pgFinishStarted, pgExpire, pgExpireAll, pgPurge,
	pgUnknown, pgReopen, pgAdoptOwn, pgRebase, pgGet, pgPending, pgTodo, pgAsks, pgPost, pgTake, pgPosted, pgSays, pgAdopt, pgShares, pgBack,
}, pgPermitStatements)
