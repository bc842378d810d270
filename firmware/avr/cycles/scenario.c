#include "scenario.h"

#include <math.h>
#include <string.h>

enum { SPAN_TICK = 1, SPAN_RECEIVE = 2, RESET_WATCHDOG = 4, POWERED = 1, REFERENCED = 8, ZIGZAG_MS = 1000, ZIGZAG_PIECE_MS = 5, ZIGZAG_STEPS = 4, NO_SWITCH = 255, BY_VOLTAGE = 1, DIM = 100 };

/* A servo goes 600 µs and back in a second, a stepper 2550 steps: it makes 8 steps a
 * millisecond where it is fastest. */
static const double servo_way = 600.0 * UNIT, stepper_way = 2550.0 * UNIT, period_ms = 1000;

int32_t scenario_rest(unsigned j)
{
	static const int us[PROBE_JOINTS] = {1500, 500, 2500, 2500, 1000, 1777, 2499, 600};

	return us[j] * UNIT;
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
	if (s->steppers) {
		return swing(s, j, stepper_way, ms);
	}
	return swing(s, j, s->from[j] > 1500 * UNIT ? -servo_way : servo_way, ms);
}

/* One servo only, so that of the others it is known how wide each pulse has to be. */
static struct place first_moves(const struct stream *s, unsigned j, uint32_t ms)
{
	if (j == 0 || s->steppers) {
		return all_move(s, j, ms);
	}
	return (struct place){s->from[j], 0};
}

/* Slowly enough to be stopped by a switch. */
static struct place seeks(const struct stream *s, unsigned j, uint32_t ms)
{
	return swing(s, j, stepper_way / 10, ms);
}

/* A few steps and back every 10 ms, each time by another part of a step, so that some
 * turn just behind a step that has to be taken back at once. */
static struct place zigzag(const struct stream *s, unsigned j, uint32_t ms)
{
	uint32_t n = ms / ZIGZAG_PIECE_MS;
	int32_t out = ZIGZAG_STEPS * UNIT + (int32_t)((n * 37 + j * 11) % UNIT);

	return (struct place){s->from[j] + (n % 2 != 0 && ms < s->length_ms ? out : 0), 0};
}

static bool configure(struct host *h)
{
	bool steppers = h->p->steppers;
	double way = steppers ? stepper_way : servo_way;
	int32_t lower = steppers ? -20000 * UNIT : 500 * UNIT, upper = steppers ? 20000 * UNIT : 2500 * UNIT;
	/* Half a circle's length over its diameter is the fastest; some room for rounding. */
	uint32_t v = (uint32_t)(256 * way * 3.15 * 1.02 / period_ms);
	uint32_t a = (uint32_t)(65536 * way * 30 / period_ms / period_ms);

	for (unsigned j = 0; j < h->p->joints; j++) {
		uint8_t p[HOST_PAYLOAD] = {(uint8_t)j, 1}, *to; /* an e-stop powers off */

		to = host_u32(host_u32(p + 2, (uint32_t)lower), (uint32_t)upper);
		to = host_u16(host_u32(host_u32(to, v), a), 20);
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
		int32_t first = h->p->steppers ? 0 : scenario_rest(j);

		to = host_u32(to, (uint32_t)(keep ? h->status.setpoint[j] : first));
	}
	return host_ask(h, ENABLE, p, (unsigned)(to - p), ACK) && host_await(h, HOLD, 50);
}

/* Switch n, normally closed: high where the joint is at its end. */
static void press(struct host *h, uint8_t n, bool on)
{
	static const uint8_t bit[3] = {1, 2, 4};

	if (h->p->steppers) {
		probe_input(h->p, 'B', bit[n], on);
	} else {
		probe_input(h->p, 'C', n, on);
	}
}

static void button(struct host *h, bool on)
{
	probe_input(h->p, h->p->steppers ? 'C' : 'D', h->p->steppers ? 0 : 2, on);
}

static bool seek(struct host *h)
{
	for (unsigned j = 0; j < h->p->joints; j++) {
		uint8_t p[5] = {(uint8_t)j};
		struct stream s = {.at = seeks, .length_ms = 500, .piece_ms = 10};

		if (!host_move(h, s, (uint8_t)j) || !host_run(h, 250000)) {
			return false;
		}
		press(h, (uint8_t)j, true);
		h->stream.active = false;
		if (!host_await(h, HOLD, 500)) {
			return false;
		}
		press(h, (uint8_t)j, false);
		(void)host_u32(p + 1, 0);
		if (!host_ask(h, REFERENCE, p, 5, ACK)) {
			return false;
		}
	}
	return true;
}

/* Pulses and steps so far, on all pins. */
static uint64_t made(const struct probe *p)
{
	uint64_t n = 0;

	for (unsigned j = 0; j < p->joints; j++) {
		n += p->edges[j];
	}
	return n;
}

static bool hello(struct host *h, uint32_t *boot, uint8_t *flags)
{
	static const uint8_t greeting[] = {'t', 'a', 'u', 1, 1, 2, 3, 4};

	if (!probe_write(h->p, (const uint8_t[]){0}, 1) || !host_ask(h, HELLO, greeting, sizeof greeting, HELLO_REPLY)) {
		return false;
	}
	*boot = host_get32(h->payload + 8);
	*flags = h->payload[19];
	return true;
}

/* Asks what each joint is, and lets go of all switches. */
static bool describe(struct host *h, struct measured *m)
{
	for (uint8_t j = 0; j < h->p->joints; j++) {
		if (!host_ask(h, DESCRIBE, &j, 1, CHANNEL)) {
			return false;
		}
		m->joint[j] = (struct channel){.kind = h->payload[1], .feedback = h->payload[2], .sw = h->payload[3]};
		if (m->joint[j].sw != NO_SWITCH) {
			press(h, m->joint[j].sw, false);
		}
		if (m->joint[j].feedback == BY_VOLTAGE) {
			probe_voltage(h->p, j, 500U * (j + 1U));
		}
	}
	return true;
}

/* Each switch and each voltage is on the pin where it should be. */
static bool inputs(struct host *h, const struct measured *m)
{
	for (uint8_t j = 0; j < h->p->joints; j++) {
		uint8_t sw = m->joint[j].sw;

		if (sw == NO_SWITCH) {
			continue;
		}
		press(h, sw, true);
		if (!host_fresh(h)) {
			return false;
		}
		if (h->status.inputs != 1U << sw) {
			return host_fail(h, "pressed a switch: number, inputs", sw, h->status.inputs);
		}
		press(h, sw, false);
	}
	if (!host_fresh(h)) {
		return false;
	}
	for (uint8_t j = 0; j < h->p->joints; j++) {
		int32_t want = 500 * (j + 1) * 1023 / 5000, got = h->feedback[j];

		if (m->joint[j].feedback == BY_VOLTAGE && (got < want - 2 || got > want + 2)) {
			return host_fail(h, "voltage of a joint, counts", j, (unsigned)got);
		}
	}
	return h->status.inputs == 0 || host_fail(h, "no switch is pressed, inputs", 0, h->status.inputs);
}

/* LED and relay, as far as they are on. */
static unsigned lit(const struct host *h)
{
	bool led = probe_output(h->p, 'B', 5);
	bool relay = h->p->steppers ? probe_output(h->p, 'C', 3) : probe_output(h->p, 'B', 4);

	return (led ? 1U : 0U) | (relay ? 2U : 0U);
}

/* Switches LED, relay and PWM on, one after the other. A stop switches them off. */
static bool outputs(struct host *h)
{
	for (uint8_t o = 0; o < 3; o++) {
		uint8_t most = o < 2 ? 1 : 255, value = o < 2 ? 1 : DIM, configured[7] = {o, 1, 1}, on[3] = {o, value};

		(void)host_u16(configured + 5, most);
		if (!host_ask(h, CONFIGURE_OUTPUT, configured, sizeof configured, ACK) ||
		    !host_ask(h, OUTPUT, on, sizeof on, ACK)) {
			return false;
		}
		if (lit(h) != (o < 2 ? (2U << o) - 1 : 3U) || probe_pwm(h->p) != (o < 2 ? 0 : DIM)) {
			return host_fail(h, "outputs switched on, are on", o, lit(h));
		}
	}
	return true;
}

static bool begin(struct host *h, struct measured *m)
{
	uint32_t boot;
	uint8_t flags;

	button(h, false);
	if (!host_run(h, 80000) || !hello(h, &boot, &flags) || !describe(h, m) || !inputs(h, m) || !configure(h) || !outputs(h)) {
		return false;
	}
	m->early = made(h->p);
	return enable(h, false) && (!h->p->steppers || seek(h));
}

static bool move(struct host *h, struct place (*at)(const struct stream *, unsigned, uint32_t), uint32_t ms)
{
	uint32_t slots = h->status.free / (2U + 7U * h->p->joints);
	/* 5 ms where so many fit, else what fills the 200 ms that a board may hold. */
	struct stream s = {.at = at, .length_ms = ms, .piece_ms = slots >= 25 ? 5 : 200 / slots};

	return host_move(h, s, 255);
}

/* Adds what was measured since the last time, and forgets it. */
static void gather(struct host *h, struct measured *m)
{
	probe_join(&m->tick, &h->p->alone[SPAN_TICK]);
	probe_join(&m->all, &h->p->span[SPAN_TICK]);
	for (unsigned j = 0; j < h->p->joints; j++) {
		probe_join(&m->high, &h->p->high[j]);
		probe_join(&m->ahead, &h->p->ahead[j]);
		probe_join(&m->apart, &h->p->apart[j]);
		probe_join(&m->in_ms, &h->p->in_ms[j]);
	}
	probe_forget(h->p);
}

/* Loads the board in every way at once. */
static bool load(struct host *h, struct measured *m)
{
	int64_t off[PROBE_JOINTS] = {0};

	h->noisy = true;
	probe_forget(h->p);
	if (!host_fresh(h)) {
		return false;
	}
	uint32_t statuses = h->statuses, feedbacks = h->feedbacks;
	memset(&h->between, 0, sizeof h->between);
	for (unsigned j = 0; j < h->p->joints; j++) {
		off[j] = h->p->steps[j] - h->feedback[j] / UNIT;
	}
	if (!move(h, first_moves, LOAD_MS) || !host_await(h, MOVING, 100) || !host_await(h, HOLD, LOAD_MS + 500) ||
	    !host_run(h, 6000)) {
		return false;
	}
	m->loaded = *h->p;
	m->between = h->between;
	m->unmeasured = h->feedbacks == 0 ? 0 : h->statuses - statuses - (h->feedbacks - feedbacks);
	gather(h, m);
	if (h->p->steppers && (!move(h, zigzag, ZIGZAG_MS) || !host_await(h, MOVING, 100) || !host_await(h, HOLD, 2 * ZIGZAG_MS))) {
		return false;
	}
	if (!host_fresh(h)) {
		return false;
	}
	for (unsigned j = 0; h->p->steppers && j < h->p->joints; j++) {
		int64_t by = h->p->steps[j] - h->feedback[j] / UNIT - off[j];
		m->miscounted += by < 0 ? -by : by;
	}
	gather(h, m);
	return true;
}

/* All joints are under way, and what is on its way to the board has got there. */
static bool under_way(struct host *h)
{
	if (!move(h, all_move, LOAD_MS) || !host_await(h, MOVING, 100) || !host_run(h, 300000)) {
		return false;
	}
	h->noisy = false;
	h->stream.active = false;
	while (probe_unsent(h->p) != 0) {
		if (!host_run(h, 100)) {
			return false;
		}
	}
	return host_run(h, 2000);
}

static bool stop(struct host *h, struct measured *m)
{
	uint8_t kind = 0;

	if (!under_way(h)) {
		return false;
	}
	gather(h, m);
	if (!host_ask(h, STOP, &kind, 1, ACK)) {
		return false;
	}
	m->stop = h->p->alone[SPAN_RECEIVE];
	if (lit(h) != 0 || probe_pwm(h->p) != 0) {
		return host_fail(h, "outputs after a stop", probe_pwm(h->p), lit(h));
	}
	return host_await(h, HOLD, 500);
}

/* Enables again after a fault. */
static bool recover(struct host *h)
{
	uint8_t fault = h->status.fault;

	if (!host_ask(h, CLEAR, &fault, 1, ACK) || !host_fresh(h) || !enable(h, true) || !host_fresh(h)) {
		return false;
	}
	/* What had no power has to find its switches again. */
	return (h->status.flags & REFERENCED) != 0 || seek(h);
}

/* The button, in the middle of a motion: the board brakes, powers off, and is silent. */
static bool press_button(struct host *h, struct measured *m)
{
	if (!under_way(h)) {
		return false;
	}
	button(h, true);
	if (!host_await(h, FAULT, 500)) {
		return false;
	}
	if (h->status.fault != ESTOP_INPUT || (h->status.flags & POWERED) != 0) {
		return host_fail(h, "the button's fault or power", h->status.fault, h->status.flags);
	}
	/* A pulse that had begun ends, and a tick's steps were handed over before. */
	if (!host_run(h, 5000)) {
		return false;
	}
	uint64_t before = made(h->p);
	if (!host_run(h, 200000)) {
		return false;
	}
	m->unpowered = made(h->p) - before;
	button(h, false);
	return host_run(h, 5000) && recover(h);
}

/* The host falls silent in the middle of a motion. */
static bool fall_silent(struct host *h)
{
	if (!under_way(h)) {
		return false;
	}
	h->silent = true;
	if (!host_await(h, FAULT, 1000)) {
		return false;
	}
	h->silent = false;
	/* The queue may run dry before the watchdog's time is over. */
	return h->status.fault == WATCHDOG || h->status.fault == UNDERRUN ||
	       host_fail(h, "the silence's fault", h->status.fault, 0);
}

/* The loop finds itself more than 20 ms late in the middle of a motion. */
static bool fall_behind(struct host *h)
{
	if (!under_way(h)) {
		return false;
	}
	probe_fall_behind(h->p, 25);
	return host_await(h, FAULT, 500) &&
	       (h->status.fault == OVERLOAD || host_fail(h, "a late loop's fault", h->status.fault, 0));
}

/* The ticks end: the chip's watchdog has to reset it, and what it was powered for is over. */
static bool die(struct host *h, struct measured *m)
{
	uint32_t boot, again;
	uint8_t flags;

	if (!hello(h, &boot, &flags)) {
		return false;
	}
	if ((flags & RESET_WATCHDOG) != 0) {
		return host_fail(h, "the first boot's flags", flags, 0);
	}
	h->hello = false;
	probe_end_ticks(h->p);
	if (!host_run(h, 400000)) {
		return false;
	}
	uint64_t before = made(h->p);
	if (!hello(h, &again, &flags)) {
		return false;
	}
	if (again == boot || (flags & RESET_WATCHDOG) == 0) {
		return host_fail(h, "the boot after the watchdog's, its flags", flags, again == boot);
	}
	m->unpowered += made(h->p) - before;
	return true;
}

bool scenario_run(struct host *h, struct measured *m)
{
	bool ok = begin(h, m) && load(h, m) && stop(h, m) && press_button(h, m) && fall_silent(h) && recover(h) &&
	          fall_behind(h) && recover(h) && die(h, m);

	gather(h, m);
	return ok;
}
