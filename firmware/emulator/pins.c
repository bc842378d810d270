/* The pins: pulses, steps and outputs into the trace and the plant; the button, the
 * switches and the voltages from the plant into the chip. */
#include "bench.h"

#include <stddef.h>
#include <sys/random.h>

#include "avr_adc.h"
#include "avr_ioport.h"

#include "trace.h"

enum {
	VREF_MV = 5000,
	PWM_MAX = 255,
	TCCR2A = 0xB0, COM2A1 = 0x80, TCCR2B = 0xB1, CLOCK2 = 7, OCR2A = 0xB3,
	/* What a usual stepper driver (A4988) asks for. */
	STEP_MIN_NS = 1000,
	DIR_MIN_NS = 200
};

static const char ports[] = { 'B', 'C', 'D' };

static bool is_input(const struct wire *w)
{
	return w->role == ROLE_SWITCH || w->role == ROLE_BUTTON;
}

/* Says what a stepper driver might not have understood. */
static void marginal(struct bench *b, const struct wire *w, const char *what, uint64_t ns)
{
	trace(bench_now(b), "marginal %u %s %llu", w->index, what, (unsigned long long)ns);
}

static void step_edge(struct bench *b, const struct wire *w, bool high)
{
	struct stepper_state *s = &b->stepper[w->index];
	uint64_t now = bench_now(b);
	if (s->high == high)
		return;
	s->high = high;
	if (!high) {
		s->fall = now;
		if (now - s->rise < STEP_MIN_NS)
			marginal(b, w, "high", now - s->rise);
		return;
	}
	if (s->fall != 0 && now - s->fall < STEP_MIN_NS)
		marginal(b, w, "low", now - s->fall);
	if (s->turn != 0 && now - s->turn < DIR_MIN_NS)
		marginal(b, w, "setup", now - s->turn);
	s->rise = now;
	if (!b->enabled) {
		s->unpowered++;
		return;
	}
	plant_step(&b->plant, w->index, s->forward);
	if (b->edges)
		trace(now, "step %u %d", w->index, (int)b->plant.axis[w->index].steps);
}

static void dir_edge(struct bench *b, const struct wire *w, bool high)
{
	struct stepper_state *s = &b->stepper[w->index];
	uint64_t now = bench_now(b);
	if (s->forward == high)
		return;
	s->forward = high;
	s->turn = now;
	if (s->rise != 0 && now - s->rise < DIR_MIN_NS)
		marginal(b, w, "hold", now - s->rise);
}

static void servo_edge(struct bench *b, const struct wire *w, bool high)
{
	struct servo_state *s = &b->servo[w->index];
	uint64_t now = bench_now(b);
	if (s->high == high)
		return;
	s->high = high;
	if (high) {
		s->rise = now;
		return;
	}
	trace(now, "servo %u %llu", w->index, (unsigned long long)(now - s->rise));
	plant_pulse(&b->plant, w->index, (double)(now - s->rise) / 1000, now);
}

static void show_output(struct bench *b, const struct wire *w, int32_t v)
{
	if (b->output[w->index] == v)
		return;
	b->output[w->index] = v;
	trace(bench_now(b), "output %u %d", w->index, (int)v);
}

/* A PWM output, as timer 2's registers have it: in libsimavr 1.6 a write to any pin of
 * a port puts a wrong level on the port's compare output, so the pin tells nothing. */
static int32_t pwm_value(const struct bench *b, const struct wire *w)
{
	const uint8_t *d = b->avr->data;
	avr_ioport_state_t state;
	if ((d[TCCR2A] & COM2A1) != 0)
		return (d[TCCR2B] & CLOCK2) != 0 ? d[OCR2A] : 0;
	(void)avr_ioctl(b->avr, (uint32_t)AVR_IOCTL_IOPORT_GETSTATE(w->port), &state);
	return (state.port & state.ddr) >> w->bit & 1 ? PWM_MAX : 0;
}

static void enable_edge(struct bench *b, bool on)
{
	if (b->enabled == on)
		return;
	b->enabled = on;
	trace(bench_now(b), "enable %d", on);
}

static void edge(struct bench *b, const struct wire *w, bool high)
{
	switch (w->role) {
	case ROLE_SERVO: servo_edge(b, w, high); break;
	case ROLE_STEP: step_edge(b, w, high); break;
	case ROLE_DIR: dir_edge(b, w, high); break;
	case ROLE_ENABLE: enable_edge(b, high != w->low); break;
	case ROLE_OUTPUT: show_output(b, w, high != w->low); break;
	case ROLE_PWM: case ROLE_SWITCH: case ROLE_BUTTON: case ROLE_END: break;
	}
}

/* libsimavr's pin, whose level changed. */
static void changed(avr_irq_t *irq, uint32_t value, void *param)
{
	struct bench *b = param;
	for (const struct wire *w = b->wiring->pins; w->role != ROLE_END; w++) {
		avr_ioport_state_t state;
		if (b->pin[w->port - 'B'][w->bit] != irq || is_input(w))
			continue;
		(void)avr_ioctl(b->avr, (uint32_t)AVR_IOCTL_IOPORT_GETSTATE(w->port), &state);
		if ((state.ddr >> w->bit & 1) != 0)
			edge(b, w, (value & 1) != 0);
	}
}

/* Marsaglia's xorshift64 (2003), triple 13, 7, 17. */
static uint32_t noise(struct bench *b)
{
	b->noise ^= b->noise << 13;
	b->noise ^= b->noise >> 7;
	b->noise ^= b->noise << 17;
	return (uint32_t)(b->noise >> 32);
}

/* A voltage, when the chip begins a conversion. */
static void convert(avr_irq_t *irq, uint32_t value, void *param)
{
	(void)irq;
	struct bench *b = param;
	union { uint32_t bits; avr_adc_mux_t mux; } v = { .bits = value };
	if (v.mux.kind == ADC_MUX_TEMP)
		/* About 25 degrees, and noise: no two boots measure the same. */
		avr_raise_irq(avr_io_getirq(b->avr, AVR_IOCTL_ADC_GETIRQ, ADC_IRQ_TEMP), 310 + noise(b) % 16);
	if (v.mux.kind != ADC_MUX_SINGLE)
		return;
	for (uint8_t j = 0; j < b->wiring->joints; j++) {
		if (b->wiring->adc[j] != v.mux.src)
			continue;
		/* Rounded up, so that the chip's division gives the count back. */
		uint32_t mv = (plant_raw(&b->plant, j) * (uint32_t)VREF_MV + PLANT_RAW_MAX - 1) / PLANT_RAW_MAX;
		avr_raise_irq(avr_io_getirq(b->avr, AVR_IOCTL_ADC_GETIRQ, ADC_IRQ_ADC0 + v.mux.src), mv);
	}
}

const char *pins_begin(struct bench *b)
{
	for (unsigned p = 0; p < sizeof ports; p++)
		for (int i = 0; i < 8; i++)
			b->pin[p][i] = avr_io_getirq(b->avr, (uint32_t)AVR_IOCTL_IOPORT_GETIRQ(ports[p]), IOPORT_IRQ_PIN0 + i);
	for (const struct wire *w = b->wiring->pins; w->role != ROLE_END; w++)
		if (!is_input(w))
			avr_irq_register_notify(b->pin[w->port - 'B'][w->bit], changed, b);
	avr_irq_t *trigger = avr_io_getirq(b->avr, AVR_IOCTL_ADC_GETIRQ, ADC_IRQ_OUT_TRIGGER);
	if (trigger == NULL)
		return "this libsimavr's atmega328p has no ADC";
	avr_irq_register_notify(trigger, convert, b);
	if (getrandom(&b->noise, sizeof b->noise, 0) != sizeof b->noise || b->noise == 0)
		b->noise = 1;
	return NULL;
}

void pins_released(struct bench *b)
{
	for (const struct wire *w = b->wiring->pins; w->role != ROLE_END; w++) {
		if (is_input(w))
			continue;
		if (w->role == ROLE_ENABLE)
			enable_edge(b, false); /* pulled up on every usual driver board */
		else
			edge(b, w, w->role == ROLE_OUTPUT && w->low);
		if (w->role == ROLE_PWM)
			show_output(b, w, 0);
		/* Else the same level would be no change to libsimavr after the boot. */
		b->pin[w->port - 'B'][w->bit]->value = 0;
	}
}

static bool input_level(const struct bench *b, const struct wire *w)
{
	bool active = w->role == ROLE_BUTTON ? b->plant.button : plant_switch_closed(&b->plant, w->index);
	return active != w->low;
}

void pins_inputs(struct bench *b, bool fresh)
{
	for (unsigned p = 0; p < sizeof ports; p++) {
		uint8_t mask = 0, level = 0;
		for (const struct wire *w = b->wiring->pins; w->role != ROLE_END; w++) {
			if (!is_input(w) || w->port != ports[p])
				continue;
			mask |= (uint8_t)(1u << w->bit);
			if (input_level(b, w))
				level |= (uint8_t)(1u << w->bit);
		}
		avr_ioport_external_t e = { .mask = mask, .value = level };
		/* Else a write to the port would put the pull-up's level over ours. */
		(void)avr_ioctl(b->avr, (uint32_t)AVR_IOCTL_IOPORT_SET_EXTERNAL(ports[p]), &e);
	}
	for (const struct wire *w = b->wiring->pins; w->role != ROLE_END; w++) {
		if (!is_input(w))
			continue;
		uint32_t level = input_level(b, w);
		avr_irq_t *pin = b->pin[w->port - 'B'][w->bit];
		if (fresh)
			avr_raise_irq(pin, !level);
		avr_raise_irq(pin, level);
	}
	for (uint8_t i = 0; i < b->wiring->switches; i++) {
		uint8_t bit = (uint8_t)(1u << i);
		bool closed = plant_switch_closed(&b->plant, i);
		if (closed == ((b->closed & bit) != 0))
			continue;
		b->closed ^= bit;
		trace(bench_now(b), "switch %u %d", i, closed);
	}
}

void pins_pass(struct bench *b)
{
	uint64_t now = bench_now(b);
	plant_pass(&b->plant, now, 1);
	for (uint8_t j = 0; j < b->wiring->joints; j++) {
		struct stepper_state *s = &b->stepper[j];
		const struct plant_axis *a = &b->plant.axis[j];
		if (a->steps != s->shown)
			trace(now, "steps %u %d", j, (int)(s->shown = a->steps));
		if (a->at - a->steps != s->shown_axis) {
			s->shown_axis = a->at - a->steps;
			trace(now, "axis %u %d", j, (int)a->at);
		}
		if (s->unpowered != s->shown_unpowered)
			trace(now, "unpowered %u %u", j, (unsigned)(s->shown_unpowered = s->unpowered));
	}
	for (const struct wire *w = b->wiring->pins; w->role != ROLE_END; w++)
		if (w->role == ROLE_PWM)
			show_output(b, w, pwm_value(b, w));
	pins_inputs(b, false);
}
