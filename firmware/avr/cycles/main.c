/* What the firmware takes: bytes of flash and RAM, cycles of its tick, its stop and its
 * interrupts, and how exact its edges are, measured while a host moves all joints and
 * fills the line with garbage up to the last byte. Beyond a limit the exit code is 1.
 *
 *   cycles servo8|stepper3 JOINTS BAUD tau.elf */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host.h"

enum {
	FLASH_MOST = 24 * 1024,
	RAM_MOST = 1536,
	TICK_MOST = PROBE_MS,     /* else the loop falls behind */
	PULSE_MOST = 10 * PROBE_US,
	HIGH_LEAST = 2 * PROBE_US,
	AHEAD_LEAST = 5 * PROBE_US,
	SPAN_TICK = 1,
	SPAN_RECEIVE = 2,
	LEAD_MS = 60,
	LOAD_MS = 2000,
	UNIT = 256
};

/* A servo goes from 1500 to 2100 µs and back in a second, a stepper 2550 steps: it makes
 * 8 steps a millisecond where it is fastest. */
static const double servo_way = 600.0 * UNIT, stepper_way = 2550.0 * UNIT, period_ms = 1000;

static bool is_stepper;
static unsigned beyond;

static int32_t rest(unsigned j)
{
	static const int us[PROBE_JOINTS] = {1500, 500, 2500, 2500, 1000, 1777, 2499, 600};

	return is_stepper ? 0 : us[j] * UNIT;
}

static struct place swing(const struct stream *s, unsigned j, double way, uint32_t ms)
{
	double w = 2 * 3.14159265358979323846 / period_ms;
	double t = ms >= s->length_ms ? s->length_ms : ms;

	return (struct place){
		s->from[j] + (int32_t)lrint(way / 2 * (1 - cos(w * t))),
		(int32_t)lrint(256 * way / 2 * w * sin(w * t)),
	};
}

static struct place all_move(const struct stream *s, unsigned j, uint32_t ms)
{
	if (is_stepper) {
		return swing(s, j, stepper_way, ms);
	}
	return swing(s, j, rest(j) > 1500 * UNIT ? -servo_way : servo_way, ms);
}

static struct place first_moves(const struct stream *s, unsigned j, uint32_t ms)
{
	if (j == 0) {
		return all_move(s, j, ms);
	}
	return (struct place){s->from[j], 0};
}

/* Half of the first second's way, slowly enough to be stopped by a switch. */
static struct place seeks(const struct stream *s, unsigned j, uint32_t ms)
{
	return swing(s, j, stepper_way / 10, ms);
}

static bool configure(struct host *h)
{
	for (unsigned j = 0; j < h->p->joints; j++) {
		uint8_t p[HOST_PAYLOAD] = {(uint8_t)j, 1};
		int32_t lower = is_stepper ? -20000 * UNIT : 500 * UNIT, upper = is_stepper ? 20000 * UNIT : 2500 * UNIT;
		double way = is_stepper ? stepper_way : servo_way;
		double v = 256 * way * 3.15 / period_ms, a = 65536 * way * 20 / period_ms / period_ms;
		uint8_t *to = host_u32(host_u32(p + 2, (uint32_t)lower), (uint32_t)upper);
		to = host_u16(host_u32(host_u32(to, (uint32_t)(v * 1.02)), (uint32_t)(a * 1.5)), 20);
		if (!host_ask(h, CONFIGURE, p, (unsigned)(to - p), ACK)) {
			return false;
		}
	}
	return true;
}

static bool enable(struct host *h, bool keep)
{
	uint8_t p[HOST_PAYLOAD], *to;

	if (!host_ask(h, REPORT, NULL, 0, POSITIONS)) {
		return false;
	}
	to = p + 2;
	memcpy(p, h->payload, 2);
	for (unsigned j = 0; j < h->p->joints; j++) {
		to = host_u32(to, (uint32_t)(keep ? h->status.setpoint[j] : rest(j)));
	}
	return host_ask(h, ENABLE, p, (unsigned)(to - p), ACK) && host_await(h, HOLD, 50);
}

/* The switches of stepper3, normally closed: high where the joint is at its end. */
static void press(struct host *h, unsigned j, bool on)
{
	static const uint8_t bit[3] = {1, 2, 4};

	probe_input(h->p, 'B', bit[j], on);
}

static void button(struct host *h, bool on)
{
	probe_input(h->p, is_stepper ? 'C' : 'D', is_stepper ? 0 : 2, on);
}

static bool seek(struct host *h)
{
	for (unsigned j = 0; j < h->p->joints; j++) {
		uint8_t p[5] = {(uint8_t)j};
		struct stream s = {.at = seeks, .length_ms = 500, .piece_ms = 10};

		if (!host_move(h, s, (uint8_t)j) || !host_run(h, 250000)) {
			return false;
		}
		press(h, j, true);
		h->stream.active = false;
		if (!host_await(h, HOLD, 500)) {
			return false;
		}
		press(h, j, false);
		(void)host_u32(p + 1, 0);
		if (!host_ask(h, REFERENCE, p, 5, ACK)) {
			return false;
		}
	}
	return true;
}

static bool begin(struct host *h)
{
	static const uint8_t hello[] = {'t', 'a', 'u', 1, 1, 2, 3, 4};

	button(h, false);
	for (unsigned j = 0; is_stepper && j < h->p->joints; j++) {
		press(h, j, false);
	}
	return host_run(h, 80000) && probe_write(h->p, (const uint8_t[]){0}, 1) &&
	       host_ask(h, HELLO, hello, sizeof hello, HELLO_REPLY) && configure(h) && enable(h, false) &&
	       (!is_stepper || seek(h));
}

static bool move(struct host *h, struct place (*at)(const struct stream *, unsigned, uint32_t), uint32_t ms)
{
	uint32_t slots = h->status.free / (2U + 7U * h->p->joints);
	/* 5 ms where so many fit, else what fills the 200 ms that a board may hold. */
	struct stream s = {.at = at, .length_ms = ms, .piece_ms = slots >= 25 ? 5 : 200 / slots};

	return host_move(h, s, 255);
}

/* Loads the board in every way at once, and forgets what was measured before. */
static bool load(struct host *h)
{
	h->noisy = true;
	probe_forget(h->p);
	return move(h, first_moves, LOAD_MS) && host_await(h, MOVING, 100) && host_await(h, HOLD, LOAD_MS + 500);
}

/* The stop's last byte comes when the line is quiet, so that its span is the largest. */
static bool stop(struct host *h, struct probe_range *handling, struct probe_range *braking)
{
	uint8_t p[1] = {0};

	if (!move(h, all_move, LOAD_MS) || !host_run(h, 330000)) {
		return false;
	}
	h->noisy = false;
	h->stream.active = false;
	while (probe_unsent(h->p) != 0) {
		if (!host_run(h, 100)) {
			return false;
		}
	}
	if (!host_run(h, 2000)) {
		return false;
	}
	probe_forget(h->p);
	if (!host_ask(h, STOP, p, 1, ACK)) {
		return false;
	}
	*handling = h->p->alone[SPAN_RECEIVE];
	if (!host_await(h, HOLD, 500)) {
		return false;
	}
	*braking = h->p->alone[SPAN_TICK];
	return true;
}

/* Prints one figure beside its limit. most < 0: there is none. */
static void line(const char *what, double v, const char *unit, double least, double most)
{
	bool bad = (most >= 0 && v > most) || v < least;

	(void)printf("%-52s %10.*f %-7s", what, strcmp(unit, "µs") == 0 ? 2 : 0, v, unit);
	if (most >= 0) {
		(void)printf(" at most %.0f", most);
	}
	if (least > 0) {
		(void)printf(" at least %.0f", least);
	}
	(void)printf("%s\n", bad ? "  BEYOND" : "");
	beyond += bad;
}

static void join(struct probe_range *to, const struct probe_range *r)
{
	if (r->n != 0) {
		probe_see(to, r->least);
		probe_see(to, r->most);
	}
}

static void report_servos(const struct probe *p)
{
	struct probe_range error = {0}, frame = {0};

	for (unsigned j = 1; j < p->joints; j++) {
		int64_t asked = rest(j) / UNIT * PROBE_US;
		struct probe_range e = {.n = p->pulse[j].n, .least = p->pulse[j].least - asked, .most = p->pulse[j].most - asked};
		join(&error, &e);
		join(&frame, &p->frame[j]);
		beyond += e.n < LOAD_MS / 20 - 2;
	}
	line("pulse, narrowest error", (double)error.least / PROBE_US, "µs", -PULSE_MOST / PROBE_US, -1);
	line("pulse, widest error", (double)error.most / PROBE_US, "µs", -PULSE_MOST / PROBE_US, PULSE_MOST / PROBE_US);
	line("from pulse to pulse, least", (double)frame.least / PROBE_US, "µs", 19980, -1);
	line("from pulse to pulse, most", (double)frame.most / PROBE_US, "µs", 0, 20020);
}

static void report_steppers(const struct probe *p, const struct probe_range *high, const struct probe_range *ahead, const struct probe_range *apart)
{
	(void)p;
	line("step pulse, shortest", (double)high->least / PROBE_US, "µs", HIGH_LEAST / PROBE_US, -1);
	line("direction before the step, shortest", (double)ahead->least / PROBE_US, "µs", AHEAD_LEAST / PROBE_US, -1);
	line("step to step, shortest", (double)apart->least / PROBE_US, "µs", 0, 1000.0 / 8);
}

static void setup(struct probe *p, const char *map)
{
	static const struct probe_pin servo[PROBE_JOINTS] = {
		{'D', 3}, {'D', 4}, {'D', 5}, {'D', 6}, {'D', 7}, {'B', 0}, {'B', 1}, {'B', 2}};

	is_stepper = strcmp(map, "stepper3") == 0;
	p->steppers = is_stepper;
	memcpy(p->servo, servo, sizeof servo);
	for (uint8_t j = 0; j < 3; j++) {
		p->step[j] = (struct probe_pin){'D', (uint8_t)(2 + j)};
		p->dir[j] = (struct probe_pin){'D', (uint8_t)(5 + j)};
	}
}

static void report(const struct host *h, const struct probe *loaded, const struct probe_range *handling, const struct probe_range *braking,
                   const struct probe_range *tick, const struct probe_range *all)
{
	const struct probe *p = h->p;
	uint64_t longest = 0;

	line("flash", p->flash, "bytes", 0, FLASH_MOST);
	line("RAM, variables", p->statics, "bytes", 0, -1);
	line("RAM, deepest stack", probe_stack(p), "bytes", 0, -1);
	line("RAM", p->statics + probe_stack(p), "bytes", 0, RAM_MOST);
	line("tick, mean, alone", (double)loaded->alone[SPAN_TICK].sum / (double)loaded->alone[SPAN_TICK].n, "cycles", 1, TICK_MOST);
	line("tick, worst, alone", (double)tick->most, "cycles", 1, TICK_MOST);
	line("tick, worst, with the interrupts in it", (double)all->most, "cycles", 1, TICK_MOST);
	line("tick, worst while braking, alone", (double)braking->most, "cycles", 1, TICK_MOST);
	line("stop, its last byte, alone", (double)handling->most, "cycles", 1, TICK_MOST);
	for (unsigned i = 0; i < PROBE_VECTORS; i++) {
		if (loaded->vector[i].n != 0 && (uint64_t)loaded->vector[i].most > longest) {
			longest = (uint64_t)loaded->vector[i].most;
		}
	}
	line("interrupt, longest", (double)longest, "cycles", 1, -1);
	line("byte received to byte fetched, longest", (double)loaded->receive.most / PROBE_US, "µs", 0, 2.0 * 10 * 1000000 / p->baud);
	line("bytes lost", (double)probe_lost(p), "", 0, 0);
	line("frames the board couldn't send", h->missing, "", 0, 0);
}

int main(int argc, char **argv)
{
	static struct probe p, loaded;
	static struct host h;
	struct probe_range handling = {0}, braking = {0}, tick = {0}, all = {0}, high = {0}, ahead = {0}, apart = {0};

	if (argc != 5) {
		(void)fprintf(stderr, "usage: cycles servo8|stepper3 JOINTS BAUD tau.elf\n");
		return 2;
	}
	setup(&p, argv[1]);
	p.joints = (uint8_t)atoi(argv[2]);
	p.baud = (uint32_t)atol(argv[3]);
	h.p = &p;
	h.random = 1;
	const char *why = probe_begin(&p, argv[4]);
	if (why != NULL) {
		(void)fprintf(stderr, "cycles: %s: %s\n", argv[4], why);
		return 2;
	}
	bool ok = begin(&h) && load(&h);
	loaded = p;
	join(&tick, &p.alone[SPAN_TICK]);
	join(&all, &p.span[SPAN_TICK]);
	for (unsigned j = 0; j < p.joints; j++) {
		join(&high, &p.high[j]);
		join(&ahead, &p.ahead[j]);
		join(&apart, &p.apart[j]);
	}
	ok = ok && stop(&h, &handling, &braking);
	join(&tick, &braking);
	if (!ok) {
		(void)fprintf(stderr, "cycles: %s %s at %.3f s: %s\n", argv[1], argv[2], (double)probe_cycle(&p) / PROBE_HZ, h.why);
		(void)fprintf(stderr, "%llu bytes lost\n", (unsigned long long)probe_lost(&p));
		for (unsigned i = 1; i <= SPAN_RECEIVE; i++) {
			(void)fprintf(stderr, "span %u: %llu times, %lld cycles at most, %lld alone\n", i, (unsigned long long)p.span[i].n,
			              (long long)p.span[i].most, (long long)p.alone[i].most);
		}
		return 1;
	}
	report(&h, &loaded, &handling, &braking, &tick, &all);
	if (is_stepper) {
		report_steppers(&p, &high, &ahead, &apart);
	} else {
		report_servos(&loaded);
	}
	return beyond != 0;
}
