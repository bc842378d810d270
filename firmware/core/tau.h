/* The board's side of the wire protocol (../PROTOCOL.md), without any hardware.
 *
 * The core is one state machine with one caller: everything here runs in the port's
 * main loop, never in an interrupt. It allocates nothing and calls nothing but the
 * functions of struct tau_board. A port collects bytes and counts ticks in its
 * interrupts and hands them over from its loop, at least once a millisecond. */
#ifndef TAU_H
#define TAU_H

#include <stdbool.h>
#include <stdint.h>

/* What a port may choose at compile time, the same for all files of the core. */
#ifndef TAU_JOINTS
#define TAU_JOINTS 8 /* the core has room for so many, at most TAU_MAX_JOINTS */
#endif
#ifndef TAU_OUTPUTS
#define TAU_OUTPUTS 8 /* at most TAU_MAX_OUTPUTS */
#endif
#ifndef TAU_QUEUE
#define TAU_QUEUE 1160 /* bytes for pieces of motion; one takes 2 + 7 × joints of the board */
#endif

enum {
	TAU_VERSION = 1,       /* of the protocol */
	TAU_MAX_JOINTS = 8,
	TAU_MAX_OUTPUTS = 8,
	TAU_MAX_PAYLOAD = 64,
	TAU_MAX_BODY = TAU_MAX_PAYLOAD + 4,
	TAU_MAX_FRAME = TAU_MAX_BODY + 2, /* coded, with its delimiter */
	TAU_NO_SWITCH = 255,
	TAU_NO_RAW = 0xFFFF
};

enum tau_kind { TAU_SERVO = 1, TAU_STEPPER = 2, TAU_SWITCHED = 16, TAU_PWM = 17 };
enum tau_feedback { TAU_FEEDBACK_NONE = 0, TAU_FEEDBACK_ADC = 1, TAU_FEEDBACK_STEPS = 2 };

/* Where a port's compiler keeps constants apart from RAM: the name of that space. */
#ifndef TAU_FLASH
#define TAU_FLASH
#endif

/* What a channel is and can do at all. Joints come first, then outputs. */
struct tau_channel {
	uint8_t kind;
	uint8_t feedback;
	uint8_t sw;    /* number of the input that ends the joint's way, TAU_NO_SWITCH: none */
	int32_t lower; /* joints: position units, at least -(2^30 - 1); outputs: 0 */
	int32_t upper; /* joints: at most 2^30 - 1; outputs: the largest value */
};

/* What a port gives the core. All are called from the caller of tau_tick and
 * tau_receive, and return at once. */
struct tau_board {
	uint8_t joints, outputs, inputs;
	uint8_t status_ms;
	const TAU_FLASH struct tau_channel *channels; /* joints + outputs of them */
	uint32_t boot;                      /* another number at each boot */
	uint16_t firmware;
	bool brown_out, watchdog; /* why the last reset was */

	void (*power)(bool on);                         /* all joints; off: no pulse, no step, drivers disabled */
	void (*setpoint)(uint8_t joint, int32_t q);     /* position units; reached within the next tick */
	void (*output)(uint8_t output, uint16_t value); /* 0 to the channel's upper */
	int32_t (*count)(uint8_t joint);                /* steppers: steps × 256 that were really made */
	void (*recount)(uint8_t joint, int32_t q);      /* steppers: the present setpoint is q from now on, and counts shift by as much */
	uint16_t (*raw)(uint8_t joint);                 /* ADC counts */
	uint8_t (*switches)(void);                      /* a bit for each input, 1 closed */
	bool (*estop)(void);                            /* true: the button is pressed, or its wire is broken */
	/* Takes a whole frame, or none of it and returns false: there was no room. */
	bool (*send)(const uint8_t *frame, uint8_t length);
};

/* Begins at a boot: not powered, nothing configured, outputs at 0. board has to live
 * as long as the core is used; it has at most TAU_JOINTS joints and TAU_OUTPUTS outputs. */
void tau_begin(const struct tau_board *board);

/* Takes one byte from the host. */
void tau_receive(uint8_t byte);

/* Passes one millisecond: the next setpoint, limits, switches, e-stop, watchdog, status. */
void tau_tick(void);

/* Says that the port's loop fell more than 20 ticks behind: latches OVERLOAD and brakes
 * from the present setpoint. The port doesn't pass the ticks that were lost, because the
 * setpoints of 20 ticks at once would be a jump. */
void tau_overload(void);

#endif
