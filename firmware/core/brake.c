/* The brake (PROTOCOL.md, "The brake"): three stretches for all joints together. Products
 * with a fraction in 16 bits stand for divisions, which cost an AVR 40 times as much; only
 * whole ticks, R and S, are divided for. */
#include "core.h"
#include "number.h"

/* An acceleration above this (32 times a servo's whole travel per s each ms) is held to it,
 * so that its product with a ramp fits in 32 bits. */
#define MAX_A (INT32_C(1) << 29)

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

/* The time that a joint takes to stop from v at its a, in 1/256 ms. */
static uint32_t stopping(int32_t v, const struct limits *l)
{
	uint32_t x = magnitude(v) << 8;
	int8_t shift = (int8_t)(l->scale + 7);

	x = product((uint16_t)(x >> 16), l->inverse) + (product((uint16_t)x, l->inverse) >> 16);
	return shift < 0 ? x << -shift : x >> shift;
}

/* Rounded down; x is less than 2^20, since a ramp is. */
static uint16_t root(uint32_t x)
{
	uint16_t r = 0;

	for (uint16_t step = 0x200; step != 0; step >>= 1) {
		uint16_t more = (uint16_t)(r | step);

		if ((uint32_t)more * more <= x) {
			r = more;
		}
	}
	return r;
}

static int32_t third(int32_t x)
{
	return scale16(43691, x) >> 1; /* 2/3 of 65536 */
}

/* v + a·R/2, and no faster than a joint may be told to go. */
static int32_t after_ramp(const struct brake_joint *b, uint16_t r, const struct limits *l)
{
	return hold(b->v + (scale8(r, b->a) >> 1), (int32_t)l->farthest << 8);
}

/* S for this R before it is held to R: the ticks that the slowest to stop needs at A. */
static uint16_t shortest(const struct brake_joint *b, uint16_t r)
{
	uint32_t most = 0;

	for (uint8_t j = 0; j < core.board->joints; j++) {
		const struct limits *l = &core.joint[j].limits;
		uint32_t s = stopping(after_ramp(&b[j], r, l), l);

		if (s > most) {
			most = s;
		}
	}
	return (uint16_t)((most + 255) >> 8);
}

/* R0: the ramp, unless the leading joint (that of the largest |v|/A) slows down already. */
static uint16_t longest(const struct brake_joint *lead, uint16_t ramp)
{
	uint32_t v = magnitude(lead->v), a = magnitude(lead->a);

	if (v == 0 || a == 0 || (lead->v < 0) == (lead->a < 0)) {
		return ramp;
	}
	uint32_t cap = (v << 8) / (a + (a >> 1) + (a & 1)); /* 2·|v| / (3·|a|) */

	return cap >= ramp ? ramp : cap == 0 ? 1 : (uint16_t)cap;
}

struct brake brake_plan(struct brake_joint *b)
{
	struct brake p;
	uint16_t ramp = core.ramp;
	uint32_t slowest = 0;
	uint8_t lead = 0;

	for (uint8_t j = 0; j < core.board->joints; j++) {
		const struct limits *l = &core.joint[j].limits;

		b[j].v = hold(b[j].v, (int32_t)l->farthest << 8);
		b[j].a = hold(b[j].a, l->a < MAX_A ? l->a : MAX_A);

		uint32_t s = stopping(b[j].v, l);

		if (s > slowest) {
			slowest = s;
			lead = j;
		}
	}
	p.r = longest(&b[lead], ramp);

	uint16_t s = shortest(b, p.r);

	if (s <= p.r && p.r > 1) {
		/* |v|·ramp/A of the leading joint. Where it isn't slow, it doesn't matter. */
		uint16_t r = slowest < UINT32_C(256) * RAMP_MS ? root(slowest * ramp >> 8) : p.r;

		if (r < p.r) {
			p.r = r > 0 ? r : 1;
			s = shortest(b, p.r);
		}
	}
	if (s < p.r) {
		s = p.r;
	}
	p.c = (uint16_t)(s - p.r);
	p.half = (uint16_t)((UINT32_C(32768) * p.r + s / 2) / s);
	return p;
}

/* The three ways; with v1 = w − v2 their accelerations need no reckoning:
 * q1 = R·(v + 2·w − v2)/3, q2 = C·(v1 + v2)/2, q3 = R·v2/3. */
static int32_t first(uint16_t r, int32_t v, int32_t w, int32_t v2)
{
	return third(scale8(r, v + 2 * w - v2));
}

static int32_t second(uint16_t c, int32_t v1, int32_t v2)
{
	return scale8(c, v1 + v2) >> 1;
}

static int32_t last(uint16_t r, int32_t v2)
{
	return third(scale8(r, v2));
}

int32_t brake_way(const struct brake *p, const struct brake_joint *b, const struct limits *l)
{
	int32_t w = after_ramp(b, p->r, l);
	int32_t v2 = scale16(p->half, w);

	return first(p->r, b->v, w, v2) + second(p->c, w - v2, v2) + last(p->r, v2);
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
	/* R is at most a ramp, and S what the ramp adds to v needs besides: half of one more.
	 * The rest is roundings. */
	return (uint16_t)((uint16_t)(slowest >> 8) + 2 * core.ramp + 4);
}

int32_t brake_farthest(uint16_t longest, int32_t v, const struct limits *l)
{
	int32_t most = l->a < MAX_A ? l->a : MAX_A;

	most = (scale8(core.ramp, most) >> 1) + (int32_t)magnitude(v);
	return most >= MAX_V ? 2 * MAX_Q : scale8(longest, most);
}

void brake_begin(void)
{
	struct brake_joint b[TAU_JOINTS];
	uint8_t ticks = (uint8_t)core.ticks, tick = (uint8_t)core.tick;
	uint16_t inverse = ticks == 0 ? 0 : piece_inverse(ticks);

	for (uint8_t j = 0; j < core.board->joints; j++) {
		const struct way *w = &core.joint[j].way;

		if (ticks == 0) { /* the motion's first tick wasn't made */
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
		int32_t w = after_ramp(&b[j], p.r, &joint->limits), v2 = scale16(p.half, w);

		joint->way.q0 = joint->q;
		joint->way.v0 = b[j].v;
		joint->way.q1 = joint->q + first(p.r, b[j].v, w, v2);
		joint->way.v1 = w - v2;
		core.store.v2[j] = v2;
	}
	core.brake_r = p.r;
	core.brake_c = p.c;
	core.stretch = 0;
	piece_begin(p.r);
}

bool brake_next(void)
{
	uint16_t r = core.brake_r, c = core.brake_c;

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
			w->q1 += last(r, v2);
			w->v1 = 0;
		}
	}
	piece_begin(core.stretch == 1 ? c : r);
	return true;
}
