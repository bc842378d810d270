/* Pin map stepper3: three stepper drivers with step, direction and a common enable.
 * README.md has the table of pins.
 *
 * Timer 1 interrupts 20 times a millisecond. In each of these slots every joint may make
 * one step; how many of a tick's slots do, and which, follows from a sum that grows by
 * the tick's way at each slot (Bresenham's line, 1965). The loop hands over the ways of
 * the next tick; they begin with it. So a setpoint is reached one tick after it was said,
 * and the steps of a tick are spread over all of it. */
#include "map.h"

#include <avr/interrupt.h>
#include <avr/io.h>

#include "clock.h"
#include "output.h"

enum {
	JOINTS = 3,
	PLACES = 20,        /* slots in a tick */
	STEP = 256,         /* position units in a step */
	WHOLE = STEP * PLACES,
	HALF = WHOLE / 2    /* a step is made half way to it */
};
#define FARTHEST INT32_C(1000000) /* steps, either way */

/* Steps are D2 to D4 (PD2 to PD4), directions D5 to D7 (PD5 to PD7), all on port D. */
#define STEPS ((uint8_t)(_BV(PD2) | _BV(PD3) | _BV(PD4)))
#define WAYS ((uint8_t)(_BV(PD5) | _BV(PD6) | _BV(PD7)))
#define SWITCHES_B ((uint8_t)(_BV(PB1) | _BV(PB2) | _BV(PB4)))

#define JOINT(j)                      \
	{.kind = TAU_STEPPER,             \
	 .feedback = TAU_FEEDBACK_STEPS,  \
	 .sw = (j),                       \
	 .lower = -FARTHEST * STEP,    \
	 .upper = FARTHEST * STEP}

const struct tau_channel map_channels[] = {JOINT(0), JOINT(1), JOINT(2), OUTPUT_CHANNELS};
const uint8_t map_joints = JOINTS;
const uint8_t map_outputs = OUTPUTS;
const uint8_t map_inputs = JOINTS;

volatile uint8_t clock_ms;

/* The interrupt's own, but for power_off and read by count. */
static int16_t way[JOINTS];          /* of this tick, position units */
static int16_t sum[JOINTS];          /* 0 to WHOLE - 1: the place between two steps */
static volatile uint16_t made[JOINTS]; /* steps, modulo 65536 */
static uint8_t place;

/* Handed over by the loop, taken by the interrupt at the end of a tick. */
static int16_t next[JOINTS];
static volatile bool handed;

/* The loop's own. */
static bool powered;
static int32_t target[JOINTS]; /* where the core wants it, position units */
static int32_t sent[JOINTS];   /* where it will be after all ways handed over */
static int32_t place_q[JOINTS]; /* counted steps × 256, up to seen */
static uint16_t seen[JOINTS];

static inline uint8_t advance(uint8_t j)
{
	int16_t s = (int16_t)(sum[j] + way[j]);
	uint8_t pin = 0;

	if (s >= WHOLE) {
		s = (int16_t)(s - WHOLE);
		made[j]++;
		pin = (uint8_t)(_BV(PD2) << j);
	} else if (s < 0) {
		s = (int16_t)(s + WHOLE);
		made[j]--;
		pin = (uint8_t)(_BV(PD2) << j);
	}
	sum[j] = s;
	return pin;
}

/* Directions change after a slot's pulse and nearly a slot before the next one. */
static inline void take(void)
{
	uint8_t forward = PORTD;

	for (uint8_t j = 0; j < JOINTS; j++) {
		int16_t w = handed ? next[j] : 0;
		uint8_t bit = (uint8_t)(_BV(PD5) << j);

		way[j] = w;
		if (w > 0) {
			forward |= bit;
		} else if (w < 0) {
			forward &= (uint8_t)~bit;
		}
	}
	handed = false;
	PORTD = forward;
}

ISR(TIMER1_COMPA_vect)
{
	uint8_t pins = advance(0) | advance(1) | advance(2);

	PORTD |= pins;
	place++;
	if (place == PLACES) {
		place = 0;
		clock_ms++;
	}
	__builtin_avr_delay_cycles(40); /* 2.5 µs high, whatever is compiled around it */
	PORTD &= (uint8_t)~STEPS;
	if (place == 0) {
		take();
	}
}

void map_safe(void)
{
	PORTB = _BV(PB0) | SWITCHES_B; /* drivers disabled; switches pulled up */
	DDRB = _BV(PB0);
	PORTD = _BV(PD1); /* TX idles high */
	DDRD = STEPS | WAYS | _BV(PD1);
	PORTC = _BV(PC0); /* e-stop pulled up, relay off */
	DDRC = _BV(PC3);
	output_safe();
}

void map_begin(void)
{
	for (uint8_t j = 0; j < JOINTS; j++) {
		sum[j] = HALF;
	}
	OCR1A = (uint16_t)(F_CPU / 1000 / PLACES - 1);
	TCCR1A = 0;
	TCCR1B = _BV(WGM12) | _BV(CS10);
	TIMSK1 = _BV(OCIE1A);
}

static int16_t clamp(int32_t w)
{
	return (int16_t)(w > WHOLE ? WHOLE : w < -WHOLE ? -WHOLE : w);
}

/* Hands over what is still to go, once the interrupt took what was handed before. After
 * a late tick that may be two ticks' way; no joint makes more than one step a slot. */
void map_tick(void)
{
	for (uint8_t j = 0; j < JOINTS; j++) {
		(void)map_count(j); /* long before its 16 bits wrap */
	}
	if (!powered || handed) {
		return;
	}
	for (uint8_t j = 0; j < JOINTS; j++) {
		next[j] = clamp(target[j] - sent[j]);
		sent[j] += next[j];
	}
	__asm__ volatile("" ::: "memory"); /* the ways are there before the word that they are */
	handed = true;
}

void map_power(bool on)
{
	if (on) {
		powered = true;
		PORTB &= (uint8_t)~_BV(PB0);
		return;
	}
	PORTB |= _BV(PB0);
	powered = false;
	cli();
	handed = false;
	for (uint8_t j = 0; j < JOINTS; j++) {
		way[j] = 0;
		sum[j] = HALF;
	}
	sei();
	for (uint8_t j = 0; j < JOINTS; j++) {
		/* What was not made isn't made up for when the power comes back. */
		sent[j] = map_count(j);
		target[j] = sent[j];
	}
}

void map_setpoint(uint8_t joint, int32_t q)
{
	target[joint] = q;
}

void map_output(uint8_t output, uint16_t value)
{
	switch (output) {
	case OUTPUT_LED:
		output_led(value);
		break;
	case OUTPUT_RELAY:
		if (value != 0) {
			PORTC |= _BV(PC3);
		} else {
			PORTC &= (uint8_t)~_BV(PC3);
		}
		break;
	default:
		output_pwm(value);
	}
}

int32_t map_count(uint8_t joint)
{
	cli();
	uint16_t m = made[joint];
	sei();
	place_q[joint] += (int32_t)STEP * (int16_t)(m - seen[joint]);
	seen[joint] = m;
	return place_q[joint];
}

/* Shifts everything by the same, so that steps on their way stay right. */
void map_recount(uint8_t joint, int32_t q)
{
	int32_t shift = q - target[joint];

	target[joint] += shift;
	sent[joint] += shift;
	place_q[joint] += shift;
}

uint16_t map_raw(uint8_t joint)
{
	(void)joint;
	return TAU_NO_RAW;
}

uint8_t map_switches(void)
{
	uint8_t b = PINB;

	return (uint8_t)((b & _BV(PB1) ? 1 : 0) | (b & _BV(PB2) ? 2 : 0) | (b & _BV(PB4) ? 4 : 0));
}

bool map_estop(void)
{
	return (PINC & _BV(PC0)) != 0;
}
