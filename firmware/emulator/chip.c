/* The processor: its boots, its clock, the spans that the firmware marks. */
#include "bench.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "avr_extint.h"
#include "sim_hex.h"

#include "trace.h"

enum {
	FLASH = 32768,
	RAM_FIRST = 0x100,
	MCUSR = 0x54, PORF = 1, EXTRF = 2, BORF = 4,
	GPIOR0 = 0x3E,
	PAINT = 0xA5,
	/* How long a boot holds the chip in reset: the fuses of an Arduino Uno. */
	START_NS = 65000000
};

static struct bench *the_bench; /* for simavr's callbacks without a parameter */
static bool was_reset;

uint64_t bench_now(const struct bench *b)
{
	return b->avr->cycle * 1000 / (BENCH_HZ / 1000000) + b->stood;
}

static void quiet(avr_t *avr, const int level, const char *format, va_list args)
{
	(void)avr;
	if (level <= LOG_ERROR)
		(void)vfprintf(stderr, format, args);
}

/* Sleeping costs no time of the wall: the bench holds itself to that. */
static void slept(avr_t *avr, avr_cycle_count_t cycles)
{
	(void)avr;
	the_bench->asleep += cycles + 1;
}

static void on_reset(avr_t *avr)
{
	was_reset = true;
	if (the_bench->core_reset != NULL)
		the_bench->core_reset(avr);
}

static void span_write(avr_t *avr, avr_io_addr_t addr, uint8_t v, void *param)
{
	struct bench *b = param;
	avr->data[addr] = v;
	struct span *s = &b->span[v & (BENCH_SPANS - 1)];
	if ((v & 0x80) == 0) {
		s->begun = avr->cycle + 1; /* 0 is none */
		return;
	}
	if (s->begun == 0)
		return;
	uint32_t n = (uint32_t)(avr->cycle + 1 - s->begun);
	s->begun = 0;
	s->count++;
	s->sum += n;
	if (s->count == 1 || n < s->least)
		s->least = n;
	if (n > s->most)
		s->most = n;
}

/* A cycle timer that does nothing bounds how far a sleep jumps. */
static avr_cycle_count_t bound(avr_t *avr, avr_cycle_count_t when, void *param)
{
	(void)avr, (void)when, (void)param;
	return 0;
}

static const char *load(struct bench *b, const char *hex)
{
	static char why[200];
	ihex_chunk_p chunks = NULL;
	int n = read_ihex_chunks(hex, &chunks);
	if (n <= 0 || chunks == NULL) {
		(void)snprintf(why, sizeof why, "%.150s isn't an Intel HEX file", hex);
		return why;
	}
	for (int i = 0; i < n; i++) {
		uint64_t end = (uint64_t)chunks[i].baseaddr + chunks[i].size;
		if (end > FLASH) {
			(void)snprintf(why, sizeof why, "%.100s ends at %llu; the flash has %d bytes", hex, (unsigned long long)end, FLASH);
			return why;
		}
		avr_loadcode(b->avr, chunks[i].data, chunks[i].size, chunks[i].baseaddr);
	}
	free_ihex_chunks(chunks);
	return NULL;
}

const char *chip_begin(struct bench *b, const char *hex)
{
	the_bench = b;
	avr_global_logger_set(quiet);
	b->avr = avr_make_mcu_by_name("atmega328p");
	if (b->avr == NULL)
		return "this libsimavr has no atmega328p";
	avr_init(b->avr);
	b->avr->frequency = BENCH_HZ;
	b->avr->vcc = b->avr->avcc = b->avr->aref = 5000;
	b->avr->log = LOG_ERROR;
	b->avr->sleep = slept;
	b->run = b->avr->run;
	b->core_reset = b->avr->reset;
	b->avr->reset = on_reset;
	avr_register_io_write(b->avr, GPIOR0, span_write, b);
	for (avr_io_t *io = b->avr->io_port; io != NULL; io = io->next)
		if (strcmp(io->kind, "uart") == 0 && ((avr_uart_t *)(void *)io)->name == '0')
			b->uart = (avr_uart_t *)(void *)io;
	if (b->uart == NULL)
		return "this libsimavr's atmega328p has no UART";
	const char *why = load(b, hex);
	if (why == NULL)
		why = pins_begin(b);
	if (why != NULL)
		return why;
	uart_begin(b);
	chip_reset(b, "power");
	return NULL;
}

/* What every reset has in common, be it ours or the watchdog's. */
static void after_reset(struct bench *b, const char *cause, uint8_t flags)
{
	was_reset = false;
	b->avr->run = b->run;
	b->avr->state = cpu_Running;
	if (flags != 0)
		b->avr->data[MCUSR] = flags;
	memset(b->avr->data + RAM_FIRST, PAINT, (size_t)(b->avr->ramend - RAM_FIRST) + 1);
	for (uint8_t i = 0; i < 2; i++) /* else a low level makes everything five times slower */
		avr_extint_set_strict_lvl_trig(b->avr, i, 0);
	for (int i = 0; i < BENCH_SPANS; i++)
		b->span[i].begun = 0;
	b->hung = false;
	b->frozen = false;
	b->cause = cause;
	b->held_until = bench_now(b) + START_NS;
	uart_reset(b);
	pins_released(b);
}

void chip_reset(struct bench *b, const char *cause)
{
	uint8_t flags = PORF;
	if (strcmp(cause, "reset") == 0)
		flags = EXTRF;
	else if (strcmp(cause, "brownout") == 0)
		flags = BORF;
	avr_reset(b->avr);
	after_reset(b, cause, flags);
}

/* Lets the chip's peripherals go on while its program doesn't. */
static void run_hung(struct bench *b, uint64_t cycle)
{
	while (b->avr->cycle < cycle && b->avr->run == b->run) {
		avr_cycle_count_t n = avr_cycle_timer_process(b->avr);
		uint64_t left = cycle - b->avr->cycle;
		b->avr->cycle += n == 0 ? 1 : n < left ? n : left;
	}
	if (b->avr->run != b->run) /* the watchdog wants its reset */
		(void)avr_run(b->avr);
}

static void run_free(struct bench *b, uint64_t cycle)
{
	while (b->avr->cycle < cycle && !was_reset) {
		int state = avr_run(b->avr);
		if (b->uart->input.read != b->uart->input.write)
			uart_again(b);
		if (state == cpu_Running || state == cpu_Sleeping || was_reset)
			continue;
		b->ended = state == cpu_Done ? "the program sleeps with its interrupts off" : "the program crashed";
		return;
	}
}

void chip_run(struct bench *b, uint64_t ns)
{
	while (b->ended == NULL && bench_now(b) < ns) {
		uint64_t now = bench_now(b);
		if (b->frozen) {
			b->stood += ns - now;
		} else if (b->held_until != 0) {
			uint64_t until = b->held_until < ns ? b->held_until : ns;
			if (until > now)
				b->stood += until - now;
			if (until == b->held_until) {
				b->held_until = 0;
				pins_inputs(b, true);
			}
		} else {
			uint64_t cycles = (ns - now) * (BENCH_HZ / 1000000) / 1000 + 1;
			avr_cycle_timer_register(b->avr, cycles, bound, b);
			if (b->hung)
				run_hung(b, b->avr->cycle + cycles);
			else
				run_free(b, b->avr->cycle + cycles);
			avr_cycle_timer_cancel(b->avr, bound, b);
			if (was_reset)
				after_reset(b, "watchdog", 0);
		}
	}
}

unsigned chip_free_ram(const struct bench *b)
{
	unsigned longest = 0, n = 0;
	for (unsigned i = RAM_FIRST; i <= b->avr->ramend; i++) {
		n = b->avr->data[i] == PAINT ? n + 1 : 0;
		if (n > longest)
			longest = n;
	}
	return longest;
}
