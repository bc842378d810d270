/* What the board says. */
#include "core.h"
#include "number.h"

#include <string.h>

/* A frame that is being written: one byte ahead of the body for COBS. */
struct out {
	uint8_t bytes[TAU_MAX_BODY + 2];
};

static uint8_t *begin(struct out *o, uint8_t type)
{
	o->bytes[1] = type;
	o->bytes[2] = core.seq++; /* counted even where there is no room */
	return o->bytes + 3;
}

static bool end(struct out *o, const uint8_t *p)
{
	uint8_t length = frame_code(o->bytes, (uint8_t)(p - o->bytes - 1));

	return core.board->send(o->bytes, length);
}

void report_ack(uint8_t seq, uint8_t type, uint8_t code)
{
	struct out o;
	uint8_t *p = begin(&o, ACK);

	p = put_u8(p, seq);
	p = put_u8(p, type);
	p = put_u8(p, code);
	p = put_u16(p, core.stops);
	if (!end(&o, p) && type == STOP) {
		core.stop_unsaid = true;
	}
}

void report_hello(const uint8_t *nonce)
{
	const struct tau_board *b = core.board;
	struct out o;
	uint8_t *p = begin(&o, HELLO_REPLY);
	uint8_t flags = 0;

	if (core.configured != 0 || core.output_configured != 0) {
		flags |= 1;
	}
	if (b->brown_out) {
		flags |= 2;
	}
	if (b->watchdog) {
		flags |= 4;
	}
	memcpy(p, "tau", 3);
	p = put_u8(p + 3, TAU_VERSION);
	memcpy(p, nonce, 4);
	p = put_u32(p + 4, b->boot);
	p = put_u16(p, b->firmware);
	p = put_u8(p, b->joints);
	p = put_u8(p, b->outputs);
	p = put_u16(p, (uint16_t)(core.slots * queue_piece_size()));
	p = put_u8(p, b->status_ms);
	p = put_u8(p, flags);
	(void)end(&o, p);
}

void report_channel(uint8_t channel)
{
	const TAU_FLASH struct tau_channel *c = &core.board->channels[channel];
	struct out o;
	uint8_t *p = begin(&o, CHANNEL);

	p = put_u8(p, channel);
	p = put_u8(p, c->kind);
	p = put_u8(p, c->feedback);
	p = put_u8(p, c->sw);
	p = put_u32(p, (uint32_t)c->lower);
	p = put_u32(p, (uint32_t)c->upper);
	(void)end(&o, p);
}

static uint8_t known(uint8_t joint)
{
	switch (core.board->channels[joint].feedback) {
	case TAU_FEEDBACK_ADC:
		return 2;
	case TAU_FEEDBACK_STEPS:
		return (core.referenced & bit(joint)) != 0 ? 2 : 0;
	default:
		return (core.told & bit(joint)) != 0 ? 1 : 0;
	}
}

void report_positions(void)
{
	struct out o;
	uint8_t *p = put_u16(begin(&o, POSITIONS), core.report);

	for (uint8_t j = 0; j < core.board->joints; j++) {
		bool adc = core.board->channels[j].feedback == TAU_FEEDBACK_ADC;

		p = put_u8(p, known(j));
		p = put_u32(p, (uint32_t)core.joint[j].q);
		p = put_u16(p, adc ? core.board->raw(j) : TAU_NO_RAW);
	}
	(void)end(&o, p);
}

void report_echo(const uint8_t *host_ms)
{
	struct out o;
	uint8_t *p = begin(&o, ECHO);

	memcpy(p, host_ms, 4);
	p = put_u32(p + 4, core.ms);
	(void)end(&o, p);
}

static uint8_t flags(void)
{
	return (uint8_t)((core.powered ? 1 : 0) | (core.enabled ? 2 : 0) |
			 (core.estop_ticks != 0 ? 4 : 0) | (setup_all_referenced() ? 8 : 0) |
			 (core.found ? 16 : 0) | (core.estopped ? 32 : 0));
}

static bool status(void)
{
	struct out o;
	uint8_t *p = put_u32(begin(&o, STATUS), core.ms);

	p = put_u8(p, core.state);
	p = put_u8(p, flags());
	p = put_u8(p, core.fault);
	p = put_u8(p, core.fault_channel);
	p = put_u16(p, core.stops);
	p = put_u16(p, core.motion);
	p = put_u32(p, core.motion_ms);
	p = put_u16(p, queue_free());
	p = put_u8(p, core.index);
	p = put_u8(p, core.board->switches());
	for (uint8_t j = 0; j < core.board->joints; j++) {
		p = put_u32(p, (uint32_t)core.joint[j].q);
	}
	return end(&o, p);
}

static void feedback(void)
{
	struct out o;
	uint8_t *p = put_u32(begin(&o, FEEDBACK), core.ms);

	for (uint8_t j = 0; j < core.board->joints; j++) {
		uint32_t v = 0x7FFFFFFF;

		switch (core.board->channels[j].feedback) {
		case TAU_FEEDBACK_ADC:
			v = core.board->raw(j);
			break;
		case TAU_FEEDBACK_STEPS:
			v = (uint32_t)core.board->count(j);
			break;
		default:
			break;
		}
		p = put_u32(p, v);
	}
	(void)end(&o, p);
}

static bool measures(void)
{
	for (uint8_t j = 0; j < core.board->joints; j++) {
		if (core.board->channels[j].feedback != TAU_FEEDBACK_NONE) {
			return true;
		}
	}
	return false;
}

void report_tick(void)
{
	if (core.stop_unsaid) {
		core.stop_unsaid = false;
		report_ack(core.stop_seq, STOP, CODE_OK);
	}
	if (!core.greeted) {
		return;
	}
	if (core.status_in > 1 && core.state == core.said_state && core.fault == core.said_fault) {
		core.status_in--;
		return;
	}
	core.status_in = 1; /* again with the next tick where there is no room */
	if (!status()) {
		return;
	}
	core.status_in = core.board->status_ms;
	core.said_state = core.state;
	core.said_fault = core.fault;
	if (measures()) {
		feedback();
	}
}
