/* The cubic of a piece, in integers (PROTOCOL.md, "A piece"). */
#include "core.h"
#include "number.h"

void piece_begin(uint16_t ticks)
{
	core.ticks = ticks;
	core.tick = 0;
	core.u = 0;
	core.u_rest = 0;
	/* In a piece of one tick there is no place between. */
	core.u_step = 0;
	core.u_step_rest = 0;
	if (ticks > 1) {
		core.u_step = (uint16_t)(UINT32_C(65536) / ticks);
		core.u_step_rest = (uint16_t)(UINT32_C(65536) % ticks);
	}
	for (uint8_t j = 0; j < core.board->joints; j++) {
		struct way *w = &core.joint[j].way;
		int32_t d0 = scale8(ticks, w->v0), d1 = scale8(ticks, w->v1);
		int32_t d = w->q1 - w->q0;

		/* Unsigned, for a sum on the way may pass 32 bits where the result doesn't. */
		w->d0 = d0;
		w->c2 = (int32_t)(3 * (uint32_t)d - 2 * (uint32_t)d0 - (uint32_t)d1);
		w->c3 = (int32_t)((uint32_t)d0 + (uint32_t)d1 - 2 * (uint32_t)d);
	}
}

void piece_step(void)
{
	core.tick++;
	core.u = (uint16_t)(core.u + core.u_step);
	core.u_rest = (uint16_t)(core.u_rest + core.u_step_rest);
	if (core.u_rest >= core.ticks) {
		core.u_rest = (uint16_t)(core.u_rest - core.ticks);
		core.u++;
	}
}

int32_t piece_at(const struct way *w)
{
	if (core.tick >= core.ticks) {
		return w->q1;
	}
	int32_t q = w->c2 + scale16(core.u, w->c3);

	q = w->d0 + scale16(core.u, q);
	return w->q0 + scale16(core.u, q);
}

/* 65536/ticks as piece_end and piece_mid want it: where they need no division, there is
 * none to be done. What it loses (0.1 %) is nothing to a brake. */
uint16_t piece_inverse(uint8_t ticks)
{
	return (uint16_t)(ticks == 1 ? 0 : UINT32_C(65536) / ticks);
}

static int32_t over(int32_t v, uint16_t inverse)
{
	return inverse == 0 ? v : scale16(inverse, v);
}

/* 256 · E: by how much the piece's way is less than the one at its mean velocity. */
static int32_t bend(int32_t way, int32_t v0, int32_t v1, uint8_t ticks)
{
	return ((v0 + v1) * ticks >> 1) - way * 256;
}

/* By how much the acceleration at a piece's end is above its mean, 6·E/T². */
static int32_t rise(int32_t e, uint16_t inverse)
{
	/* Positions are whole, which alone can make one unit of E; what is left is real. */
	if (e > 256) {
		e -= 256;
	} else if (e < -256) {
		e += 256;
	} else {
		return 0;
	}
	e = over(hold(e, INT32_C(1) << 22) * 256, inverse);
	return over(hold(e, INT32_C(1) << 27) * 6, inverse);
}

static int32_t mean(int32_t dv, uint16_t inverse)
{
	return over(hold(dv, INT32_C(1) << 22) * 256, inverse);
}

struct brake_joint piece_end(int32_t way, int32_t v0, int32_t v1, uint8_t ticks, uint16_t inverse)
{
	struct brake_joint at;

	at.v = v1;
	at.a = mean(v1 - v0, inverse) + rise(bend(way, v0, v1, ticks), inverse);
	return at;
}

struct brake_joint piece_mid(int32_t way, int32_t v0, int32_t v1, uint8_t t, uint8_t ticks, uint16_t inverse)
{
	struct brake_joint at;
	int32_t e = bend(way, v0, v1, ticks), up = rise(e, inverse);
	uint16_t u = (uint16_t)(UINT32_C(65536) * t / ticks);
	uint16_t arch = (uint16_t)(u - (((uint32_t)u * u) >> 16)); /* u · (1 − u) */

	e = hold(over(hold(e, INT32_C(1) << 26), inverse), INT32_C(1) << 27) * 6;
	at.v = v0 + scale16(u, v1 - v0) - scale16(arch, e);
	at.a = mean(v1 - v0, inverse) + 2 * scale16(u, up) - up;
	return at;
}

int32_t piece_fastest(int32_t v)
{
	return v + (v >> 3) + 256 * ROUNDING;
}
