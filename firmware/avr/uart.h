/* The serial line: a ring each way, filled and drained by interrupts. */
#ifndef TAU_AVR_UART_H
#define TAU_AVR_UART_H

#include <stdbool.h>
#include <stdint.h>

/* Bytes that were lost because nobody fetched them in time; stops at 255. What was
 * lost with them the protocol sees by itself (crc, then a gap in seq); this says for the
 * emulator and a debugger how often it was the board's own doing. */
extern volatile uint8_t uart_lost;

void uart_begin(void);

/* Takes the oldest byte received, false if there is none. */
bool uart_receive(uint8_t *byte);

/* Says that there is one. */
bool uart_waiting(void);

/* Takes the whole frame for sending, or nothing of it and returns false where there would
 * be less than keep bytes of room after it. Doesn't wait. */
bool uart_send(const uint8_t *frame, uint8_t length, uint8_t keep);

#endif
