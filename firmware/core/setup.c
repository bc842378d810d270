/* What is said before a motion: limits, outputs, power, references (6, 7). */
#include "core.h"
#include "number.h"

static const TAU_FLASH struct tau_channel *channel(uint8_t n)
{
	return &core.board->channels[n];
}

static uint8_t all_joints(void)
{
	return (uint8_t)((1U << core.board->joints) - 1);
}

static bool beyond(int32_t q)
{
	return q > MAX_Q || q < -MAX_Q;
}

static bool at_rest(void)
{
	return core.state != MOVING && core.state != BRAKING;
}

bool setup_all_referenced(void)
{
	return core.referenced == all_joints();
}

uint8_t setup_configure(const uint8_t *p)
{
	uint8_t joint = p[0], flags = p[1];
	int32_t lower = get_i32(p + 2), upper = get_i32(p + 6);
	uint32_t v = get_u32(p + 10), a = get_u32(p + 14);
	uint16_t ramp = get_u16(p + 18);

	if (joint >= core.board->joints || (flags & ~(FLAG_ESTOP_POWERS_OFF | FLAG_LOST_POWERS_OFF)) != 0 ||
	    lower > upper || lower < channel(joint)->lower || upper > channel(joint)->upper ||
	    beyond(lower) || beyond(upper) || v == 0 || v > (uint32_t)MAX_V || a == 0 ||
	    a > (uint32_t)INT32_MAX || ramp == 0 || ramp > RAMP_MS) {
		return CODE_BAD_VALUE;
	}
	if ((uint64_t)v * 256 > (uint64_t)a * STOP_MS) {
		return CODE_BAD_VALUE;
	}
	if (core.enabled || !at_rest()) {
		return CODE_BUSY;
	}
	struct limits *l = &core.joint[joint].limits;

	if ((core.configured & bit(joint)) != 0 &&
	    (lower < l->lower || upper > l->upper || v > (uint32_t)l->v || a > (uint32_t)l->a ||
	     ramp > l->ramp || flags != l->flags)) {
		return CODE_LOOSER; /* (7) */
	}
	l->lower = lower;
	l->upper = upper;
	l->v = (int32_t)v;
	l->a = (int32_t)a;
	l->ramp = ramp;
	l->flags = flags;
	brake_limits(l);
	core.configured |= bit(joint);
	return CODE_OK;
}

uint8_t setup_output(const uint8_t *p)
{
	uint8_t o = p[0], on_stop = p[1], on_lost = p[2];
	uint16_t off = get_u16(p + 3), max = get_u16(p + 5);

	if (o >= core.board->outputs || on_stop > 1 || on_lost > 1 || off > max ||
	    max > (uint32_t)channel((uint8_t)(core.board->joints + o))->upper) {
		return CODE_BAD_VALUE;
	}
	struct output *out = &core.output[o];

	if ((core.output_configured & bit(o)) == 0) {
		out->value = off;
		core.board->output(o, off);
	} else if (max > out->max || off != out->off || on_stop < out->on_stop ||
		   on_lost < out->on_lost) {
		return CODE_LOOSER; /* (7) */
	}
	out->off = off;
	out->max = max;
	out->on_stop = on_stop != 0;
	out->on_lost = on_lost != 0;
	core.output_configured |= bit(o);
	return CODE_OK;
}

/* Whether the joint may be told nothing but its present setpoint (6). */
static bool fixed(uint8_t joint)
{
	return core.powered || channel(joint)->feedback == TAU_FEEDBACK_STEPS;
}

uint8_t setup_enable(const uint8_t *p)
{
	uint8_t joints = core.board->joints;

	for (uint8_t j = 0; j < joints; j++) {
		if (beyond(get_i32(p + 2 + 4 * j))) {
			return CODE_BAD_VALUE;
		}
	}
	if (core.fault != NONE) {
		return CODE_FAULT;
	}
	if (core.enabled) {
		return CODE_BUSY;
	}
	if (core.configured != all_joints()) {
		return CODE_NOT_CONFIGURED;
	}
	if (!core.report_holds || get_u16(p) != core.report ||
	    core.ms - core.report_ms >= REPORT_MS) {
		return CODE_STALE_REPORT;
	}
	for (uint8_t j = 0; j < joints; j++) {
		int32_t q = get_i32(p + 2 + 4 * j);

		if (fixed(j) && q != core.joint[j].q) {
			return CODE_BAD_VALUE;
		}
		if (q != motion_clamp(j, q)) {
			return CODE_LIMIT;
		}
	}
	for (uint8_t j = 0; j < joints; j++) {
		core.joint[j].q = get_i32(p + 2 + 4 * j);
		core.board->setpoint(j, core.joint[j].q);
	}
	core.told = all_joints();
	core.report_holds = false;
	core.enabled = true;
	core.state = HOLD;
	if (!core.powered) {
		core.powered = true;
		core.board->power(true);
	}
	return CODE_OK;
}

uint8_t setup_disable(void)
{
	if (!at_rest()) {
		return CODE_BUSY;
	}
	if (core.state == LOADED) {
		queue_empty();
	}
	core.enabled = false;
	core.report_holds = false;
	safety_cut();
	core.state = core.fault != NONE ? FAULT : IDLE;
	return CODE_OK;
}

uint8_t setup_reference(const uint8_t *p)
{
	uint8_t joint = p[0];
	int32_t place = get_i32(p + 1);

	if (joint >= core.board->joints || channel(joint)->feedback != TAU_FEEDBACK_STEPS ||
	    beyond(place)) {
		return CODE_BAD_VALUE;
	}
	if (core.fault != NONE) {
		return CODE_FAULT;
	}
	if (core.state != IDLE && core.state != HOLD) {
		return CODE_BUSY;
	}
	struct joint *j = &core.joint[joint];
	int32_t q = place;

	if (channel(joint)->sw != TAU_NO_SWITCH) {
		if (!core.found || core.seek != joint) {
			return CODE_BUSY;
		}
		/* Each is within 2^30, so three of them need care. */
		int64_t now = (int64_t)place + j->q - core.found_at;

		if (now > MAX_Q || now < -MAX_Q) {
			return CODE_LIMIT;
		}
		q = (int32_t)now;
	}
	if ((core.configured & bit(joint)) != 0 && (q < j->limits.lower || q > j->limits.upper)) {
		return CODE_LIMIT;
	}
	j->q = q;
	core.board->recount(joint, q);
	core.referenced |= bit(joint);
	core.found = false;
	return CODE_OK;
}

uint8_t setup_set(const uint8_t *p)
{
	uint8_t o = p[0];
	uint16_t value = get_u16(p + 1);

	if (o >= core.board->outputs ||
	    value > (uint32_t)channel((uint8_t)(core.board->joints + o))->upper) {
		return CODE_BAD_VALUE;
	}
	if ((core.output_configured & bit(o)) == 0) {
		return CODE_NOT_CONFIGURED;
	}
	struct output *out = &core.output[o];

	if (value > out->max) {
		return CODE_LIMIT;
	}
	if (core.fault != NONE && value != out->off) {
		return CODE_FAULT;
	}
	out->value = value;
	core.board->output(o, value);
	return CODE_OK;
}
