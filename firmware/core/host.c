/* One frame of the host: who may send it when, and who carries it out. */
#include "core.h"
#include "number.h"

#include <string.h>

/* What any payload has to be long, 255: its own affair. Index: type. */
static uint8_t payload_of(uint8_t type)
{
	switch (type) {
	case HELLO:
		return 8;
	case DESCRIBE:
	case CLEAR:
		return 1;
	case CONFIGURE:
		return 20;
	case CONFIGURE_OUTPUT:
		return 7;
	case ENABLE:
		return (uint8_t)(2 + 4 * core.board->joints);
	case BEGIN:
	case REFERENCE:
		return 5;
	case GO:
		return 2;
	case OUTPUT:
		return 3;
	case HEARTBEAT:
		return 4;
	case REPORT:
	case DISABLE:
		return 0;
	default:
		return 255;
	}
}

static uint8_t greet(const uint8_t *p)
{
	if (memcmp(p, "tau", 3) != 0) {
		return CODE_BAD_VALUE;
	}
	if (core.state == MOVING || core.state == BRAKING) {
		return CODE_BUSY;
	}
	if (core.state == LOADED) {
		queue_empty();
	}
	if (core.state != FAULT) {
		core.state = IDLE;
	}
	core.enabled = false; /* that was another host's word */
	core.report_holds = false;
	core.greeted = true;
	core.speaks = p[3] == TAU_VERSION;
	core.seq = 0;
	report_hello(p + 4);
	return CODE_ANSWERED;
}

static uint8_t report(void)
{
	if (core.state == MOVING || core.state == BRAKING) {
		return CODE_BUSY;
	}
	core.report++;
	core.report_holds = true;
	core.report_ms = core.ms;
	report_positions();
	return CODE_ANSWERED;
}

static uint8_t describe(const uint8_t *p)
{
	if (p[0] >= core.board->joints + core.board->outputs) {
		return CODE_BAD_VALUE;
	}
	report_channel(p[0]);
	return CODE_ANSWERED;
}

static uint8_t carry_out(uint8_t type, const uint8_t *p, uint8_t length)
{
	if (type == SEGMENT) {
		return queue_segment(p, length);
	}
	if (type < HELLO || type > REFERENCE) {
		return CODE_UNKNOWN_TYPE;
	}
	if (length != payload_of(type)) {
		return CODE_BAD_LENGTH;
	}
	switch (type) {
	case HELLO:
		return greet(p);
	case DESCRIBE:
		return describe(p);
	case CONFIGURE:
		return setup_configure(p);
	case CONFIGURE_OUTPUT:
		return setup_output(p);
	case REPORT:
		return report();
	case ENABLE:
		return setup_enable(p);
	case DISABLE:
		return setup_disable();
	case BEGIN:
		return queue_begin(p);
	case GO:
		return queue_go(p);
	case CLEAR:
		return safety_clear(p[0]);
	case OUTPUT:
		return setup_set(p);
	case HEARTBEAT:
		report_echo(p);
		return CODE_ANSWERED;
	default:
		return setup_reference(p);
	}
}

/* A frame between was lost, or came twice. */
static void gap(void)
{
	if (core.state == MOVING) {
		safety_fault(SEQUENCE, NO_CHANNEL); /* (3) */
	} else if (core.state == LOADED) {
		queue_empty();
		core.state = HOLD;
	}
}

void host_frame(const uint8_t *body, uint8_t length)
{
	uint8_t type = body[0], seq = body[1];
	bool next = seq == core.expected;
	uint8_t code;

	core.expected = (uint8_t)(seq + 1);
	core.quiet_ms = 0;
	body += 2;
	length = (uint8_t)(length - 2);
	if (type == STOP) { /* (2) */
		safety_stop(length == 1 ? body[0] : 1);
		code = CODE_OK;
		core.stop_unsaid = false;
		core.stop_seq = seq;
	} else if (type == HELLO) {
		code = carry_out(type, body, length);
	} else if (!core.greeted) {
		code = CODE_NO_HELLO;
	} else if (!core.speaks) {
		code = CODE_VERSION;
	} else if (!next) {
		gap();
		code = CODE_BAD_SEQUENCE;
	} else {
		code = carry_out(type, body, length);
	}
	if (code != CODE_ANSWERED) {
		report_ack(seq, type, code);
	}
}
