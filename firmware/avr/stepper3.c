/* Pin map stepper3: three stepper drivers with step, direction and a common enable.
 * README.md has the table of pins.
 *
 * Timer 1 interrupts 20 times a millisecond. In each of these slots every joint may make
 * one step; how many of a tick's slots do, and which, follows from a sum that grows by
 * the tick's way at each slot (Bresenham's line, 1965).
 *
 * The loop hands over a tick's ways at a time, and one tick always waits in between: a
 * loop that is late by up to a millisecond (a plan of the brake, a long frame) would else
 * leave a hole in the steps and make up for it by twice the speed, and a stepper that is
 * asked for that loses steps. So a setpoint is reached by the third tick after it. */
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

const TAU_FLASH struct tau_channel map_channels[] = {JOINT(0), JOINT(1), JOINT(2), OUTPUT_CHANNELS};
const uint8_t map_joints = JOINTS;
const uint8_t map_outputs = OUTPUTS;
const uint8_t map_inputs = JOINTS;

volatile uint8_t clock_ms;

/* The interrupt's own, but for map_power and for made, which the loop reads. */
static int16_t way[JOINTS];           /* of this tick, position units */
static int16_t sum[JOINTS];           /* 0 to WHOLE - 1: the place between two steps */
static volatile uint8_t made[JOINTS]; /* steps, modulo 256 */
static uint8_t place;
static uint8_t pins; /* the next slot's steps; they count as made already */

/* Ways handed over by the loop, of one tick each, that the interrupt takes at the ends of
 * ticks. It begins to once WAITING more are there, and again after it found none. */
enum { ROOM = 4, WAITING = 1 };
static int16_t next[ROOM][JOINTS];
static volatile uint8_t given, taken; /* counts, modulo 256: the loop's, the interrupt's */
static bool running;

/* The loop's own. */
static bool powered;
static int32_t target[JOINTS];  /* where the core wants it, position units */
static int32_t sent[JOINTS];    /* where it will be after all ways handed over */
static int32_t counted[JOINTS]; /* steps × 256, up to seen */
static uint8_t seen[JOINTS];

#define inlined static inline __attribute__((always_inline))

/* Whether joint j makes a step in the next slot: its pin, or 0. */
inlined uint8_t advance(uint8_t j)
{
	int16_t s = (int16_t)(sum[j] + way[j]);
	uint8_t pin = 0;

	if (s < 0) {
		s = (int16_t)(s + WHOLE);
		made[j]--;
		pin = (uint8_t)(_BV(PD2) << j);
	} else if (s >= WHOLE) {
		s = (int16_t)(s - WHOLE);
		made[j]++;
		pin = (uint8_t)(_BV(PD2) << j);
	}
	sum[j] = s;
	return pin;
}

/* The direction pin of joint j for its new way; where it doesn't move, as it was. */
inlined uint8_t take(uint8_t j, int16_t w, uint8_t port)
{
	uint8_t bit = (uint8_t)(_BV(PD5) << j);

	way[j] = w;
	if (w < 0) {
		port &= (uint8_t)~bit;
	} else if (w > 0) {
		port |= bit;
	}
	return port;
}

/* A slot: the steps that the last one reckoned, and while their pins are high, what the
 * next one's will be: that takes 5 µs, twice of what drivers need. Directions change when
 * the pins are low again, most of a slot before the next edge. */
ISR(TIMER1_COMPA_vect)
{
	uint8_t port = (uint8_t)(PORTD & ~STEPS);

	PORTD = port | pins;
	place++;
	if (place == PLACES) {
		place = 0;
		clock_ms++;
		uint8_t n = (uint8_t)(given - taken);

		running = n > (running ? 0 : WAITING);
		if (running) {
			const int16_t *w = next[taken % ROOM];

			port = take(0, w[0], port);
			port = take(1, w[1], port);
			port = take(2, w[2], port);
			taken++;
		} else {
			way[0] = way[1] = way[2] = 0;
		}
	}
	pins = (uint8_t)(advance(0) | advance(1) | advance(2));
	PORTD = port;
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

/* Hands over what is still to go. Where the interrupt found nothing for a while, there is
 * more than one tick in between afterwards, until the joints stand still. */
void map_tick(void)
{
	uint8_t n = (uint8_t)(given - taken);
	bool still = true;

	for (uint8_t j = 0; j < JOINTS; j++) {
		(void)map_count(j); /* before more are handed over than 8 bits can tell */
		still = still && target[j] == sent[j];
	}
	if (!powered || n == ROOM || (still && n > WAITING)) {
		return;
	}
	int16_t *w = next[given % ROOM];

	for (uint8_t j = 0; j < JOINTS; j++) {
		w[j] = clamp(target[j] - sent[j]);
		sent[j] += w[j];
	}
	__asm__ volatile("" ::: "memory"); /* the ways are there before the word that they are */
	given++;
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
	taken = given;
	running = false;
	for (uint8_t j = 0; j < JOINTS; j++) {
		if (pins & (_BV(PD2) << j)) {
			made[j] = (uint8_t)(made[j] + (way[j] < 0 ? 1 : -1)); /* it won't be */
		}
		way[j] = 0;
		sum[j] = HALF;
	}
	pins = 0;
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
	uint8_t m = made[joint];

	counted[joint] += STEP * (int16_t)(int8_t)(m - seen[joint]);
	seen[joint] = m;
	return counted[joint];
}

/* Shifts everything by the same, so that steps on their way stay right. */
void map_recount(uint8_t joint, int32_t q)
{
	int32_t shift = q - target[joint];

	target[joint] += shift;
	sent[joint] += shift;
	counted[joint] += shift;
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
