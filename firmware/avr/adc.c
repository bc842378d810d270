#include "adc.h"

#include <avr/io.h>
#include <stdbool.h>

#include "tau.h"

enum { INPUTS = 8 };

static uint16_t value[INPUTS];
static uint8_t wanted, now;
static bool settled; /* the reference has changed, and the first value is of both */

static void next(void)
{
	do {
		now = (uint8_t)((now + 1) % INPUTS);
	} while (!(wanted & (1U << now)));
	ADMUX = (uint8_t)(_BV(REFS0) | now);
	ADCSRA |= _BV(ADSC);
}

void adc_begin(uint8_t mask)
{
	wanted = mask;
	for (uint8_t i = 0; i < INPUTS; i++) {
		value[i] = TAU_NO_RAW;
	}
	if (mask == 0) {
		return;
	}
	DIDR0 = mask & 0x3F; /* A6 and A7 have no digital input */
	ADCSRA = _BV(ADEN) | _BV(ADPS2) | _BV(ADPS1) | _BV(ADPS0); /* 125 kHz: 104 µs each */
	next();
}

void adc_tick(void)
{
	if (wanted == 0 || (ADCSRA & _BV(ADSC))) {
		return;
	}
	if (settled) {
		value[now] = ADC;
	}
	settled = true;
	next();
}

uint16_t adc_raw(uint8_t n)
{
	return value[n];
}
