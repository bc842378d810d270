/* BEGIN, SEGMENT and GO: the pieces of one motion, in slots of whole pieces (1, 4). */
#include "core.h"
#include "number.h"

#include <string.h>

enum { LAST = 0x80, RESERVED = 0x70, FIRST = 0x0F };

uint8_t queue_piece_size(void)
{
	return (uint8_t)(PIECE_HEAD + PIECE_JOINT * core.board->joints);
}

static uint8_t *slot(uint8_t nth)
{
	uint8_t i = (uint8_t)(core.head + nth);

	if (i >= core.slots) {
		i = (uint8_t)(i - core.slots);
	}
	return core.store.queue + (uint16_t)i * queue_piece_size();
}

uint16_t queue_free(void)
{
	uint8_t used = (uint8_t)(core.held + (core.parts != 0 ? 1 : 0));

	return (uint16_t)((core.slots - used) * queue_piece_size());
}

void queue_empty(void)
{
	core.head = 0;
	core.held = 0;
	core.parts = 0;
	core.ahead = 0;
	core.last_in = false;
	core.last_runs = false;
}

uint8_t queue_begin(const uint8_t *p)
{
	uint16_t motion = get_u16(p), stops = get_u16(p + 2);
	uint8_t seek = p[4];

	if (seek != NO_SEEK &&
	    (seek >= core.board->joints || core.board->channels[seek].sw == TAU_NO_SWITCH)) {
		return CODE_BAD_VALUE;
	}
	if (core.fault != NONE) {
		return CODE_FAULT;
	}
	if (!core.enabled) {
		return CODE_NOT_ENABLED;
	}
	if (core.state == MOVING || core.state == BRAKING) {
		return CODE_BUSY;
	}
	if (stops != core.stops || core.stops == 0xFFFF) {
		return CODE_STOPPED;
	}
	if (seek == NO_SEEK && !setup_all_referenced()) {
		return CODE_NOT_REFERENCED;
	}
	if (seek != NO_SEEK && core.board->channels[seek].feedback == TAU_FEEDBACK_STEPS) {
		/* Who looks for its switch again doesn't trust where it counts to be. */
		core.referenced &= (uint8_t)~bit(seek);
	}
	queue_empty();
	for (uint8_t j = 0; j < core.board->joints; j++) {
		core.joint[j].way.q1 = core.joint[j].q;
		core.joint[j].way.v1 = 0;
	}
	core.ticks = 0;
	core.tick = 0;
	core.motion = motion;
	core.motion_ms = 0;
	core.seek = seek;
	core.found = false;
	core.index = 0;
	core.state = LOADED;
	return CODE_OK;
}

/* Where the last accepted piece leaves a joint. */
static void tail(uint8_t joint, int32_t *q, int32_t *v)
{
	if (core.held == 0) {
		*q = core.joint[joint].way.q1;
		*v = core.joint[joint].way.v1;
		return;
	}
	const uint8_t *p = slot((uint8_t)(core.held - 1)) + PIECE_HEAD + PIECE_JOINT * joint;

	*q = get_i32(p);
	*v = get_i24(p + 4);
}

static uint8_t check_joint(uint8_t joint, const uint8_t *p, uint8_t ticks)
{
	const struct limits *l = &core.joint[joint].limits;
	int32_t q = get_i32(p), v = get_i24(p + 4), q0, v0;

	if (q != motion_clamp(joint, q)) {
		return CODE_LIMIT;
	}
	tail(joint, &q0, &v0);
	if (magnitude(v) > (uint32_t)l->v ||
	    magnitude(q - q0) > (uint32_t)(piece_fastest(l->v) * ticks) >> 8) {
		return CODE_SPEED;
	}
	return CODE_OK;
}

/* Whether every joint is so far from its limits that it has room for any brake from the end
 * of the piece in the next slot. It mostly is, and then the brake needn't be planned, which
 * takes an AVR a millisecond for three joints. */
static bool far_from_limits(void)
{
	int32_t v[TAU_JOINTS];
	const uint8_t *p = slot(core.held) + PIECE_HEAD;

	for (uint8_t j = 0; j < core.board->joints; j++) {
		v[j] = get_i24(p + PIECE_JOINT * j + 4);
	}
	uint16_t longest = brake_longest(v);

	for (uint8_t j = 0; j < core.board->joints; j++) {
		int32_t q = get_i32(p), way = brake_farthest(longest, v[j], &core.joint[j].limits);
		const struct limits *l = &core.joint[j].limits;

		/* Unsigned: 2^30 and more may lie between. */
		if ((core.referenced & bit(j)) != 0 && ((uint32_t)(l->upper - q) < (uint32_t)way ||
							(uint32_t)(q - l->lower) < (uint32_t)way)) {
			return false;
		}
		p += PIECE_JOINT;
	}
	return true;
}

/* Whether the brake from the end of the piece in the next slot stays within the limits of
 * position (4). joint is set where it doesn't. */
static uint8_t check_room(uint8_t ticks, uint8_t *joint)
{
	struct brake_joint b[TAU_JOINTS];
	const uint8_t *p = slot(core.held) + PIECE_HEAD;
	uint16_t inverse = piece_inverse(ticks);

	for (uint8_t j = 0; j < core.board->joints; j++) {
		int32_t q0, v0;

		tail(j, &q0, &v0);
		b[j] = piece_end(get_i32(p) - q0, v0, get_i24(p + 4), ticks, inverse);
		p += PIECE_JOINT;
	}
	struct brake plan = brake_plan(b);

	p = slot(core.held) + PIECE_HEAD;
	for (uint8_t j = 0; j < core.board->joints; j++) {
		const struct limits *l = &core.joint[j].limits;
		int32_t way = brake_way(&plan, &b[j], l);
		int32_t end = get_i32(p) + way;
		/* The brake's roundings, and what E, known to one unit, makes of its ramps. */
		int32_t slack = (int32_t)(2048 + (magnitude(way) >> 10) + (magnitude(b[j].v) * 3 >> 6));

		if ((core.referenced & bit(j)) != 0 &&
		    (end < l->lower - slack || end > l->upper + slack)) {
			*joint = j;
			return CODE_NO_ROOM;
		}
		p += PIECE_JOINT;
	}
	return CODE_OK;
}

static uint8_t take(const uint8_t *p, uint8_t length, uint8_t *joint)
{
	uint8_t here = (uint8_t)((uint8_t)(length - 3) / PIECE_JOINT);

	if (length < 3 || here < 1 || here > 4 || length != 3 + here * PIECE_JOINT) {
		return CODE_BAD_LENGTH;
	}
	uint8_t index = p[0], ticks = p[1], first = p[2] & FIRST, last = p[2] & LAST;

	p += 3;
	if (ticks < 1 || ticks > PIECE_TICKS || (p[-1] & RESERVED) != 0 ||
	    first + here > core.board->joints) {
		return CODE_BAD_VALUE;
	}
	for (uint8_t i = 0; i < here && last != 0; i++) {
		if (get_i24(p + PIECE_JOINT * i + 4) != 0) {
			return CODE_BAD_VALUE;
		}
	}
	if (core.fault != NONE) {
		return CODE_FAULT;
	}
	if (core.state != LOADED && core.state != MOVING) {
		return CODE_NOT_BEGUN;
	}
	if (index != core.index || core.last_in || first != core.parts) {
		return CODE_BAD_SEQUENCE;
	}
	if (core.parts == 0) {
		if (core.held == core.slots || core.ahead + ticks > AHEAD_MS) {
			return CODE_OVERRUN;
		}
	} else if (slot(core.held)[0] != ticks || slot(core.held)[1] != last) {
		return CODE_BAD_SEQUENCE;
	}
	uint8_t *to = slot(core.held);

	to[0] = ticks;
	to[1] = last;
	to += PIECE_HEAD + PIECE_JOINT * first;
	for (uint8_t i = 0; i < here; i++) {
		uint8_t code = check_joint(core.parts, p, ticks);

		if (code != CODE_OK) {
			*joint = core.parts;
			return code;
		}
		memcpy(to, p, PIECE_JOINT);
		to += PIECE_JOINT;
		p += PIECE_JOINT;
		core.parts++;
	}
	if (core.parts < core.board->joints) {
		return CODE_ANSWERED;
	}
	if (last == 0 && !far_from_limits()) {
		uint8_t code = check_room(ticks, joint);

		if (code != CODE_OK) {
			return code;
		}
	}
	core.parts = 0;
	core.held++;
	core.index++;
	core.ahead = (uint8_t)(core.ahead + ticks);
	core.last_in = last != 0;
	return CODE_ANSWERED;
}

uint8_t queue_segment(const uint8_t *p, uint8_t length)
{
	uint8_t joint = NO_CHANNEL;
	uint8_t code = take(p, length, &joint);

	if (code == CODE_ANSWERED) {
		return code;
	}
	if (core.state == LOADED) {
		queue_empty();
		core.state = HOLD;
	} else if (core.state == MOVING) {
		/* (3) */
		safety_fault(code == CODE_LIMIT     ? LIMIT
			     : code == CODE_SPEED   ? SPEED
			     : code == CODE_NO_ROOM ? NO_ROOM
			     : code == CODE_OVERRUN ? OVERRUN
						    : SEQUENCE,
			     joint);
	}
	return code;
}

uint8_t queue_go(const uint8_t *p)
{
	if (core.fault != NONE) {
		return CODE_FAULT;
	}
	if (core.state != LOADED || get_u16(p) != core.motion) {
		return CODE_NOT_BEGUN;
	}
	if (core.held == 0 || (!core.last_in && core.ahead < GO_MS)) {
		return CODE_BUSY;
	}
	core.state = MOVING;
	return CODE_OK;
}

uint8_t queue_next(void)
{
	if (core.held == 0) {
		return UNDERRUN;
	}
	const uint8_t *p = slot(0);
	uint8_t ticks = p[0];

	if (ticks < 1 || ticks > PIECE_TICKS) {
		return INTERNAL; /* no such piece is let in */
	}
	core.last_runs = (p[1] & LAST) != 0;
	p += PIECE_HEAD;
	for (uint8_t j = 0; j < core.board->joints; j++) {
		struct way *w = &core.joint[j].way;

		w->q0 = w->q1;
		w->v0 = w->v1;
		w->q1 = get_i32(p);
		w->v1 = get_i24(p + 4);
		p += PIECE_JOINT;
	}
	core.head++;
	if (core.head == core.slots) {
		core.head = 0;
	}
	core.held--;
	piece_begin(ticks);
	return NONE;
}
