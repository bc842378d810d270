/* What the host does with the board while it is measured. */
#ifndef TAU_CYCLES_SCENARIO_H
#define TAU_CYCLES_SCENARIO_H

#include "host.h"

enum { UNIT = 256 /* position units in a µs or a step */, LOAD_MS = 1000 };

/* What the board says a joint is. */
struct channel {
	uint8_t kind, feedback, sw;
};

/* What was measured in the scenario's parts. */
struct measured {
	struct channel joint[PROBE_JOINTS];
	struct probe loaded;             /* one joint moves, the line is full */
	struct probe_range tick, all;    /* alone, and with the interrupts in it; in every part */
	struct probe_range stop;         /* the STOP's last byte, alone */
	struct probe_range high, ahead, apart, in_ms;
	uint64_t early, unpowered;       /* pulses or steps before ENABLE, and without power */
	struct probe_range between;      /* two STATUS of the loaded board */
	uint32_t unmeasured;             /* STATUS of it without FEEDBACK, where joints are measured */
	int64_t miscounted;              /* steps: made on the pins less counted by the board */
};

/* Where a servo rests while another moves, position units. */
int32_t scenario_rest(unsigned joint);

/* Runs it all. False: host_why says where it ended. */
bool scenario_run(struct host *h, struct measured *m);

#endif
