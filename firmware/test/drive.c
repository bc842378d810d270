#include "drive.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "fake.h"
#include "number.h"

enum { BRAKE_TICKS = 12000 /* S of a stop from w, and two ramps */, STILL_TICKS = 60 };

static struct {
	const uint8_t *data;
	size_t n;
	struct drive_seen *seen;
	struct decoder line; /* what the core's own decoder makes of the bytes */
	struct core before;
	struct {
		int32_t told[TAU_MAX_JOINTS];
		uint32_t tellings, cuts;
	} port; /* before */
	/* Of the motion that is being filled: whether its accelerations keep to the limits, and
	 * where its last piece leaves each joint. */
	bool legit;
	double q[TAU_MAX_JOINTS], v[TAU_MAX_JOINTS], a[TAU_MAX_JOINTS];
	int32_t step[TAU_MAX_JOINTS]; /* of the last tick */
	uint32_t braking;             /* ticks */
	uint16_t motion;
} d;

static uint8_t next(void)
{
	if (d.n == 0) {
		return 0;
	}
	d.n--;
	return *d.data++;
}

static uint16_t next16(void)
{
	uint8_t low = next();

	return (uint16_t)(low | next() << 8);
}

/* -1 to 1. */
static double next_signed(void)
{
	return ((int)next() - 128) / 128.0;
}

static void remember(void)
{
	d.before = core;
	memcpy(d.port.told, fake.told, sizeof fake.told);
	d.port.tellings = fake.tellings;
	d.port.cuts = fake.cuts;
}

static bool limited(uint8_t j)
{
	return (core.referenced & core.configured & bit(j)) != 0;
}

/* What holds at any time. */
static void always(void)
{
	CHECK(core.state <= FAULT);
	CHECK(core.fault < FAULTS);
	CHECK(!core.enabled || (core.fault == NONE && core.powered));
	CHECK(core.powered == fake.power);
	CHECK(core.state != FAULT || core.fault != NONE);
	CHECK((core.state != IDLE && core.state != HOLD && core.state != LOADED && core.state != MOVING) ||
	      core.fault == NONE);
	CHECK(core.enabled == (core.state == HOLD || core.state == LOADED || core.state == MOVING ||
			       (core.state == BRAKING && core.fault == NONE)));
	CHECK(core.held <= core.slots && core.head < core.slots);
	CHECK(core.parts < core.board->joints);
	CHECK(core.ahead <= AHEAD_MS); /* (4) */
	CHECK(core.state == LOADED || core.state == MOVING || (core.held == 0 && core.parts == 0));
	CHECK(core.fault != WATCHDOG || !core.enabled);
	/* (5) */
	if (d.before.fault != NONE && core.fault != NONE) {
		CHECK_EQUAL(core.fault, d.before.fault);
		CHECK_EQUAL(core.fault_channel, d.before.fault_channel);
	}
	if (core.fault != NONE && d.before.fault == NONE) {
		d.seen->faults[core.fault]++;
	}
	/* The power never goes off while something moves. */
	CHECK(fake.cuts == d.port.cuts || (core.state != MOVING && core.state != BRAKING));
	for (uint8_t j = 0; j < core.board->joints; j++) {
		int32_t q = fake.told[j];

		CHECK_EQUAL(core.powered ? q : core.joint[j].q, core.joint[j].q);
		if (q != d.port.told[j] && limited(j)) {
			CHECK(q >= core.joint[j].limits.lower && q <= core.joint[j].limits.upper);
		}
	}
}

/* (7) */
static void tighter(void)
{
	for (uint8_t j = 0; j < core.board->joints; j++) {
		const struct limits *now = &core.joint[j].limits, *was = &d.before.joint[j].limits;

		if ((d.before.configured & bit(j)) != 0) {
			CHECK(now->lower >= was->lower && now->upper <= was->upper && now->v <= was->v);
			CHECK(now->a <= was->a && now->ramp <= was->ramp && now->flags == was->flags);
		}
	}
	CHECK((core.configured & d.before.configured) == d.before.configured);
}

static void after_frame(uint8_t type, uint8_t joint)
{
	bool go = core.state == MOVING && d.before.state != MOVING;

	tighter();
	/* (1) */
	CHECK(!go || (type == GO && d.before.state == LOADED && d.before.fault == NONE && d.before.enabled));
	if (go) {
		d.seen->motions++;
	}
	CHECK(core.state != LOADED || type == BEGIN || d.before.state == LOADED);
	CHECK(core.state != BRAKING || d.before.state == BRAKING || d.before.state == MOVING);
	CHECK(d.before.state != BRAKING || core.state == BRAKING);
	CHECK(core.enabled <= (d.before.enabled || type == ENABLE));
	CHECK(d.before.fault == NONE || core.fault != NONE || type == CLEAR);
	for (uint8_t j = 0; j < core.board->joints; j++) {
		bool counts = fake.channels[j].feedback == TAU_FEEDBACK_STEPS;

		if (fake.told[j] != d.port.told[j]) {
			/* (6), and a count that gets its place */
			CHECK((type == ENABLE && !d.before.powered && !counts) ||
			      (type == REFERENCE && counts && j == joint));
		}
	}
	if (type == STOP) { /* (2) */
		CHECK_EQUAL(core.stops, d.before.stops == 0xFFFF ? 0xFFFF : d.before.stops + 1);
		CHECK(core.state != MOVING && core.state != LOADED && !core.report_holds);
		CHECK(d.before.state != MOVING || core.state == BRAKING);
		d.seen->stops++;
	} else {
		CHECK_EQUAL(core.stops, d.before.stops);
	}
	always();
}

static void byte(uint8_t b)
{
	bool frame;

	remember();
	frame = decoder_take(&d.line, b);
	tau_receive(b);
	if (frame) {
		after_frame(d.line.body[0], d.line.body[2]);
	} else {
		/* (8) */
		struct core same = core;

		same.decoder = d.before.decoder;
		CHECK(memcmp(&same, &d.before, sizeof same) == 0);
		CHECK_EQUAL(fake.tellings, d.port.tellings);
	}
}

/* A brake goes on from where the motion was: no step of velocity beyond what A makes. */
static void smooth(uint8_t j, int32_t step)
{
	const struct limits *l = &core.joint[j].limits;
	bool at_limit = limited(j) && (fake.told[j] == l->lower || fake.told[j] == l->upper ||
				       d.port.told[j] == l->lower || d.port.told[j] == l->upper);

	if (core.state != BRAKING || at_limit || (d.braking == 0 && !d.legit)) {
		return;
	}
	d.seen->brakes_checked++;
	check_that(abs(step - d.step[j]) <= l->a / 65536 + 12, __FILE__, __LINE__,
		   "joint %d: %ld after %ld in a tick, A is %ld, %s", j, (long)step, (long)d.step[j],
		   (long)(l->a / 65536), d.braking != 0 ? "in the brake" : "as it begins");
}

static void tick(void)
{
	remember();
	tau_tick();
	d.seen->ticks++;
	tighter();
	always();
	CHECK(core.state != MOVING || d.before.state == MOVING);
	CHECK(core.state != LOADED || d.before.state == LOADED);
	CHECK(core.state != BRAKING || d.before.state == BRAKING || d.before.state == MOVING);
	CHECK(core.state != IDLE || d.before.state == IDLE);
	CHECK(d.before.fault == NONE || core.fault != NONE);
	CHECK_EQUAL(core.stops, d.before.stops);
	for (uint8_t j = 0; j < core.board->joints; j++) {
		int32_t step = fake.told[j] - d.port.told[j];

		if (step != 0) {
			d.seen->moved++;
			CHECK(d.before.state == MOVING || d.before.state == BRAKING); /* (1) */
			CHECK(abs(step) <= (piece_fastest(core.joint[j].limits.v) >> 8) + 2 * ROUNDING);
		}
		smooth(j, step);
		d.step[j] = step;
	}
	d.braking = core.state == BRAKING ? d.braking + 1 : 0;
	CHECK(d.braking < BRAKE_TICKS);
}

static void ticks(unsigned n)
{
	while (n-- > 0) {
		tick();
	}
}

static void bytes(const uint8_t *p, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		byte(p[i]);
	}
}

static void send(uint8_t type, uint8_t seq, const uint8_t *payload, uint8_t length)
{
	uint8_t frame[TAU_MAX_FRAME];

	fake.n = 0;
	frame[1] = type;
	frame[2] = seq;
	if (length != 0) {
		memcpy(frame + 3, payload, length);
	}
	bytes(frame, frame_code(frame, (uint8_t)(length + 2)));
}

static void ask(uint8_t type, const uint8_t *payload, uint8_t length)
{
	send(type, core.expected, payload, length);
}

static void greet(void)
{
	static const uint8_t hello[] = {'t', 'a', 'u', TAU_VERSION, 1, 2, 3, 4};

	ask(HELLO, hello, sizeof hello);
}

/* Limits, from slow and narrow to the widest that there are. */
static void configure(void)
{
	uint8_t how = next(), p[20];

	for (uint8_t j = 0; j < core.board->joints; j++) {
		const struct tau_channel *c = &fake.channels[j];
		int32_t half = (c->upper - c->lower) / 2, middle = c->lower + half;
		uint32_t v = UINT32_C(1) << (10 + (how & 7) + (j & 1)), a;

		half >>= how >> 6;
		a = v * (how & 8 ? 64 : 4);
		p[0] = j;
		p[1] = how >> 4 & 3;
		put_u32(p + 2, (uint32_t)(middle - half));
		put_u32(p + 6, (uint32_t)(middle + half));
		put_u32(p + 10, v);
		put_u32(p + 14, a);
		put_u16(p + 18, (uint16_t)(1 + (how & 8 ? 5 : 60)));
		ask(CONFIGURE, p, sizeof p);
	}
	for (uint8_t o = 0; o < core.board->outputs; o++) {
		p[0] = o;
		p[1] = how & 1;
		p[2] = how >> 1 & 1;
		put_u16(p + 3, how >> 2 & 1);
		put_u16(p + 5, 200);
		ask(CONFIGURE_OUTPUT, p, 7);
	}
}

static void enable(void)
{
	uint8_t p[2 + 4 * TAU_MAX_JOINTS];
	double place = next_signed();

	p[0] = core.fault;
	ask(CLEAR, p, 1);
	ask(REPORT, NULL, 0);
	put_u16(p, core.report);
	for (uint8_t j = 0; j < core.board->joints; j++) {
		const struct limits *l = &core.joint[j].limits;
		int32_t middle = l->lower / 2 + l->upper / 2;
		int32_t q = middle + (int32_t)((l->upper / 2 - l->lower / 2) * place);
		bool fixed = core.powered || fake.channels[j].feedback == TAU_FEEDBACK_STEPS;

		put_u32(p + 2 + 4 * j, (uint32_t)(fixed ? core.joint[j].q : q));
	}
	ask(ENABLE, p, (uint8_t)(2 + 4 * core.board->joints));
}

static void reference(void)
{
	uint8_t p[5], j = next() % core.board->joints;
	int32_t q = (int32_t)(next_signed() * 1000000);

	p[0] = j;
	put_u32(p + 1, (uint32_t)q);
	ask(REFERENCE, p, sizeof p);
}

static void begin(void)
{
	uint8_t p[5], how = next();

	put_u16(p, ++d.motion);
	put_u16(p + 2, core.stops);
	p[4] = how < 128 ? NO_SEEK : how % TAU_MAX_JOINTS;
	ask(BEGIN, p, sizeof p);
	if (core.state != LOADED || core.motion != d.motion) {
		return;
	}
	d.legit = true;
	for (uint8_t j = 0; j < core.board->joints; j++) {
		d.q[j] = core.joint[j].q;
		d.v[j] = 0;
		d.a[j] = 0;
	}
}

static void go(void)
{
	uint8_t p[2];

	put_u16(p, d.motion);
	ask(GO, p, sizeof p);
}

/* The next piece, of positions q and velocities v. */
static void segment(uint8_t ticks, const int32_t *q, const int32_t *v, bool last)
{
	uint8_t joints = core.board->joints, done = 0, index = core.index;

	while (done < joints) {
		uint8_t here = (uint8_t)(joints - done < 4 ? joints - done : 4), p[3 + 4 * PIECE_JOINT];

		p[0] = index;
		p[1] = ticks;
		p[2] = (uint8_t)(done | (last ? 0x80 : 0));
		for (uint8_t i = 0; i < here; i++) {
			uint8_t *to = p + 3 + PIECE_JOINT * i;

			put_u32(to, (uint32_t)q[done + i]);
			put_u16(to + 4, (uint16_t)v[done + i]);
			to[6] = (uint8_t)((uint32_t)v[done + i] >> 16);
		}
		ask(SEGMENT, p, (uint8_t)(3 + here * PIECE_JOINT));
		done = (uint8_t)(done + here);
	}
}

/* A piece of constant jerk within the limits, as far as that can be. */
static void piece(bool last)
{
	uint8_t ticks = (uint8_t)(1 + next() % (last ? 100 : 40));
	int32_t q[TAU_MAX_JOINTS], v[TAU_MAX_JOINTS];
	double wish = next_signed();

	d.legit = d.legit && !last;
	for (uint8_t j = 0; j < core.board->joints; j++) {
		const struct limits *l = &core.joint[j].limits;
		double A = l->a / 65536.0, V = l->v / 256.0, t = ticks;
		double a = A * (j & 1 ? -wish : wish), from = d.a[j];

		/* Not beyond V, and not on when it is reached. */
		if (fabs(d.v[j] + (from + a) * t / 2) > V) {
			a = -from;
		}
		if (fabs(d.v[j] + (from + a) * t / 2) > V || fabs(a) > A) {
			a = 0;
		}
		d.q[j] += last ? d.v[j] * t / 2 : d.v[j] * t + (2 * from + a) * t * t / 6;
		d.v[j] = last ? 0 : d.v[j] + (from + a) * t / 2;
		d.a[j] = a;
		q[j] = (int32_t)lround(fmax(-2e9, fmin(2e9, d.q[j])));
		v[j] = (int32_t)lround(d.v[j] * 256);
	}
	segment(ticks, q, v, last);
}

static void wild(void)
{
	int32_t q[TAU_MAX_JOINTS], v[TAU_MAX_JOINTS];
	uint8_t ticks = next();
	int how = next();

	d.legit = false;
	for (uint8_t j = 0; j < core.board->joints; j++) {
		const struct limits *l = &core.joint[j].limits;
		double far = l->v / 256.0 * ticks * (how & 1 ? 1.3 : 0.3);

		q[j] = (int32_t)fmax(-2e9, fmin(2e9, d.q[j] + far * next_signed()));
		v[j] = (int32_t)(l->v * next_signed() * (how & 2 ? 1.01 : 1));
		d.q[j] = q[j];
		d.v[j] = v[j] / 256.0;
	}
	segment(ticks, q, v, (how & 15) == 0);
}

static void frame(bool in_turn)
{
	uint8_t payload[TAU_MAX_PAYLOAD], type = next(), length = next() % (TAU_MAX_PAYLOAD + 1);

	type = type < 192 ? type & 15 : type;
	for (uint8_t i = 0; i < length; i++) {
		payload[i] = next();
	}
	d.legit = d.legit && type != SEGMENT;
	send(type, in_turn ? core.expected : next(), payload, length);
}

static void noise(void)
{
	for (uint8_t n = next() % 80; n > 0; n--) {
		byte(next());
	}
}

static void inputs(void)
{
	uint8_t how = next();

	fake.estop = how >= 250;
	fake.deaf = how >= 240 && how < 250;
	fake.switches = how & 1 ? 0 : (uint8_t)(how >> 1 & next());
}

static void stop(void)
{
	uint8_t how = next(), kind = how & 3;

	send(STOP, next(), &kind, how < 240 ? 1 : 0);
}

static void set_output(void)
{
	uint8_t p[3];

	p[0] = next() % TAU_MAX_OUTPUTS;
	put_u16(p + 1, next());
	ask(OUTPUT, p, sizeof p);
}

static void beat(void)
{
	static const uint8_t ms[4] = {1, 2, 3, 4};

	ask(HEARTBEAT, ms, sizeof ms);
}

/* Time with a host that is there. */
static void pass(unsigned n)
{
	for (; n > 40; n -= 40) {
		ticks(40);
		beat();
	}
	ticks(n);
	beat();
}

/* A motion from its beginning to its end. */
static void whole(void)
{
	begin();
	for (uint8_t pieces = next() % 5; pieces > 0; pieces--) {
		piece(false);
	}
	piece(true);
	go();
	pass(260);
}

static void motion(void)
{
	uint8_t pieces = (uint8_t)(2 + next() % 8);

	begin();
	while (pieces-- > 0) {
		piece(false);
	}
	go();
}

static void step(void)
{
	uint8_t op = next();

	if (op < 48) {
		pass(1 + op);
	} else if (op < 60) {
		ticks(op);
	} else if (op < 72) {
		whole();
	} else if (op < 96) {
		inputs();
		pass(op & 15);
	} else if (op < 128) {
		piece(false);
		ticks(op & 15);
	} else if (op < 152) {
		motion();
	} else if (op < 160) {
		begin();
		wild();
		wild();
		go();
	} else if (op < 168) {
		wild();
	} else if (op < 176) {
		piece(true);
	} else if (op < 184) {
		stop();
	} else if (op < 200) {
		enable();
	} else if (op < 206) {
		configure();
	} else if (op < 212) {
		reference();
	} else if (op < 224) {
		set_output();
	} else if (op < 232) {
		frame(true);
	} else if (op < 235) {
		frame(false);
	} else if (op < 243) {
		noise();
	} else if (op < 246) {
		greet();
	} else if (op < 249) {
		go();
	} else if (op == 249) {
		ticks(next16() % 700);
	} else if (op == 250) {
		beat();
	} else if (op == 251) {
		remember();
		tau_overload();
		always();
	} else if (op == 252) {
		ask(DISABLE, NULL, 0);
	} else {
		begin();
	}
}

/* (2): whatever was, a STOP ends at rest, and it stays there. */
static void come_to_rest(void)
{
	uint8_t kind = 0;

	fake.deaf = false;
	fake.estop = false;
	byte(0);
	send(STOP, next(), &kind, 1);
	for (unsigned i = 0; core.state == BRAKING && i < BRAKE_TICKS; i++) {
		tick();
	}
	CHECK(core.state == IDLE || core.state == HOLD || core.state == FAULT);

	uint32_t tellings = fake.tellings;

	ticks(STILL_TICKS);
	CHECK_EQUAL(fake.tellings, tellings);
	d.seen->rests++;
}

void drive(const uint8_t *data, size_t n, struct drive_seen *seen)
{
	memset(&d, 0, sizeof d);
	d.data = data;
	d.n = n;
	d.seen = seen;

	uint8_t what = next();
	uint8_t servos = what & 7, steppers = what >> 3 & 3;

	if (servos + steppers == 0 || servos + steppers > TAU_MAX_JOINTS) {
		servos = 2;
		steppers = 0;
	}
	fake_make(servos, steppers, what >> 5 & 3);
	for (uint8_t j = servos; j < servos + steppers && (what & 128) != 0; j++) {
		fake.channels[j].sw = TAU_NO_SWITCH;
	}
	fake_boot();
	remember();
	if (next() < 250) {
		greet();
		configure();
		enable();
	}
	while (d.n != 0) {
		step();
	}
	come_to_rest();
}
