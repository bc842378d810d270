/* The host build: the firmware's core on this machine, with modelled servos, steppers and
 * switches, its line on a pseudo-terminal. The core doesn't know the difference. One
 * thread, one owner of everything. What it prints and which words it takes says
 * docs/HIL.md; cable, plant and trace are the emulator's own. */
#ifndef HOST_H
#define HOST_H

#include <stdbool.h>
#include <stdint.h>

#include "cable.h"
#include "plant.h"
#include "tau.h"

enum {
	HOST_MS = 1000000, /* ns */
	HOST_OUTPUTS = 3,
	HOST_TX = 128,     /* the AVR port's ring, in bytes */
	HOST_LATER = 64,
	HOST_RX = 1024,
	HOST_COMMAND = 120
};

struct stepper {
	int32_t target;  /* position units of the core */
	int32_t shift;   /* position units: count = steps · 256 − shift */
	int32_t shown, shown_axis; /* steps */
};

struct later {
	uint64_t ns;
	char command[HOST_COMMAND];
};

struct host {
	struct tau_board board;
	struct tau_channel channels[PLANT_JOINTS + HOST_OUTPUTS];
	struct plant plant;
	struct cable cable;
	struct stepper stepper[PLANT_JOINTS];
	int32_t setpoint[PLANT_JOINTS];
	uint16_t output[HOST_OUTPUTS];
	uint8_t shown_switches;
	bool powered, steppers;

	uint64_t ns;      /* the bench's clock */
	uint64_t wall0;   /* the wall's clock where the bench's is 0 */
	uint64_t late_most, late_shown, slipped;
	uint64_t leased; /* the bench's clock goes no further; UINT64_MAX: nobody gave a lease */
	bool real, edges, bytes;
	bool stepped; /* time passes by the word step only, bytes come by rx and go by the trace */
	bool frozen, hung;
	uint64_t hung_ns;
	const char *ended;

	unsigned baud;
	unsigned rx_credit, tx_credit; /* of a byte, in 1/10000 */
	uint8_t tx[HOST_TX];           /* the board's ring */
	unsigned tx_n;
	uint64_t received, sent;
	uint8_t rx[HOST_RX]; /* stepped: what waits for the board */
	unsigned rx_n;

	char input[512];
	unsigned input_n;
	struct later later[HOST_LATER];
	unsigned later_n;
};

/* board.c */
/* Makes the board: kind servo or stepper, so many joints, a voltage of each servo's
 * place if adc. */
void board_make(struct host *h, bool steppers, uint8_t joints, bool adc);
/* Boots it. cause: power, reset, brownout, watchdog. */
void board_boot(struct host *h, const char *cause);
/* Passes one ms: bytes, a tick, what hangs on the board. */
void board_pass(struct host *h);

/* command.c */
/* Takes what stands on stdin; stepped, waits for it. */
void command_look(struct host *h);
/* Carries out what was put off until now. */
void command_due(struct host *h);

#endif
