/* A port for tests: it remembers what the core told it, and what it sent. */
#ifndef FAKE_H
#define FAKE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core.h"

enum { FAKE_FRAMES = 64 };

struct fake_frame {
	uint8_t body[TAU_MAX_BODY];
	uint8_t length; /* type, seq and payload */
};

struct fake {
	struct tau_board board;
	struct tau_channel channels[TAU_MAX_JOINTS + TAU_MAX_OUTPUTS];
	int32_t told[TAU_MAX_JOINTS];     /* also where a stepper is */
	int32_t least[TAU_MAX_JOINTS], most[TAU_MAX_JOINTS];
	uint32_t tellings;                /* setpoints told since the boot */
	uint16_t output[TAU_MAX_OUTPUTS];
	bool power, estop;
	uint32_t cuts; /* how often the power went off */
	uint8_t switches;
	uint16_t raw[TAU_MAX_JOINTS];
	bool deaf;     /* send has no room */

	struct decoder decoder;
	struct fake_frame frames[FAKE_FRAMES]; /* sent and not taken */
	unsigned n;
	bool lost;                             /* more came than there is room for */
	uint8_t status[TAU_MAX_PAYLOAD], status_length;
	uint32_t statuses;
};

extern struct fake fake;

/* So many servos, steppers with a switch each, and PWM outputs. Not booted. */
void fake_make(uint8_t servos, uint8_t steppers, uint8_t outputs);
void fake_boot(void);

/* Sends a frame of the host to the core. */
void fake_send(uint8_t type, uint8_t seq, const uint8_t *payload, uint8_t length);
/* Sends the next one in the host's count, and returns the code of its ACK: CODE_ANSWERED
 * where another frame or none answered. */
uint8_t fake_ask(uint8_t type, const uint8_t *payload, uint8_t length);
/* The oldest frame but STATUS and FEEDBACK that isn't taken. NULL: there is none. */
const struct fake_frame *fake_take(void);

/* HELLO, limits for all joints and outputs, ENABLE of every joint at q. */
void fake_greet(void);
void fake_configure(int32_t lower, int32_t upper, uint32_t v, uint32_t a, uint16_t ramp, uint8_t flags);
void fake_enable(int32_t q);
void fake_begin(uint16_t motion, uint8_t seek);
/* A piece of the same for all joints. Returns what refused it, or CODE_ANSWERED. */
uint8_t fake_piece(uint8_t index, uint8_t ticks, int32_t q, int32_t v, bool last);
void fake_go(uint16_t motion);

#endif
