/* Pin map servo8: two to eight servos. README.md has the table of pins.
 *
 * Each servo has its own 2.5 ms of a 20 ms frame, so that two edges never have to come at
 * the same time. Timer 1 counts half microseconds: its compare B begins a slot, its
 * compare A ends the pulse. Another interrupt may hold either up for a few microseconds.
 * A late begin doesn't matter, since the width is counted from when the pin really rose;
 * for the end the interrupt comes early and waits for the very count. */
#include "map.h"

#include <avr/interrupt.h>
#include <avr/io.h>

#include "adc.h"
#include "clock.h"
#include "output.h"

#ifndef MAP_SERVOS
#define MAP_SERVOS 8
#endif
#ifndef MAP_FEEDBACK /* bit j: joint j's voltage is on Aj */
#define MAP_FEEDBACK 0
#endif
#ifndef MAP_SWITCHES /* bit j: joint j's limit switch is on Aj */
#define MAP_SWITCHES 0
#endif
_Static_assert(MAP_SERVOS >= 2 && MAP_SERVOS <= 8, "SERVOS: 2 to 8");
_Static_assert((MAP_FEEDBACK & MAP_SWITCHES) == 0, "FEEDBACK and SWITCHES: an analog pin is one or the other");
_Static_assert(((MAP_FEEDBACK | MAP_SWITCHES) & ~0x3F) == 0, "FEEDBACK and SWITCHES: the Uno has A0 to A5");
_Static_assert((MAP_FEEDBACK | MAP_SWITCHES) >> MAP_SERVOS == 0, "FEEDBACK and SWITCHES: more joints than SERVOS");

enum {
	COUNTS_PER_US = 2,
	SLOTS = 8,
	SLOT = 2500 * COUNTS_PER_US, /* eight of them are 20 ms */
	LOWER_US = 500,
	UPPER_US = 2500,
	EARLY = 6 * COUNTS_PER_US, /* longer than any other interrupt or critical section */
	/* The pin falls this long after the count was seen, and rose before it was read. */
	TAKEN = 1
};

#define JOINT(j)                                                                  \
	{.kind = TAU_SERVO,                                                           \
	 .feedback = MAP_FEEDBACK >> (j) & 1 ? TAU_FEEDBACK_ADC : TAU_FEEDBACK_NONE,      \
	 .sw = MAP_SWITCHES >> (j) & 1 ? (j) : TAU_NO_SWITCH,                             \
	 .lower = LOWER_US * 256L,                                                    \
	 .upper = UPPER_US * 256L}

const TAU_FLASH struct tau_channel map_channels[] = {
	JOINT(0), JOINT(1),
#if MAP_SERVOS > 2
	JOINT(2),
#endif
#if MAP_SERVOS > 3
	JOINT(3),
#endif
#if MAP_SERVOS > 4
	JOINT(4),
#endif
#if MAP_SERVOS > 5
	JOINT(5),
#endif
#if MAP_SERVOS > 6
	JOINT(6),
#endif
#if MAP_SERVOS > 7
	JOINT(7),
#endif
	OUTPUT_CHANNELS};
const uint8_t map_joints = MAP_SERVOS;
const uint8_t map_outputs = OUTPUTS;
const uint8_t map_inputs = MAP_SWITCHES == 0 ? 0 : MAP_SWITCHES < 2 ? 1 : MAP_SWITCHES < 4 ? 2 : MAP_SWITCHES < 8 ? 3 : MAP_SWITCHES < 16 ? 4 : MAP_SWITCHES < 32 ? 5 : 6;

volatile uint8_t clock_ms;

/* Written by the loop with interrupts off. A width of 0 makes no pulse. */
static uint16_t width[MAP_SERVOS];
static bool powered;

/* The interrupts' own. */
static uint8_t slot;
static bool high;
static uint16_t end;

/* Servos 0 to 4 are D3 to D7 (PD3 to PD7), 5 to 7 are D8 to D10 (PB0 to PB2). */
enum { ON_D = 5 };
#define PINS_D ((uint8_t)((MAP_SERVOS < ON_D ? (1U << MAP_SERVOS) - 1 : 0x1F) << 3))
#define PINS_B ((uint8_t)(MAP_SERVOS > ON_D ? (1U << (MAP_SERVOS - ON_D)) - 1 : 0))

static inline __attribute__((always_inline)) void rise(uint8_t servo)
{
	static const uint8_t mask[8] = {8, 16, 32, 64, 128, 1, 2, 4};

	if (servo < ON_D) {
		PORTD |= mask[servo];
	} else {
		PORTB |= mask[servo];
	}
}

/* At most one pin is high; the others' bits are 0 anyway. PD0 and PD1 belong to the
 * UART, PD2 keeps its pull-up. */
static inline __attribute__((always_inline)) void fall(void)
{
	while ((int16_t)(TCNT1 - end) < 0) {
	}
	PORTD &= (uint8_t)~PINS_D;
	PORTB &= (uint8_t)~PINS_B;
	high = false;
	TIMSK1 = _BV(OCIE1B);
}

ISR(TIMER1_COMPA_vect)
{
	if (high) {
		fall();
	}
}

ISR(TIMER1_COMPB_vect)
{
	OCR1B += SLOT;
	if (high) {
		fall(); /* the longest pulse ends where the next slot begins */
	}
	slot = (uint8_t)((slot + 1) % SLOTS);
	if (slot >= MAP_SERVOS || !powered) {
		return;
	}
	uint16_t w = width[slot];
	if (w == 0) {
		return;
	}
	rise(slot);
	end = TCNT1 + w - TAKEN;
	OCR1A = end - EARLY;
	TIFR1 = _BV(OCF1A);
	TIMSK1 = _BV(OCIE1B) | _BV(OCIE1A);
	high = true;
}

ISR(TIMER0_COMPA_vect)
{
	clock_ms++;
}

void map_safe(void)
{
	PORTD = _BV(PD2) | _BV(PD1); /* e-stop pulled up; TX idles high */
	PORTB = 0;
	PORTC = MAP_SWITCHES;
	DDRD = PINS_D | _BV(PD1);
	DDRB = PINS_B | _BV(PB4);
	output_safe();
}

void map_begin(void)
{
	adc_begin(MAP_FEEDBACK);

	OCR0A = (uint8_t)(F_CPU / 64 / 1000 - 1);
	TCCR0A = _BV(WGM01);
	TCCR0B = _BV(CS01) | _BV(CS00);
	TIMSK0 = _BV(OCIE0A);

	OCR1B = SLOT;
	TCCR1A = 0;
	TCCR1B = _BV(CS11);
	TIMSK1 = _BV(OCIE1B);
}

void map_tick(void)
{
	adc_tick();
}

/* A pulse that is on its way still ends where it should: a shorter one would send the
 * servo to another place. */
void map_power(bool on)
{
	cli();
	if (!on) {
		/* What is powered next has to be told its setpoint anew. */
		for (uint8_t j = 0; j < MAP_SERVOS; j++) {
			width[j] = 0;
		}
	}
	powered = on;
	sei();
}

void map_setpoint(uint8_t joint, int32_t q)
{
	int32_t counts = (q + 64) >> 7; /* from 1/256 µs */

	if (counts < LOWER_US * COUNTS_PER_US) {
		counts = LOWER_US * COUNTS_PER_US;
	}
	if (counts > UPPER_US * COUNTS_PER_US) {
		counts = UPPER_US * COUNTS_PER_US;
	}
	cli();
	width[joint] = (uint16_t)counts;
	sei();
}

void map_output(uint8_t output, uint16_t value)
{
	switch (output) {
	case OUTPUT_LED:
		output_led(value);
		break;
	case OUTPUT_RELAY:
		if (value != 0) {
			PORTB |= _BV(PB4);
		} else {
			PORTB &= (uint8_t)~_BV(PB4);
		}
		break;
	default:
		output_pwm(value);
	}
}

int32_t map_count(uint8_t joint)
{
	(void)joint;
	return 0;
}

void map_recount(uint8_t joint, int32_t q)
{
	(void)joint;
	(void)q;
}

uint16_t map_raw(uint8_t joint)
{
	return adc_raw(joint);
}

uint8_t map_switches(void)
{
	return (uint8_t)(PINC & MAP_SWITCHES);
}

bool map_estop(void)
{
	return (PIND & _BV(PD2)) != 0;
}
