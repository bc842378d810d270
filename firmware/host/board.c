/* The port: what the core asks of a board, by models. */
#include "host.h"

#include <string.h>

#include "trace.h"

enum {
	PULSE_MS = 20,
	HANG_MS = 250, /* the chip's watchdog */
	LOWER_US = 500,
	UPPER_US = 2500,
	FARTHEST = 1000000, /* steps, either way */
	STEPS_MS = 64       /* at most, of one joint */
};

/* The core's functions have no argument to find their board by, and there is one. */
static struct host *host;

static void power(bool on)
{
	if (on != host->powered && host->steppers) {
		trace(host->ns, "enable %d", on);
	}
	host->powered = on;
	for (uint8_t j = 0; j < host->board.joints && !on; j++) {
		struct stepper *s = &host->stepper[j];

		s->target = host->plant.axis[j].steps * 256 - s->shift;
	}
}

static void setpoint(uint8_t joint, int32_t q)
{
	host->setpoint[joint] = q;
	host->stepper[joint].target = q;
}

static void output(uint8_t o, uint16_t value)
{
	if (value != host->output[o]) {
		host->output[o] = value;
		trace(host->ns, "output %d %d", o, value);
	}
}

static int32_t count(uint8_t joint)
{
	return host->plant.axis[joint].steps * 256 - host->stepper[joint].shift;
}

static void recount(uint8_t joint, int32_t q)
{
	struct stepper *s = &host->stepper[joint];

	s->shift -= q - s->target;
	s->target = q;
}

static uint16_t raw(uint8_t joint)
{
	return plant_raw(&host->plant, joint);
}

static uint8_t switches(void)
{
	uint8_t closed = 0;

	for (uint8_t i = 0; i < host->board.inputs; i++) {
		if (plant_switch_closed(&host->plant, i)) {
			closed |= (uint8_t)(1 << i);
		}
	}
	return closed;
}

static bool estop(void)
{
	return host->plant.button;
}

static bool send(const uint8_t *frame, uint8_t length)
{
	if (length > HOST_TX - host->tx_n) {
		return false;
	}
	memcpy(host->tx + host->tx_n, frame, length);
	host->tx_n += length;
	return true;
}

void board_make(struct host *h, bool steppers, uint8_t joints, bool adc)
{
	host = h;
	h->steppers = steppers;
	for (uint8_t j = 0; j < joints; j++) {
		struct tau_channel *c = &h->channels[j];

		c->kind = steppers ? TAU_STEPPER : TAU_SERVO;
		c->feedback = steppers ? TAU_FEEDBACK_STEPS : adc ? TAU_FEEDBACK_ADC : TAU_FEEDBACK_NONE;
		c->sw = steppers || h->plant.sw[j].modelled ? j : TAU_NO_SWITCH;
		c->lower = steppers ? -FARTHEST * 256 : LOWER_US * 256;
		c->upper = steppers ? FARTHEST * 256 : UPPER_US * 256;
	}
	struct tau_channel *o = &h->channels[joints];

	o[0] = (struct tau_channel){.kind = TAU_SWITCHED, .sw = TAU_NO_SWITCH, .upper = 1};
	o[1] = o[0];
	o[2] = (struct tau_channel){.kind = TAU_PWM, .sw = TAU_NO_SWITCH, .upper = 255};
	h->board.joints = joints;
	h->board.outputs = HOST_OUTPUTS;
	h->board.inputs = joints;
	h->board.status_ms = 20;
	h->board.channels = h->channels;
	h->board.firmware = 1;
	h->board.power = power;
	h->board.setpoint = setpoint;
	h->board.output = output;
	h->board.count = count;
	h->board.recount = recount;
	h->board.raw = raw;
	h->board.switches = switches;
	h->board.estop = estop;
	h->board.send = send;
}

void board_boot(struct host *h, const char *cause)
{
	h->board.brown_out = strcmp(cause, "brownout") == 0;
	h->board.watchdog = strcmp(cause, "watchdog") == 0;
	if (strcmp(cause, "power") != 0) {
		h->board.boot++;
	}
	h->tx_n = 0;
	h->frozen = false;
	h->hung = false;
	for (uint8_t j = 0; j < h->board.joints; j++) {
		struct stepper *s = &h->stepper[j];

		s->shift = h->plant.axis[j].steps * 256;
		s->target = 0;
	}
	trace(h->ns, "boot %s", cause);
	tau_begin(&h->board);
}

/* The bytes of one ms, each way. 10 bits make one. */
static unsigned credit(const struct host *h, unsigned *rest)
{
	*rest += h->baud;

	unsigned n = *rest / 10000;

	*rest %= 10000;
	return n;
}

static void receive(struct host *h)
{
	uint8_t bytes[256];
	unsigned n = credit(h, &h->rx_credit);

	n = n < sizeof bytes ? n : (unsigned)sizeof bytes;
	if (h->stepped) {
		n = n < h->rx_n ? n : h->rx_n;
		memcpy(bytes, h->rx, n);
		h->rx_n -= n;
		memmove(h->rx, h->rx + n, h->rx_n);
	} else {
		cable_look(&h->cable);
		n = cable_read(&h->cable, bytes, n);
	}
	if (n != 0 && h->bytes) {
		trace_hex(h->ns, "rx", bytes, n);
	}
	h->received += n;
	for (unsigned i = 0; i < n; i++) {
		tau_receive(bytes[i]);
	}
}

static void transmit(struct host *h)
{
	unsigned n = credit(h, &h->tx_credit);

	if (n > h->tx_n) {
		n = h->tx_n;
	}
	if (n != 0 && h->bytes) {
		trace_hex(h->ns, "tx", h->tx, n);
	}
	for (unsigned i = 0; i < n; i++) {
		cable_put(&h->cable, h->tx[i]);
	}
	h->sent += n;
	h->tx_n -= n;
	memmove(h->tx, h->tx + n, h->tx_n);
	cable_flush(&h->cable);
}

/* A joint's driver steps to where the core wants it, half way to each step. */
static void step(struct host *h, uint8_t joint)
{
	struct stepper *s = &h->stepper[joint];
	struct plant_axis *a = &h->plant.axis[joint];
	int32_t want = (s->target + s->shift + 128) >> 8;
	int32_t ways = want - a->steps;
	int32_t n = ways < 0 ? -ways : ways;

	if (!h->powered) {
		n = 0;
	} else if (n > STEPS_MS) {
		n = STEPS_MS;
	}
	for (int32_t i = 0; i < n; i++) {
		plant_step(&h->plant, joint, ways > 0);
		if (h->edges) {
			trace(h->ns + (uint64_t)(i * HOST_MS / n), "step %d %d", joint, a->steps);
		}
	}
	if (a->steps != s->shown) {
		s->shown = a->steps;
		trace(h->ns, "steps %d %d", joint, a->steps);
	}
	if (a->at != s->shown_axis && (a->at != a->steps || s->shown_axis != a->steps)) {
		s->shown_axis = a->at;
		if (a->at != a->steps) {
			trace(h->ns, "axis %d %d", joint, a->at);
		}
	}
}

static void pulse(struct host *h)
{
	for (uint8_t j = 0; j < h->board.joints; j++) {
		/* 1/256 µs in ns, which fits: a pulse is at most 2.5 ms. */
		int64_t ns = (int64_t)h->setpoint[j] * 1000 / 256;

		trace(h->ns, "servo %d %lld", j, (long long)ns);
		plant_pulse(&h->plant, j, (double)ns / 1000, h->ns);
	}
}

static void show_switches(struct host *h)
{
	uint8_t now = switches();

	for (uint8_t i = 0; i < h->board.inputs; i++) {
		if (((now ^ h->shown_switches) >> i & 1) != 0) {
			trace(h->ns, "switch %d %d", i, now >> i & 1);
		}
	}
	h->shown_switches = now;
}

void board_pass(struct host *h)
{
	uint64_t ms;

	h->ns += HOST_MS;
	ms = h->ns / HOST_MS;
	if (h->hung && h->ns - h->hung_ns >= (uint64_t)HANG_MS * HOST_MS) {
		board_boot(h, "watchdog");
	}
	if (!h->frozen && !h->hung) {
		receive(h);
		tau_tick();
		transmit(h);
	}
	if (!h->frozen) {
		for (uint8_t j = 0; j < h->board.joints && h->steppers; j++) {
			step(h, j);
		}
		if (h->powered && !h->steppers && ms % PULSE_MS == 0) {
			pulse(h);
		}
	}
	plant_pass(&h->plant, h->ns, 1);
	show_switches(h);
}
