/* What the firmware takes: bytes of flash and RAM, cycles of its tick, its stop and its
 * interrupts, and how exact its edges are, measured while a host moves the joints and
 * fills the line with garbage up to the last byte. Beyond a limit the exit code is 1.
 *
 *   cycles servo8|stepper3 JOINTS BAUD tau.elf
 *   cycles numbers numbers.elf            whether test/number.c finds no difference */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scenario.h"

enum {
	FLASH_MOST = 24 * 1024,
	RAM_MOST = 1536,
	/* A tick with a fault or a frame with a stop in it plans the brake. It may take longer
	 * than a millisecond, since the loop catches up, but less than the longest frame
	 * takes on the line. Most ticks have to leave half of their millisecond. */
	TICK_MOST = 7 * PROBE_MS / 2,
	TICK_MEAN_MOST = PROBE_MS / 2,
	STOP_MOST = 7 * PROBE_MS / 2,
	PULSE_MOST_US = 10,
	STATUS_MOST_US = 35000,
	FRAME_US = 20000,
	FRAME_OFF_US = 20,
	HIGH_LEAST_US = 2,
	AHEAD_LEAST_US = 5,
	APART_MOST_US = 125, /* 8 steps a millisecond */
	SPAN_TICK = 1,
	SPAN_RECEIVE = 2,
	LEAST = -1000000,
	MOST = 1000000
};

static unsigned beyond;

/* Prints one figure beside its limits; LEAST and MOST are none. */
static void line(const char *what, double v, const char *unit, double least, double most)
{
	bool bad = v > most || v < least;

	(void)printf("%-52s %10.*f %s", what, strcmp(unit, "us") == 0 ? 2 : 0, v, unit);
	if (most < MOST) {
		(void)printf(" at most %.0f", most);
	}
	if (least > LEAST) {
		(void)printf(" at least %.0f", least);
	}
	(void)printf("%s\n", bad ? " BEYOND" : "");
	beyond += bad;
}

static double us(int64_t cycles)
{
	return (double)cycles / PROBE_US;
}

static void report_servos(const struct measured *m)
{
	struct probe_range error = {0}, frame = {0};
	uint64_t fewest = UINT64_MAX;

	for (unsigned j = 1; j < m->loaded.joints; j++) {
		const struct probe_range *r = &m->loaded.pulse[j];
		int64_t asked = scenario_rest(j) / UNIT * PROBE_US;

		if (r->n != 0) {
			probe_see(&error, r->least - asked);
			probe_see(&error, r->most - asked);
		}
		probe_join(&frame, &m->loaded.frame[j]);
		fewest = r->n < fewest ? r->n : fewest;
	}
	line("pulses of a joint", (double)fewest, "", LOAD_MS / 20 - 1, MOST);
	line("pulse, narrowest error", us(error.least), "us", -PULSE_MOST_US, PULSE_MOST_US);
	line("pulse, widest error", us(error.most), "us", -PULSE_MOST_US, PULSE_MOST_US);
	line("from pulse to pulse, least", us(frame.least), "us", FRAME_US - FRAME_OFF_US, MOST);
	line("from pulse to pulse, most", us(frame.most), "us", LEAST, FRAME_US + FRAME_OFF_US);
}

static void report_steppers(const struct measured *m)
{
	line("step pulse, shortest", us(m->high.least), "us", HIGH_LEAST_US, MOST);
	line("direction before the step, shortest", us(m->ahead.least), "us", AHEAD_LEAST_US, MOST);
	line("directions changed", (double)m->ahead.n, "", 100, MOST);
	line("step to step, shortest", us(m->apart.least), "us", LEAST, APART_MOST_US);
	line("steps in a millisecond, most", (double)m->in_ms.most, "", 8, 9);
	line("steps miscounted", (double)m->miscounted, "", 0, 0);
}

static void report(const struct host *h, const struct measured *m)
{
	const struct probe *p = h->p;
	const struct probe_range *tick = &m->loaded.alone[SPAN_TICK];
	int64_t longest = 0;

	for (unsigned i = 0; i < PROBE_VECTORS; i++) {
		const struct probe_range *v = &m->loaded.vector[i];
		longest = v->n != 0 && v->most > longest ? v->most : longest;
	}
	line("flash", p->flash, "bytes", LEAST, FLASH_MOST);
	line("RAM, variables", p->statics, "bytes", LEAST, MOST);
	line("RAM, deepest stack", probe_stack(p), "bytes", LEAST, MOST);
	line("RAM", p->statics + probe_stack(p), "bytes", LEAST, RAM_MOST);
	line("tick, mean, alone", (double)tick->sum / (double)tick->n, "cycles", 1, TICK_MEAN_MOST);
	line("tick, worst, alone", (double)m->tick.most, "cycles", 1, TICK_MOST);
	line("tick, worst, with the interrupts in it", (double)m->all.most, "cycles", 1, TICK_MOST);
	line("frame received, worst, alone", (double)m->loaded.alone[SPAN_RECEIVE].most, "cycles", 1, STOP_MOST);
	line("stop received, alone", (double)m->stop.most, "cycles", 1, STOP_MOST);
	line("interrupt, longest", (double)longest, "cycles", 1, MOST);
	line("byte received to byte fetched, longest", us(m->loaded.receive.most), "us", LEAST, 2.0 * 10 * 1000000 / p->baud);
	line("bytes lost", (double)probe_lost(p), "", 0, 0);
	line("from STATUS to STATUS, longest", us(m->between.most), "us", LEAST, STATUS_MOST_US);
	line("STATUS without their FEEDBACK", m->unmeasured, "", 0, 0);
	line("pulses or steps before ENABLE", (double)m->early, "", 0, 0);
	line("pulses or steps without power", (double)m->unpowered, "", 0, 0);
	if (p->steppers) {
		report_steppers(m);
	} else {
		report_servos(m);
	}
}

static void wire(struct probe *p)
{
	static const struct probe_pin servo[PROBE_JOINTS] = {
		{'D', 3}, {'D', 4}, {'D', 5}, {'D', 6}, {'D', 7}, {'B', 0}, {'B', 1}, {'B', 2}};

	memcpy(p->servo, servo, sizeof servo);
	for (uint8_t j = 0; j < 3; j++) {
		p->step[j] = (struct probe_pin){'D', (uint8_t)(2 + j)};
		p->dir[j] = (struct probe_pin){'D', (uint8_t)(5 + j)};
	}
}

/* Runs a program until it sends a byte: K is well, anything else isn't. */
static int passes(const char *elf)
{
	static struct probe p = {.baud = 115200};
	uint8_t byte;

	const char *why = probe_begin(&p, elf);
	while (why == NULL && !probe_read(&p, &byte)) {
		if (!probe_step(&p)) {
			why = "the program crashed";
		} else if (probe_cycle(&p) > 100ULL * PROBE_HZ) {
			why = "the program sent nothing";
		}
	}
	if (why == NULL && byte != 'K') {
		why = "the program found a difference";
	}
	if (why != NULL) {
		(void)fprintf(stderr, "cycles: %s: %s\n", elf, why);
	}
	return why != NULL;
}

int main(int argc, char **argv)
{
	static struct probe p;
	static struct host h;
	static struct measured m;

	if (argc == 3 && strcmp(argv[1], "numbers") == 0) {
		return passes(argv[2]);
	}
	if (argc != 5) {
		(void)fprintf(stderr, "usage: cycles servo8|stepper3 JOINTS BAUD tau.elf\n       cycles numbers numbers.elf\n");
		return 2;
	}
	p.steppers = strcmp(argv[1], "stepper3") == 0;
	p.joints = (uint8_t)atoi(argv[2]);
	p.baud = (uint32_t)atol(argv[3]);
	wire(&p);
	h.p = &p;
	h.random = 1;
	const char *why = probe_begin(&p, argv[4]);
	if (why != NULL) {
		(void)fprintf(stderr, "cycles: %s: %s\n", argv[4], why);
		return 2;
	}
	if (!scenario_run(&h, &m)) {
		(void)fprintf(stderr, "cycles: %s of %s joints, at %.3f s: %s; %llu bytes lost, a tick took up to %lld cycles, a frame %lld\n",
		              argv[1], argv[2], (double)probe_cycle(&p) / PROBE_HZ, h.why, (unsigned long long)probe_lost(&p),
		              (long long)m.all.most, (long long)p.span[SPAN_RECEIVE].most);
		return 1;
	}
	report(&h, &m);
	return beyond != 0;
}
