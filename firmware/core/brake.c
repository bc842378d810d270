/* The brake (PROTOCOL.md, "The brake"): three stretches for all joints together. Products
 * with a fraction in 16 bits stand for divisions, which cost an AVR 40 times as much; only
 * whole ticks, R and S, are divided for. */
#include "core.h"
#include "number.h"

/* An acceleration above this (32 times a servo's whole travel per s each ms) is held to it,
 * so that its product with a ramp fits in 32 bits. */
#define MAX_A (INT32_C(1) << 29)

/* Rounded down. */
static uint16_t root(uint32_t x)
{
	uint16_t r = 0;

	for (uint16_t step = 0x8000; step != 0; step >>= 1) {
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
	return hold(b->v + (scale8(r, b->a) >> 1), piece_fastest(l->v));
}

/* S for this R before it is held to R: the ticks that the slowest to stop needs at A. */
static uint16_t shortest(const struct brake_joint *b, uint16_t r)
{
	uint16_t s = 0;

	for (uint8_t j = 0; j < core.board->joints; j++) {
		const struct limits *l = &core.joint[j].limits;
		uint32_t w = magnitude(after_ramp(&b[j], r, l)) << 8;
		uint32_t need = w / (uint32_t)l->a;

		if (need * (uint32_t)l->a != w) {
			need++;
		}
		if (need > s) {
			s = (uint16_t)need;
		}
	}
	return s;
}

/* The joint of the largest |v| / A. */
static uint8_t leading(const struct brake_joint *b)
{
	uint8_t best = 0;

	for (uint8_t j = 1; j < core.board->joints; j++) {
		if ((uint64_t)magnitude(b[j].v) * (uint32_t)core.joint[best].limits.a >
		    (uint64_t)magnitude(b[best].v) * (uint32_t)core.joint[j].limits.a) {
			best = j;
		}
	}
	return best;
}

/* |v|·ramp / A in ms², where v is braked from within a ramp or so. */
static uint32_t triangle(uint32_t v, uint32_t a, uint16_t ramp)
{
	v <<= 8;
	while (v >= (UINT32_C(1) << 22)) {
		v >>= 1;
		a >>= 1;
	}
	return a == 0 ? UINT32_MAX : v * ramp / a;
}

struct brake brake_plan(struct brake_joint *b)
{
	struct brake p;
	uint16_t ramp = 1;

	for (uint8_t j = 0; j < core.board->joints; j++) {
		const struct limits *l = &core.joint[j].limits;

		b[j].v = hold(b[j].v, piece_fastest(l->v));
		b[j].a = hold(b[j].a, l->a < MAX_A ? l->a : MAX_A);
		if (l->ramp > ramp) {
			ramp = l->ramp;
		}
	}
	uint8_t lead = leading(b);
	uint32_t v = magnitude(b[lead].v), a = magnitude(b[lead].a);

	p.r = ramp;
	if (b[lead].v != 0 && b[lead].a != 0 && (b[lead].v < 0) != (b[lead].a < 0)) {
		uint32_t cap = (v << 8) / (a + (a >> 1) + (a & 1)); /* 2·|v| / (3·|a|) */

		if (cap < p.r) {
			p.r = (uint16_t)(cap > 0 ? cap : 1);
		}
	}
	uint16_t s = shortest(b, p.r);

	if (s <= p.r && p.r > 1) {
		uint16_t r = root(triangle(v, (uint32_t)core.joint[lead].limits.a, ramp));

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

void brake_begin(void)
{
	struct brake_joint b[TAU_JOINTS];

	for (uint8_t j = 0; j < core.board->joints; j++) {
		const struct way *w = &core.joint[j].way;

		b[j].v = 0;
		b[j].a = 0;
		if (core.ticks != 0) {
			b[j] = piece_moves(w->q1 - w->q0, w->v0, w->v1, (uint8_t)core.tick,
					   (uint8_t)core.ticks);
		}
	}
	struct brake p = brake_plan(b);

	for (uint8_t j = 0; j < core.board->joints; j++) {
		struct joint *joint = &core.joint[j];
		int32_t w = after_ramp(&b[j], p.r, &joint->limits);

		joint->v2 = scale16(p.half, w);
		joint->way.q0 = joint->q;
		joint->way.v0 = b[j].v;
		joint->way.q1 = joint->q + first(p.r, b[j].v, w, joint->v2);
		joint->way.v1 = w - joint->v2;
	}
	queue_empty();
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
		int32_t v2 = core.joint[j].v2;

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
