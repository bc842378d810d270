/* One tick of motion: setpoints within limits and nothing else (1). */
#include "core.h"
#include "number.h"

int32_t motion_clamp(uint8_t joint, int32_t q)
{
	int32_t lower = -MAX_Q, upper = MAX_Q;

	if ((core.referenced & core.configured & bit(joint)) != 0) {
		lower = core.joint[joint].limits.lower;
		upper = core.joint[joint].limits.upper;
	}
	return q < lower ? lower : q > upper ? upper : q;
}

uint8_t motion_switches(void)
{
	uint8_t inputs = core.board->switches(), joints = 0;

	/* Mostly none is, and this is asked each tick. */
	for (uint8_t j = 0; inputs != 0 && j < core.board->joints; j++) {
		uint8_t sw = core.board->channels[j].sw;

		if (sw != TAU_NO_SWITCH && (inputs & bit(sw)) != 0) {
			joints |= bit(j);
		}
	}
	return joints;
}

/* q is within the joint's limits. */
static void tell(uint8_t joint, int32_t q)
{
	if (q != core.joint[joint].q) {
		core.joint[joint].q = q;
		core.board->setpoint(joint, q);
	}
}

/* Learns on which side of its joint a switch is, as it closes. */
static void learn(uint8_t joint)
{
	const struct way *w = &core.joint[joint].way;

	if (w->q1 == w->q0) {
		return;
	}
	core.side_known |= bit(joint);
	if (w->q1 > w->q0) {
		core.side_up |= bit(joint);
	} else {
		core.side_up &= (uint8_t)~bit(joint);
	}
}

/* Looks at the switches. Returns those that closed now. A switch that opens counts as
 * closed for another 8 to 16 ticks, in which it bounces. */
static uint8_t look(uint8_t *now)
{
	*now = motion_switches();
	if ((core.ms & 7) == 0) {
		core.recent[1] = core.recent[0];
		core.recent[0] = 0;
	}
	core.recent[0] |= *now;

	uint8_t closed = core.recent[0] | core.recent[1];
	uint8_t edges = closed & (uint8_t)~core.closed;

	core.closed = closed;
	return edges;
}

/* Whether a joint that goes way in this tick meets its switch (3). What a whole piece does
 * counts: from tick to tick, rounding takes a joint that stands, or just begins to move
 * away, a few 1/256 of a unit back. */
static bool into_switch(uint8_t joint, uint8_t mask, int32_t way)
{
	const struct way *w = &core.joint[joint].way;

	if ((core.closed & core.side_known & mask) == 0) {
		return false;
	}
	if ((core.side_up & mask) != 0) {
		return w->q1 > w->q0 || way > ROUNDING;
	}
	return w->q1 < w->q0 || way < -ROUNDING;
}

/* The next tick of the motion. Returns NONE, or the fault for which it isn't made. */
static uint8_t move(uint8_t edges, uint8_t *channel)
{
	int32_t next[TAU_JOINTS];
	uint8_t mask = 1;

	if (core.tick == core.ticks) {
		uint8_t fault = queue_next();

		if (fault != NONE) {
			return fault;
		}
	}
	piece_step();
	for (uint8_t j = 0; j < core.board->joints; j++, mask = (uint8_t)(mask << 1)) {
		const struct joint *joint = &core.joint[j];
		int32_t q = piece_at(&joint->way), way = q - joint->q;
		uint8_t fault = NONE;

		next[j] = motion_clamp(j, q);

		int32_t over = q - next[j];

		if (over > ROUNDING || over < -ROUNDING) {
			fault = LIMIT;
		} else if (magnitude(way) > joint->limits.farthest) {
			fault = SPEED;
		} else if ((edges & mask) != 0) {
			learn(j);
			fault = SWITCH;
		} else if (into_switch(j, mask, way)) {
			fault = SWITCH;
		}
		if (fault != NONE) {
			core.tick--;
			*channel = j;
			return fault;
		}
	}
	core.motion_ms++;
	core.ahead--;
	for (uint8_t j = 0; j < core.board->joints; j++) {
		tell(j, next[j]);
	}
	return NONE;
}

static void brake(void)
{
	piece_step();
	for (uint8_t j = 0; j < core.board->joints; j++) {
		tell(j, motion_clamp(j, piece_at(&core.joint[j].way)));
	}
	if (core.tick == core.ticks && !brake_next()) {
		safety_rest();
	}
}

/* The switch that is sought is closed. */
static void find(void)
{
	core.found = true;
	core.found_at = core.board->count(core.seek);
	if (core.ticks == 0) {
		/* Closed from the beginning on: only to see in which direction it is sought. */
		(void)queue_next();
	}
	learn(core.seek);
	brake_begin();
	core.state = BRAKING;
}

void motion_tick(void)
{
	uint8_t now, channel = NO_CHANNEL;
	uint8_t edges = look(&now);

	if (core.state == MOVING) {
		if (core.seek != NO_SEEK) {
			edges &= (uint8_t)~bit(core.seek);
			if ((now & bit(core.seek)) != 0) {
				find();
			}
		}
	}
	if (core.state == MOVING) {
		uint8_t fault = move(edges, &channel);

		if (fault != NONE) {
			safety_fault(fault, channel);
		} else if (core.tick == core.ticks && core.last_runs) {
			core.state = HOLD;
			if (core.seek != NO_SEEK) {
				safety_fault(NOT_FOUND, core.seek);
			}
			return;
		}
	}
	if (core.state == BRAKING) {
		brake();
	}
}
