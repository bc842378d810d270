/* The bench: an ATmega328P with our firmware, what it is wired to, its cable, and the
 * clock that holds them to the wall's. One thread, one owner of everything. */
#ifndef BENCH_H
#define BENCH_H

#include <stdbool.h>
#include <stdint.h>

#include "avr_uart.h"
#include "sim_avr.h"

#include "cable.h"
#include "pca9685.h"
#include "plant.h"
#include "wiring.h"

enum {
	BENCH_HZ = 16000000,
	BENCH_SPANS = 16,
	BENCH_LATER = 64,
	BENCH_COMMAND = 120,
	BENCH_LINE = 4096,    /* bytes that wait for the chip, with --speed step */
	BENCH_LEASE_MS = 1000 /* the longest */
};

struct span {
	uint64_t begun; /* the cycle; 0: not open */
	uint64_t count, sum;
	uint32_t least, most;
};

struct stepper_state {
	uint64_t rise, fall, turn; /* ns of the last edges of step and of dir */
	bool high, forward;
	int32_t shown, shown_axis;
	uint32_t unpowered, shown_unpowered;
};

struct servo_state {
	uint64_t rise;
	bool high;
};

struct later {
	uint64_t ns;
	char command[BENCH_COMMAND];
};

struct bench {
	avr_t *avr;
	avr_uart_t *uart;
	avr_irq_t *pin[3][8]; /* of ports B, C, D */
	avr_run_t run;        /* what avr->run is while no reset is pending */
	void (*core_reset)(struct avr_t *);
	const struct wiring *wiring;
	struct plant plant;
	struct pca9685 pca9685;
	struct cable cable;

	/* Options. */
	bool real, stepped, edges, bytes;

	/* The bench's time is the CPU's cycles plus the time in which it stood. */
	uint64_t stood;
	bool frozen, hung;
	uint64_t held_until; /* in reset until then; 0: not */
	const char *cause;   /* of a boot that wasn't told yet; NULL: none */

	/* How far the chip was run, how many summaries there were, and with --speed step
	 * until when time may pass: ns, ms, ns. */
	uint64_t slice, ms, until;

	/* The wall. */
	uint64_t wall0; /* ns of the monotonic clock at bench time 0 */
	uint64_t late_most, late_shown, slipped;
	uint64_t leased; /* bench time goes no further; UINT64_MAX: nobody gave a lease */

	/* The serial line. */
	uint8_t line[BENCH_LINE]; /* of the command rx */
	unsigned line_n;
	uint8_t rx[256];
	unsigned rx_at, rx_n;
	uint64_t overruns, overruns_shown, received, sent;
	uint8_t log_rx[512], log_tx[512];
	unsigned log_rx_n, log_tx_n;

	/* The pins. */
	struct servo_state servo[PLANT_JOINTS];
	struct stepper_state stepper[PLANT_JOINTS];
	int32_t output[WIRING_OUTPUTS];
	bool enabled;
	uint64_t noise;
	uint8_t closed; /* switches, a bit for each */

	struct span span[BENCH_SPANS];
	uint64_t asleep; /* cycles */

	/* Commands. */
	char input[512];
	unsigned input_n;
	struct later later[BENCH_LATER];
	unsigned later_n;
	const char *ended; /* why; NULL: not yet */
};

uint64_t bench_now(const struct bench *b); /* ns */

/* main.c: lets so many ms pass, with --speed step. */
void bench_step(struct bench *b, unsigned ms);

/* chip.c: the processor, its serial line and its spans. */
const char *chip_begin(struct bench *b, const char *hex);
void chip_reset(struct bench *b, const char *cause);
/* Lets the chip run until bench time ns, whatever state it is in. */
void chip_run(struct bench *b, uint64_t ns);
unsigned chip_free_ram(const struct bench *b);

/* uart.c */
void uart_begin(struct bench *b);
void uart_pump(struct bench *b);          /* between the cable and the chip */
void uart_refresh(struct bench *b);       /* once a ms */
void uart_reset(struct bench *b);
void uart_drop(struct bench *b);          /* loses the bytes that are under way to the chip */
void uart_again(struct bench *b);         /* raises the interrupt for what is unread */

/* pins.c */
const char *pins_begin(struct bench *b);
void pins_released(struct bench *b);      /* a reset makes every pin an input */
void pins_inputs(struct bench *b, bool fresh);
void pins_pass(struct bench *b);          /* once a ms: summaries, the plant */

/* command.c */
void command_look(struct bench *b);       /* reads stdin */
void command_due(struct bench *b);        /* does what was put off until now */
uint64_t command_next(const struct bench *b); /* when the next of those is; UINT64_MAX */

#endif
