/* What ends motion: faults, stops, the e-stop input, a quiet host (2, 3, 5). */
#include "core.h"

static bool all_allow(uint8_t flag)
{
	for (uint8_t j = 0; j < core.board->joints; j++) {
		if ((core.joint[j].limits.flags & flag) == 0) {
			return false;
		}
	}
	return true;
}

static void turn_off(bool lost)
{
	for (uint8_t o = 0; o < core.board->outputs; o++) {
		struct output *out = &core.output[o];

		if ((core.output_configured & bit(o)) != 0 && out->value != out->off &&
		    (lost ? out->on_lost : out->on_stop)) {
			out->value = out->off;
			core.board->output(o, out->value);
		}
	}
}

static bool all_off(void)
{
	for (uint8_t o = 0; o < core.board->outputs; o++) {
		if ((core.output_configured & bit(o)) != 0 &&
		    core.output[o].value != core.output[o].off) {
			return false;
		}
	}
	return true;
}

void safety_cut(void)
{
	core.cut_when_still = false;
	if (core.powered) {
		/* Whoever pushes a stepper that has no power moves it by steps that nobody counts. */
		for (uint8_t j = 0; j < core.board->joints; j++) {
			if (core.board->channels[j].feedback == TAU_FEEDBACK_STEPS) {
				core.referenced &= (uint8_t)~bit(j);
			}
		}
		core.found = false;
	}
	core.powered = false;
	core.board->power(false);
}

void safety_rest(void)
{
	core.state = core.fault != NONE ? FAULT : HOLD;
	if (core.cut_when_still) {
		safety_cut();
	}
}

/* Ends the motion that is begun or runs. */
static void end_motion(void)
{
	if (core.state == MOVING) {
		brake_begin();
		core.state = BRAKING;
	} else if (core.state == LOADED) {
		queue_empty();
		core.state = HOLD;
	}
}

void safety_fault(uint8_t fault, uint8_t channel)
{
	if (core.fault == NONE) { /* (5) */
		core.fault = fault;
		core.fault_channel = channel;
	}
	core.enabled = false;
	core.report_holds = false;
	turn_off(fault == WATCHDOG);
	end_motion();
	if (fault == ESTOP_INPUT || fault == ESTOP_COMMAND) {
		core.estopped = true;
		core.cut_when_still = core.cut_when_still || all_allow(FLAG_ESTOP_POWERS_OFF);
	} else if (core.fault == WATCHDOG && fault == WATCHDOG) {
		core.cut_when_still = core.cut_when_still || all_allow(FLAG_LOST_POWERS_OFF);
	}
	core.cut_when_still = core.cut_when_still && core.powered;
	if (core.state != BRAKING) {
		safety_rest();
	}
}

void safety_stop(uint8_t kind)
{
	if (core.stops != 0xFFFF) {
		core.stops++;
	}
	core.report_holds = false;
	turn_off(false);
	end_motion();
	if (kind != 0) {
		safety_fault(ESTOP_COMMAND, NO_CHANNEL);
	}
}

void safety_tick(void)
{
	core.ms++;
	if (!core.board->estop()) {
		core.estop_ticks = 0;
	} else if (core.estop_ticks < ESTOP_TICKS) {
		core.estop_ticks++;
		if (core.estop_ticks == ESTOP_TICKS) {
			safety_fault(ESTOP_INPUT, NO_CHANNEL);
		}
	}
	if (core.quiet_ms < QUIET_MS) {
		core.quiet_ms++;
		if (core.quiet_ms == QUIET_MS && (core.enabled || !all_off())) {
			safety_fault(WATCHDOG, NO_CHANNEL);
		}
	}
}

uint8_t safety_clear(uint8_t fault)
{
	if (fault != core.fault || fault == NONE) {
		return CODE_BAD_VALUE;
	}
	if (core.state == BRAKING) {
		return CODE_BUSY;
	}
	if (core.estop_ticks != 0 || core.board->estop()) {
		return CODE_ESTOP_ACTIVE;
	}
	core.fault = NONE;
	core.fault_channel = NO_CHANNEL;
	core.estopped = false;
	core.state = IDLE;
	return CODE_OK;
}
