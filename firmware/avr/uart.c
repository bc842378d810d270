#include "uart.h"

#include "frames.h"

#include <avr/interrupt.h>
#include <avr/io.h>

#ifndef BAUD
#define BAUD 115200UL
#endif

/* In double-speed mode a bit is sampled 8 times, and the divisor is a whole number. */
#define DIVISOR ((F_CPU + 4UL * BAUD) / (8UL * BAUD))
_Static_assert(DIVISOR >= 1 && DIVISOR <= 4096, "BAUD: no divisor of the clock comes near it");
_Static_assert(F_CPU / 8 * 1000 / DIVISOR <= BAUD * 1022 && F_CPU / 8 * 1000 / DIVISOR >= BAUD * 978,
               "BAUD: the nearest divisor is more than 2.2 % off");

/* One place of a ring always stays free. The receiver's bridges the longest stretch in
 * which the loop doesn't look (a plan of the brake, under 4 ms at 115,200 baud); its size
 * is a power of two, so that the index wraps by a mask. The sender's takes one of each
 * frame. */
enum { RX = BAUD > 250000UL ? 128 : 64, TX = FRAMES_ALL + 1 };
_Static_assert(TX <= 255, "indexes are bytes");

volatile uint8_t uart_lost;

static uint8_t rx[RX];
static volatile uint8_t rx_in; /* the interrupt's */
static uint8_t rx_out;         /* the loop's; the interrupt only reads it */

static inline uint8_t tx_next(uint8_t i)
{
	return i == TX - 1 ? 0 : (uint8_t)(i + 1);
}

static uint8_t tx[TX];
static uint8_t tx_in;           /* the loop's */
static volatile uint8_t tx_out; /* the interrupt's */

/* The loop's one-byte indexes are read by the interrupts and the other way round; a byte
 * is read and written in one instruction, and the data is there before the index says so. */
#define shared(x) (*(volatile uint8_t *)&(x))

static inline void count_lost(void)
{
	if (uart_lost != UINT8_MAX) {
		uart_lost++;
	}
}

void uart_begin(void)
{
	UBRR0 = (uint16_t)(DIVISOR - 1);
	UCSR0A = _BV(U2X0);
	UCSR0C = _BV(UCSZ01) | _BV(UCSZ00); /* 8N1 */
	UCSR0B = _BV(RXEN0) | _BV(TXEN0) | _BV(RXCIE0);
}

ISR(USART_RX_vect)
{
	uint8_t overran = UCSR0A & _BV(DOR0); /* before UDR0, which clears it */
	uint8_t in = rx_in;
	uint8_t next = (uint8_t)((in + 1) & (RX - 1));

	rx[in] = UDR0; /* the free place, if the ring is full */
	if (next == shared(rx_out)) {
		overran = 1;
	} else {
		rx_in = next;
	}
	if (overran) {
		count_lost();
	}
}

ISR(USART_UDRE_vect)
{
	uint8_t out = tx_out;

	UDR0 = tx[out];
	out = tx_next(out);
	tx_out = out;
	if (out == shared(tx_in)) {
		UCSR0B &= (uint8_t)~_BV(UDRIE0);
	}
}

bool uart_receive(uint8_t *byte)
{
	uint8_t out = rx_out;

	if (out == rx_in) {
		return false;
	}
	*byte = shared(rx[out]);
	shared(rx_out) = (uint8_t)((out + 1) & (RX - 1));
	return true;
}

bool uart_waiting(void)
{
	return rx_out != rx_in;
}

bool uart_send(const uint8_t *frame, uint8_t length, uint8_t keep)
{
	uint8_t in = tx_in;
	uint8_t out = tx_out;
	uint8_t room = (uint8_t)(out > in ? out - in - 1 : TX - 1 - in + out);

	if (keep > room || length > room - keep) {
		return false;
	}
	while (length-- != 0) {
		shared(tx[in]) = *frame++;
		in = tx_next(in);
	}
	if (in != tx_in) {
		cli(); /* the interrupt switches itself off by the same register */
		shared(tx_in) = in;
		UCSR0B |= _BV(UDRIE0);
		sei();
	}
	return true;
}
