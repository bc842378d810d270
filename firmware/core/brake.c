/* The brake (PROTOCOL.md, "The brake"): three stretches for all joints together. Products
 * with a fraction in 16 bits stand for divisions, which cost an AVR 20 times as much. */
#include "core.h"
#include "number.h"

/* An acceleration above this (16 times a servo's whole travel per s each ms) is held to it,
 * so that its product with two ramps fits in 32 bits. */
#define MAX_A (INT32_C(1) << 28)

void brake_limits(struct limits *l)
{
	uint32_t a = (uint32_t)l->a;

	core.ramp = 1;
	for (uint8_t j = 0; j < core.board->joints; j++) {
		if (core.joint[j].limits.ramp > core.ramp) {
			core.ramp = core.joint[j].limits.ramp;
		}
	}
	l->farthest = (uint16_t)(piece_fastest(l->v) >> 8);
	/* a is m · 2^scale, and m has 16 bits. */
	l->scale = 0;
	while (a >= 0x10000) {
		a >>= 1;
		l->scale++;
	}
	while (a < 0x8000) {
		a <<= 1;
		l->scale--;
	}
	a = UINT32_C(0x80000000) / a;
	l->inverse = (uint16_t)(a > 0xFFFF ? 0xFFFF : a);
}

/* The time that a joint takes to stop from v at its a, in 1/256 ms. It is no more than 9 s
 * where v is one that CONFIGURE allows; with limits so low that rounding alone goes many
 * times as fast it would be minutes, which no stop may take. */
static uint32_t stopping(int32_t v, const struct limits *l)
{
	uint32_t x = magnitude(v) << 8;
	int8_t shift = (int8_t)(l->scale + 7);

	x = product((uint16_t)(x >> 16), l->inverse) + (product((uint16_t)x, l->inverse) >> 16);
	x = shift < 0 ? x << -shift : x >> shift;
	return x < (uint32_t)BRAKE_MS << 8 ? x : (uint32_t)BRAKE_MS << 8;
}

/* |a| / A of a joint, in 1/65536. */
static uint32_t share(int32_t a, const struct limits *l)
{
	uint32_t x = magnitude(a);

	x = product((uint16_t)(x >> 16), l->inverse) + (product((uint16_t)x, l->inverse) >> 16);
	return l->scale < 0 ? x << (1 - l->scale) : x >> l->scale << 1;
}

/* Rounded down; x is less than 2^28. */
static uint16_t root(uint32_t x)
{
	uint16_t r = 0;

	for (uint16_t step = 0x2000; step != 0; step >>= 1) {
		uint16_t more = (uint16_t)(r | step);

		if (product(more, more) <= x) {
			r = more;
		}
	}
	return r;
}

static int32_t third(int32_t x)
{
	return scale16(43691, x) >> 1; /* 2/3 of 65536 */
}

/* w: v + a·Ra/2, and no faster than a joint may be told to go. */
static int32_t after_ramp(const struct brake_joint *b, uint16_t ra, const struct limits *l)
{
	return hold(b->v + (scale8(ra, b->a) >> 1), (int32_t)l->farthest << 8);
}

/* r: the leading joint's ramp, or another's in the proportion in which that one slows
 * down, if it is longer. Stopping times are those of the joints. */
static uint16_t ramp_of(const uint32_t *times, uint8_t lead)
{
	uint16_t r = core.joint[lead].limits.ramp;

	for (uint8_t j = 0; j < core.board->joints; j++) {
		uint16_t own = core.joint[j].limits.ramp;

		/* A stopping time has 22 bits, and a ramp 10. */
		if (own > r && times[j] * own > times[lead] * r) {
			r = (uint16_t)(times[j] * own / times[lead]);
		}
	}
	return r;
}

/* Ra and Rb from the leading joint. Everything is in 1/16 of a tick. */
static void ramps(struct brake *p, uint16_t r, uint32_t time, const struct brake_joint *b,
		  const struct limits *l)
{
	uint16_t most = (uint16_t)(16 * r);
	uint16_t beta = (uint16_t)(share(b->a, l) * r >> 12);
	bool opposed = b->v != 0 && (b->v < 0) != (b->a < 0);
	uint32_t square = time * r + product(beta, beta) / 2; /* 256·(x + β²/2) */
	uint16_t rho = square >= product(most, most) ? most : root(square);

	if (opposed && rho < beta) {
		rho = beta;
	}
	if (rho > most) {
		rho = most;
	}
	p->ra = (uint16_t)((uint16_t)(opposed ? (rho > beta ? rho - beta : 0) : rho + beta) >> 4);
	p->rb = rho >> 4;
	if (p->ra == 0) {
		p->ra = 1;
	}
	if (p->rb == 0) {
		p->rb = 1;
	}
}

struct brake brake_plan(struct brake_joint *b)
{
	struct brake p;
	uint32_t times[TAU_JOINTS] = {0}, longest = 0;
	uint8_t lead = 0;

	for (uint8_t j = 0; j < core.board->joints; j++) {
		const struct limits *l = &core.joint[j].limits;

		b[j].v = hold(b[j].v, (int32_t)l->farthest << 8);
		b[j].a = hold(b[j].a, l->a < MAX_A ? l->a : MAX_A);
		times[j] = stopping(b[j].v, l);
		if (times[j] > times[lead]) {
			lead = j;
		}
	}
	ramps(&p, ramp_of(times, lead), times[lead], &b[lead], &core.joint[lead].limits);
	for (uint8_t j = 0; j < core.board->joints; j++) {
		const struct limits *l = &core.joint[j].limits;
		uint32_t time = stopping(after_ramp(&b[j], p.ra, l), l);

		if (time > longest) {
			longest = time;
		}
	}
	uint32_t ends = (uint32_t)(p.ra + p.rb) << 7; /* (Ra + Rb)/2 in 1/256 */
	uint16_t twice;

	p.c = longest > ends ? (uint16_t)((longest - ends + 255) >> 8) : 0;
	twice = (uint16_t)(p.ra + 2 * p.c + p.rb);
	p.rise = (uint16_t)(((uint32_t)p.ra << 16) / twice);
	p.fall = (uint16_t)(((uint32_t)p.rb << 16) / twice);
	return p;
}

/* The three ways; with v1 = w − p·Ra/2 and v2 = p·Rb/2 their accelerations need no
 * reckoning: Ra·(v + 2·w − p·Ra/2)/3, C·(v1 + v2)/2, Rb·v2/3. */
static int32_t first(uint16_t ra, int32_t v, int32_t w, int32_t lost)
{
	return third(scale8(ra, v + 2 * w - lost));
}

static int32_t second(uint16_t c, int32_t v1, int32_t v2)
{
	return scale8(c, v1 + v2) >> 1;
}

static int32_t last(uint16_t rb, int32_t v2)
{
	return third(scale8(rb, v2));
}

int32_t brake_way(const struct brake *p, const struct brake_joint *b, const struct limits *l)
{
	int32_t w = after_ramp(b, p->ra, l);
	int32_t lost = scale16(p->rise, w), v2 = scale16(p->fall, w);

	return first(p->ra, b->v, w, lost) + second(p->c, w - lost, v2) + last(p->rb, v2);
}

uint16_t brake_longest(const int32_t *v)
{
	uint32_t slowest = 0;

	for (uint8_t j = 0; j < core.board->joints; j++) {
		uint32_t s = stopping(v[j], &core.joint[j].limits);

		if (s > slowest) {
			slowest = s;
		}
	}
	/* Ra is at most two ramps and Rb one; with C they are at most the time from w, and
	 * that is at most a ramp more than from v, or else there is no C. Roundings besides. */
	return (uint16_t)((uint16_t)(slowest >> 8) + 3 * core.ramp + 4);
}

int32_t brake_farthest(uint16_t longest, int32_t v, const struct limits *l)
{
	int32_t most = l->a < MAX_A ? l->a : MAX_A;

	most = scale8(core.ramp, most) + (int32_t)magnitude(v); /* a·Ra/2 */
	return most >= MAX_V ? 2 * MAX_Q : scale8(longest, most);
}

void brake_begin(void)
{
	struct brake_joint b[TAU_JOINTS];
	uint8_t ticks = (uint8_t)core.ticks, tick = (uint8_t)core.tick;
	uint16_t inverse = ticks == 0 ? 0 : piece_inverse(ticks);

	for (uint8_t j = 0; j < core.board->joints; j++) {
		const struct way *w = &core.joint[j].way;

		if (core.motion_ms == 0) {
			/* Not one tick was made. What the cubic begins with isn't there yet. */
			b[j].v = 0;
			b[j].a = 0;
		} else if (tick < ticks) {
			b[j] = piece_mid(w->q1 - w->q0, w->v0, w->v1, tick, ticks, inverse);
		} else {
			b[j] = piece_end(w->q1 - w->q0, w->v0, w->v1, ticks, inverse);
		}
	}
	struct brake p = brake_plan(b);

	queue_empty();

	for (uint8_t j = 0; j < core.board->joints; j++) {
		struct joint *joint = &core.joint[j];
		int32_t w = after_ramp(&b[j], p.ra, &joint->limits), lost = scale16(p.rise, w);

		joint->way.q0 = joint->q;
		joint->way.v0 = b[j].v;
		joint->way.q1 = joint->q + first(p.ra, b[j].v, w, lost);
		joint->way.v1 = w - lost;
		core.store.v2[j] = scale16(p.fall, w);
	}
	core.brake_c = p.c;
	core.brake_rb = p.rb;
	core.stretch = 0;
	piece_begin(p.ra);
}

bool brake_next(void)
{
	uint16_t rb = core.brake_rb, c = core.brake_c;

	core.stretch++;
	if (core.stretch == 1 && c == 0) {
		core.stretch = 2;
	}
	if (core.stretch > 2) {
		return false;
	}
	for (uint8_t j = 0; j < core.board->joints; j++) {
		struct way *w = &core.joint[j].way;
		int32_t v2 = core.store.v2[j];

		w->q0 = w->q1;
		w->v0 = w->v1;
		if (core.stretch == 1) {
			w->q1 += second(c, w->v0, v2);
			w->v1 = v2;
		} else {
			w->q1 += last(rb, v2);
			w->v1 = 0;
		}
	}
	piece_begin(core.stretch == 1 ? c : rb);
	return true;
}
