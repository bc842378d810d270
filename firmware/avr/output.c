#include "output.h"

#include <avr/io.h>

void output_safe(void)
{
	PORTB &= (uint8_t)~_BV(PB5);
	PORTB &= (uint8_t)~_BV(PB3);
	DDRB |= _BV(PB5) | _BV(PB3);
}

/* An interrupt may write the same port: a single constant bit is set by one instruction. */
void output_led(uint16_t value)
{
	if (value != 0) {
		PORTB |= _BV(PB5);
	} else {
		PORTB &= (uint8_t)~_BV(PB5);
	}
}

void output_pwm(uint16_t value)
{
	if (value == 0) {
		/* The timer's 0 is still one count high in 256. */
		TCCR2A = 0;
		TCCR2B = 0;
		return;
	}
	OCR2A = (uint8_t)(value > OUTPUT_PWM_MAX ? OUTPUT_PWM_MAX : value);
	TCCR2A = _BV(COM2A1) | _BV(WGM21) | _BV(WGM20);
	TCCR2B = _BV(CS22); /* 16 MHz / 64 / 256: 977 Hz */
}
