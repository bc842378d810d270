/* Marks stretches of the program for the emulator's cycle counter (docs/HIL.md, Spans).
 * On a real board nobody reads the register. */
#ifndef TAU_AVR_MARK_H
#define TAU_AVR_MARK_H

#include <avr/io.h>

enum { SPAN_TICK = 1, SPAN_RECEIVE = 2 };

/* Nothing in memory may be moved across a mark. */
#define mark_begin(n)                             \
	do {                                          \
		GPIOR0 = (n);                             \
		__asm__ volatile("" ::: "memory");        \
	} while (0)
#define mark_end(n)                               \
	do {                                          \
		__asm__ volatile("" ::: "memory");        \
		GPIOR0 = 0x80 | (n);                      \
	} while (0)

#endif
