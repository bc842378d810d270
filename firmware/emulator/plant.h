/* What hangs on the board: servos that follow their pulse, axes that follow their
 * steps, and switches at the axes' ends. No simavr in here, and no clock. */
#ifndef BENCH_PLANT_H
#define BENCH_PLANT_H

#include <stdbool.h>
#include <stdint.h>

enum { PLANT_JOINTS = 8, PLANT_SWITCHES = 8, PLANT_RAW_MAX = 1023 };

struct plant_servo {
	double at;      /* µs, where the horn is */
	double pulse;   /* µs, the last pulse's width; 0: none yet */
	uint64_t last;  /* ns, when it ended */
	bool stalled, wire, fixed; /* wire: of the feedback; fixed: raw is set by hand */
	uint16_t raw;
};

struct plant_axis {
	int32_t steps; /* what the driver was told, from the first boot on */
	int32_t at;    /* where the axis is, in steps from where it began */
	bool stalled;
};

struct plant_switch {
	bool modelled; /* closed by the joint of the same number */
	bool servo;    /* which is a servo */
	int32_t position; /* steps, µs */
	int8_t side;   /* -1: closed at position and below; 1: and above */
	enum { SWITCH_AUTO, SWITCH_OPEN, SWITCH_CLOSED } hand;
};

struct plant {
	struct plant_servo servo[PLANT_JOINTS];
	struct plant_axis axis[PLANT_JOINTS];
	struct plant_switch sw[PLANT_SWITCHES];
	bool button;
};

void plant_begin(struct plant *p);
void plant_pulse(struct plant *p, uint8_t joint, double us, uint64_t now_ns);
void plant_step(struct plant *p, uint8_t joint, bool forward);

/* Lets ms pass for the servos. */
void plant_pass(struct plant *p, uint64_t now_ns, double ms);

bool plant_switch_closed(const struct plant *p, uint8_t sw);

/* What the ADC reads for a joint's feedback, 0 to PLANT_RAW_MAX. */
uint16_t plant_raw(const struct plant *p, uint8_t joint);

#endif
