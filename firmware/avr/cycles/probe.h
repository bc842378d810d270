/* An ATmega328P run one instruction at a time, with everything that happens on it
 * measured in cycles: the program's marked spans, its interrupts, its stack, its pins. */
#ifndef TAU_CYCLES_PROBE_H
#define TAU_CYCLES_PROBE_H

#include <stdbool.h>
#include <stdint.h>

enum { PROBE_HZ = 16000000, PROBE_US = 16, PROBE_MS = 16000, PROBE_JOINTS = 8, PROBE_SPANS = 16, PROBE_VECTORS = 26 };

/* What was seen, n times. */
struct probe_range {
	uint64_t n;
	int64_t least, most, sum;
};

void probe_see(struct probe_range *r, int64_t v);

/* Adds what r saw to what another did. */
void probe_join(struct probe_range *to, const struct probe_range *r);

struct probe_pin {
	char port;
	uint8_t bit;
};

struct probe {
	/* Set before probe_begin. */
	uint8_t joints;
	bool steppers;
	struct probe_pin servo[PROBE_JOINTS], step[PROBE_JOINTS], dir[PROBE_JOINTS];
	uint32_t baud;

	/* Measured since the last probe_forget; cycles. */
	struct probe_range span[PROBE_SPANS];    /* with the interrupts in between */
	struct probe_range alone[PROBE_SPANS];   /* without them */
	struct probe_range vector[PROBE_VECTORS];
	struct probe_range pulse[PROBE_JOINTS];  /* width */
	struct probe_range frame[PROBE_JOINTS];  /* from rise to rise */
	struct probe_range high[PROBE_JOINTS];   /* step pulse */
	struct probe_range ahead[PROBE_JOINTS];  /* direction before the step's edge */
	struct probe_range apart[PROBE_JOINTS];  /* step to step */
	struct probe_range in_ms[PROBE_JOINTS];  /* steps in each ms in which there were some */
	struct probe_range receive;              /* from a byte's stop bit to its interrupt's read */
	uint64_t overran;                        /* bytes that overran the UART */
	int64_t steps[PROBE_JOINTS];             /* signed, since the boot */
	uint64_t edges[PROBE_JOINTS];            /* pulses or steps begun since the boot */

	/* Sizes from the ELF file. */
	uint32_t flash, statics;
};

/* Loads and boots elf. Returns NULL, or what is wrong. One probe a process. */
const char *probe_begin(struct probe *p, const char *elf);

/* Runs one instruction, or to the next event while the program sleeps. False: crashed. */
bool probe_step(struct probe *p);

/* Bytes that were lost to the firmware, by the UART or for want of room in its ring. */
uint64_t probe_lost(const struct probe *p);

/* The most bytes of stack that were in use since the boot. */
uint32_t probe_stack(const struct probe *p);

/* Forgets what was measured but the steps. */
void probe_forget(struct probe *p);

uint64_t probe_cycle(const struct probe *p);

/* Has the program believe that so many ms went by without it. */
void probe_fall_behind(struct probe *p, uint8_t ms);

/* Ends all timers' interrupts. */
void probe_end_ticks(struct probe *p);

/* Lays n bytes on the line to the board. False: there is no room for them. */
bool probe_write(struct probe *p, const uint8_t *bytes, unsigned n);

/* How many bytes of them haven't gone out yet. */
unsigned probe_unsent(const struct probe *p);

/* Takes the next byte from the board. */
bool probe_read(struct probe *p, uint8_t *byte);

/* What an output pin is driven to; false also where it isn't one. */
bool probe_output(const struct probe *p, char port, uint8_t bit);

/* What the PWM on OC2A is set to, 0 to 255; 0 where it is off. */
uint8_t probe_pwm(const struct probe *p);

/* Puts a voltage on An. */
void probe_voltage(struct probe *p, uint8_t n, uint32_t millivolts);

/* Drives an input pin. */
void probe_input(struct probe *p, char port, uint8_t bit, bool high);

#endif
