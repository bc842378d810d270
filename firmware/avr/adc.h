/* Voltages on A0 to A7, one conversion a tick, without an interrupt. */
#ifndef TAU_AVR_ADC_H
#define TAU_AVR_ADC_H

#include <stdint.h>

/* Starts to measure the inputs in mask (bit n: An), in turn, against the board's supply. */
void adc_begin(uint8_t mask);

/* Takes what was measured and begins the next. Once a tick. */
void adc_tick(void);

/* The last value of An, 0 to 1023; TAU_NO_RAW before the first one. */
uint16_t adc_raw(uint8_t n);

#endif
