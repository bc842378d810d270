/* The serial line between the cable and the chip, byte by byte at the baud rate.
 *
 * libsimavr's own receiver hands bytes on late, keeps 64 of them and counts a parity
 * bit that 8N1 hasn't got. Here a byte is complete when its stop bit is; the chip
 * keeps two and a third in its shift register, and loses the next. */
#include "bench.h"

#include <stddef.h>
#include <string.h>

#include "trace.h"

DEFINE_FIFO(uint16_t, uart_fifo);

enum { UBRR_MIN_CYCLES = 80, KEPT = 3, BITS = 10 };

/* Cycles of a byte, as the chip's registers have it. */
static uint32_t byte_cycles(const struct bench *b)
{
	const avr_uart_t *u = b->uart;
	uint32_t ubrr = b->avr->data[u->ubrrl.reg] | (uint32_t)(b->avr->data[u->ubrrh.reg] & 15) << 8;
	uint32_t bit = (ubrr + 1) * (avr_regbit_get(b->avr, u->u2x) ? 8 : 16);
	return bit * BITS < UBRR_MIN_CYCLES ? UBRR_MIN_CYCLES : bit * BITS;
}

static void log_byte(struct bench *b, uint8_t *log, unsigned *n, const char *kind, uint8_t byte)
{
	if (!b->bytes)
		return;
	if (*n == sizeof b->log_rx) {
		trace_hex(bench_now(b), kind, log, *n);
		*n = 0;
	}
	log[(*n)++] = byte;
}

static void sent(avr_irq_t *irq, uint32_t value, void *param)
{
	(void)irq;
	struct bench *b = param;
	b->sent++;
	if (!b->stepped)
		cable_put(&b->cable, (uint8_t)value);
	log_byte(b, b->log_tx, &b->log_tx_n, "tx", (uint8_t)value);
}

void uart_begin(struct bench *b)
{
	uint32_t flags = 0;
	(void)avr_ioctl(b->avr, AVR_IOCTL_UART_SET_FLAGS('0'), &flags);
	avr_irq_register_notify(avr_io_getirq(b->avr, AVR_IOCTL_UART_GETIRQ('0'), UART_IRQ_OUTPUT), sent, b);
}

void uart_again(struct bench *b)
{
	avr_uart_t *u = b->uart;
	if (!u->rxc.pending && avr_regbit_get(b->avr, u->rxen)) {
		u->rx_cnt = 0;
		avr_raise_interrupt(b->avr, &u->rxc);
	}
}

static void received(struct bench *b, uint8_t byte)
{
	avr_uart_t *u = b->uart;
	if (!avr_regbit_get(b->avr, u->rxen))
		return;
	b->received++;
	if (uart_fifo_get_read_size(&u->input) >= KEPT) {
		b->overruns++;
		(void)avr_regbit_set(b->avr, u->dor);
		return;
	}
	uart_fifo_write(&u->input, byte);
	log_byte(b, b->log_rx, &b->log_rx_n, "rx", byte);
	uart_again(b);
}

/* Takes what the host wrote: on the terminal, or by the command rx. */
static unsigned fetch(struct bench *b)
{
	if (!b->stepped)
		return cable_read(&b->cable, b->rx, sizeof b->rx);
	unsigned n = b->line_n < sizeof b->rx ? b->line_n : (unsigned)sizeof b->rx;
	memcpy(b->rx, b->line, n);
	b->line_n -= n;
	memmove(b->line, b->line + n, b->line_n);
	return n;
}

/* Has the next byte under way, if the host wrote one. */
static bool next(struct bench *b)
{
	if (b->rx_at == b->rx_n) {
		b->rx_at = 0;
		b->rx_n = fetch(b);
	}
	return b->rx_n != 0;
}

/* The byte under way is complete; the next begins. */
static avr_cycle_count_t complete(avr_t *avr, avr_cycle_count_t when, void *param)
{
	(void)avr;
	struct bench *b = param;
	received(b, b->rx[b->rx_at++]);
	return next(b) ? when + byte_cycles(b) : 0;
}

void uart_drop(struct bench *b)
{
	avr_cycle_timer_cancel(b->avr, complete, b);
	b->rx_at = b->rx_n = 0;
}

void uart_pump(struct bench *b)
{
	cable_look(&b->cable);
	if (b->frozen || b->held_until != 0) {
		/* A line goes on without the chip, which hears nothing. */
		uart_drop(b);
		if (next(b))
			b->rx_at = b->rx_n;
	} else if (b->rx_at == b->rx_n && next(b)) {
		avr_cycle_timer_register(b->avr, byte_cycles(b), complete, b);
	}
	cable_flush(&b->cable);
}

void uart_refresh(struct bench *b)
{
	b->uart->cycles_per_byte = byte_cycles(b);
	uint64_t now = bench_now(b);
	if (b->cause != NULL && b->held_until == 0 && avr_regbit_get(b->avr, b->uart->rxen)) {
		trace(now, "boot %s", b->cause);
		b->cause = NULL;
	}
	if (b->overruns != b->overruns_shown) {
		b->overruns_shown = b->overruns;
		trace(now, "overrun %llu", (unsigned long long)b->overruns);
	}
	if (b->log_rx_n != 0)
		trace_hex(now, "rx", b->log_rx, b->log_rx_n);
	if (b->log_tx_n != 0)
		trace_hex(now, "tx", b->log_tx, b->log_tx_n);
	b->log_rx_n = b->log_tx_n = 0;
}

void uart_reset(struct bench *b)
{
	uart_drop(b);
	uart_fifo_reset(&b->uart->input);
}
