/* The outputs that both pin maps have: the board's LED, a relay, and a PWM by timer 2. */
#ifndef TAU_AVR_OUTPUT_H
#define TAU_AVR_OUTPUT_H

#include <stdint.h>

/* D13 is the LED on the board; D11 is OC2A. */
enum { OUTPUT_LED, OUTPUT_RELAY, OUTPUT_PWM, OUTPUTS, OUTPUT_PWM_MAX = 255 };

#define OUTPUT_CHANNELS                                       \
	{.kind = TAU_SWITCHED, .sw = TAU_NO_SWITCH, .upper = 1},  \
	{.kind = TAU_SWITCHED, .sw = TAU_NO_SWITCH, .upper = 1},  \
	{.kind = TAU_PWM, .sw = TAU_NO_SWITCH, .upper = OUTPUT_PWM_MAX}

/* Drives D11 and D13 low. */
void output_safe(void);

void output_led(uint16_t value);
void output_pwm(uint16_t value);

#endif
