/* The millisecond, counted by the pin map's timer interrupt and passed by the loop. */
#ifndef TAU_AVR_CLOCK_H
#define TAU_AVR_CLOCK_H

#include <stdint.h>

/* Milliseconds since the boot, modulo 256. Written by one interrupt only. */
extern volatile uint8_t clock_ms;

#endif
