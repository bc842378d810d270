/* The serial line: a ring each way, filled and drained by interrupts. */
#ifndef TAU_AVR_UART_H
#define TAU_AVR_UART_H

#include <stdbool.h>
#include <stdint.h>

/* Bytes that were lost because nobody fetched them in time; stops at 65535. What was
 * lost with them the protocol sees by itself (crc, then a gap in seq); this counts how
 * often it was the board's own doing. Read it with interrupts off. */
extern volatile uint16_t uart_lost;

void uart_begin(void);

/* Takes the oldest byte received, false if there is none. */
bool uart_receive(uint8_t *byte);

/* Takes the whole frame for sending, or nothing of it and returns false. Doesn't wait. */
bool uart_send(const uint8_t *frame, uint8_t length);

#endif
