#include "probe.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "avr_adc.h"
#include "avr_ioport.h"
#include "avr_uart.h"
#include "sim_avr.h"
#include "sim_cycle_timers.h"
#include "sim_elf.h"

DEFINE_FIFO(uint16_t, uart_fifo);

enum {
	PINB = 0x23,
	TCCR2A = 0xB0,
	COM2A1 = 0x80,
	TCCR2B = 0xB1,
	OCR2A = 0xB3,
	GPIOR0 = 0x3E,
	TIMSK0 = 0x6E, /* and those of timers 1 and 2 after it */
	RAM_FIRST = 0x100,
	RAM_ADDRESS = 0x800000,
	PAINT = 0xA5,
	VECTOR_BYTES = 4,
	/* libsimavr enters an interrupt for nothing; the chip takes four cycles for it. */
	ENTRY = 4,
	DEPTH = 4,
	LINE = 4096,
	UART_KEEPS = 3,
	/* A faster line brings a frame sooner, but not more of them: README.md, BAUD. */
	SUSTAINED_BAUD = 115200
};

static struct {
	avr_t *avr;
	uint32_t uart_lost, clock_ms; /* where the firmware's variables are */
	avr_uart_t *uart;
	uint8_t to[LINE], from[LINE];
	unsigned to_in, to_out, from_in, from_out;
	bool under_way;            /* a byte to the board */
	unsigned frame_bytes;      /* of its frame so far */
	uint64_t came[UART_KEEPS]; /* when the bytes that wait in the UART were complete */
	unsigned waiting;
	bool in_vector;
	unsigned vector;
	uint64_t entered;
	uint64_t interrupted; /* cycles in interrupts since the boot */
	uint64_t span_began[PROBE_SPANS], span_interrupted[PROBE_SPANS];
	uint64_t rose[PROBE_JOINTS], stepped[PROBE_JOINTS], turned[PROBE_JOINTS];
	unsigned in_ms[PROBE_JOINTS]; /* steps in the ms of the last one */
	bool is_high[PROBE_JOINTS], is_stepping[PROBE_JOINTS], is_forward[PROBE_JOINTS];
} chip;

void probe_see(struct probe_range *r, int64_t v)
{
	if (r->n == 0 || v < r->least) {
		r->least = v;
	}
	if (r->n == 0 || v > r->most) {
		r->most = v;
	}
	r->n++;
	r->sum += v;
}

void probe_join(struct probe_range *to, const struct probe_range *r)
{
	if (r->n == 0) {
		return;
	}
	to->least = to->n == 0 || r->least < to->least ? r->least : to->least;
	to->most = to->n == 0 || r->most > to->most ? r->most : to->most;
	to->n += r->n;
	to->sum += r->sum;
}

uint64_t probe_cycle(const struct probe *p)
{
	(void)p;
	return chip.avr->cycle;
}

static void quiet(avr_t *avr, const int level, const char *format, va_list args)
{
	(void)avr;
	if (level <= LOG_ERROR) {
		(void)vfprintf(stderr, format, args);
	}
}

static void slept(avr_t *avr, avr_cycle_count_t cycles)
{
	(void)avr, (void)cycles;
}

static void mark(avr_t *avr, avr_io_addr_t addr, uint8_t v, void *param)
{
	struct probe *p = param;
	unsigned n = v & (PROBE_SPANS - 1);

	avr->data[addr] = v;
	if ((v & 0x80) == 0) {
		chip.span_began[n] = avr->cycle;
		chip.span_interrupted[n] = chip.interrupted;
		return;
	}
	int64_t inside = (int64_t)(chip.interrupted - chip.span_interrupted[n]);
	int64_t all = (int64_t)(avr->cycle - chip.span_began[n]);
	probe_see(&p->span[n], all);
	probe_see(&p->alone[n], all - inside);
}

static avr_irq_t *pin_irq(const struct probe_pin *pin)
{
	return avr_io_getirq(chip.avr, (uint32_t)AVR_IOCTL_IOPORT_GETIRQ(pin->port), pin->bit);
}

static void servo_edge(avr_irq_t *irq, uint32_t value, void *param)
{
	struct probe *p = param;
	uint64_t now = chip.avr->cycle;

	for (unsigned j = 0; j < p->joints; j++) {
		if (irq != pin_irq(&p->servo[j]) || (value != 0) == chip.is_high[j]) {
			continue;
		}
		chip.is_high[j] = value != 0;
		if (value == 0) {
			probe_see(&p->pulse[j], (int64_t)(now - chip.rose[j]));
			continue;
		}
		if (chip.rose[j] != 0) {
			probe_see(&p->frame[j], (int64_t)(now - chip.rose[j]));
		}
		chip.rose[j] = now;
		p->edges[j]++;
	}
}

static void step_edge(avr_irq_t *irq, uint32_t value, void *param)
{
	struct probe *p = param;
	uint64_t now = chip.avr->cycle;

	for (unsigned j = 0; j < p->joints; j++) {
		if (irq == pin_irq(&p->dir[j]) &&
		    (value != 0) != chip.is_forward[j]) {
			chip.is_forward[j] = value != 0;
			chip.turned[j] = now;
		}
		if (irq != pin_irq(&p->step[j]) ||
		    (value != 0) == chip.is_stepping[j]) {
			continue;
		}
		chip.is_stepping[j] = value != 0;
		if (value == 0) {
			probe_see(&p->high[j], (int64_t)(now - chip.stepped[j]));
			continue;
		}
		if (chip.turned[j] != 0) {
			probe_see(&p->ahead[j], (int64_t)(now - chip.turned[j]));
			chip.turned[j] = 0;
		}
		if (chip.stepped[j] != 0) {
			probe_see(&p->apart[j], (int64_t)(now - chip.stepped[j]));
		}
		if (chip.stepped[j] / PROBE_MS != now / PROBE_MS) {
			probe_see(&p->in_ms[j], chip.in_ms[j]);
			chip.in_ms[j] = 0;
		}
		chip.in_ms[j]++;
		chip.stepped[j] = now;
		p->edges[j]++;
		p->steps[j] += chip.is_forward[j] ? 1 : -1;
	}
}

static void watch(const struct probe_pin *pin, avr_irq_notify_t edge, struct probe *p)
{
	avr_irq_register_notify(pin_irq(pin), edge, p);
}

static void came(avr_irq_t *irq, uint32_t value, void *param)
{
	(void)irq, (void)param;
	chip.from[chip.from_in] = (uint8_t)value;
	chip.from_in = (chip.from_in + 1) % LINE;
}

static const char *sizes(struct probe *p, const elf_firmware_t *f)
{
	uint32_t end = 0;

	for (uint32_t i = 0; i < f->symbolcount; i++) {
		if (strcmp(f->symbol[i]->symbol, "_end") == 0) {
			end = f->symbol[i]->addr;
		} else if (strcmp(f->symbol[i]->symbol, "uart_lost") == 0) {
			chip.uart_lost = f->symbol[i]->addr - RAM_ADDRESS;
		} else if (strcmp(f->symbol[i]->symbol, "clock_ms") == 0) {
			chip.clock_ms = f->symbol[i]->addr - RAM_ADDRESS;
		}
	}
	if (end < RAM_ADDRESS + RAM_FIRST || chip.uart_lost == 0 || chip.clock_ms == 0) {
		return "the ELF file has no symbol _end, uart_lost or clock_ms";
	}
	p->statics = end - RAM_ADDRESS - RAM_FIRST;
	p->flash = f->flashsize;
	return NULL;
}

const char *probe_begin(struct probe *p, const char *elf)
{
	static elf_firmware_t firmware;
	uint32_t flags = 0;

	avr_global_logger_set(quiet);
	if (elf_read_firmware(elf, &firmware) != 0) {
		return "can't read the ELF file";
	}
	const char *why = sizes(p, &firmware);
	if (why != NULL) {
		return why;
	}
	chip.avr = avr_make_mcu_by_name("atmega328p");
	if (chip.avr == NULL) {
		return "this libsimavr has no atmega328p";
	}
	(void)avr_init(chip.avr);
	firmware.frequency = PROBE_HZ;
	avr_load_firmware(chip.avr, &firmware);
	chip.avr->vcc = chip.avr->avcc = chip.avr->aref = 5000;
	chip.avr->log = LOG_ERROR;
	chip.avr->sleep = slept;
	chip.avr->run_cycle_limit = 1; /* one instruction a step */
	memset(chip.avr->data + RAM_FIRST, PAINT, (size_t)(chip.avr->ramend - RAM_FIRST) + 1);
	avr_register_io_write(chip.avr, GPIOR0, mark, p);
	for (avr_io_t *io = chip.avr->io_port; io != NULL; io = io->next) {
		if (strcmp(io->kind, "uart") == 0) {
			chip.uart = (avr_uart_t *)(void *)io;
		}
	}
	(void)avr_ioctl(chip.avr, AVR_IOCTL_UART_SET_FLAGS('0'), &flags);
	avr_irq_register_notify(avr_io_getirq(chip.avr, AVR_IOCTL_UART_GETIRQ('0'), UART_IRQ_OUTPUT), came, p);
	for (unsigned j = 0; j < p->joints; j++) {
		if (p->steppers) {
			watch(&p->step[j], step_edge, p);
			watch(&p->dir[j], step_edge, p);
		} else {
			watch(&p->servo[j], servo_edge, p);
		}
	}
	return NULL;
}

static uint64_t byte_cycles(const struct probe *p)
{
	return PROBE_HZ / p->baud * 10;
}

/* Has the chip fetch a byte that waits, unless it is about to. libsimavr forgets that an
 * interrupt is pending as it enters it, before the byte is read. */
static void offer(void)
{
	avr_uart_t *u = chip.uart;
	bool fetching = chip.in_vector && chip.vector == u->rxc.vector;

	if (!uart_fifo_isempty(&u->input) && !u->rxc.pending && !fetching && avr_regbit_get(chip.avr, u->rxen)) {
		u->rx_cnt = 0;
		(void)avr_raise_interrupt(chip.avr, &u->rxc);
	}
}

/* The byte under way is complete; the next begins. A cycle timer, so that a program that
 * sleeps is woken in time. libsimavr's own receiver keeps 64 bytes and hands them on
 * late; the chip keeps what is in its shift register and two more. */
static avr_cycle_count_t complete(avr_t *avr, avr_cycle_count_t when, void *param)
{
	struct probe *p = param;
	avr_uart_t *u = chip.uart;

	if (uart_fifo_get_read_size(&u->input) >= UART_KEEPS) {
		p->overran++;
		(void)avr_regbit_set(avr, u->dor);
	} else {
		uart_fifo_write(&u->input, chip.to[chip.to_out]);
		chip.came[chip.waiting++] = when;
	}
	offer();
	bool frame_ends = chip.to[chip.to_out] == 0;
	chip.frame_bytes++;
	chip.to_out = (chip.to_out + 1) % LINE;
	chip.under_way = chip.to_in != chip.to_out;
	uint64_t next = when + byte_cycles(p);
	if (frame_ends && p->baud > SUSTAINED_BAUD) {
		next += chip.frame_bytes * (PROBE_HZ / SUSTAINED_BAUD * 10 - byte_cycles(p));
	}
	chip.frame_bytes = frame_ends ? 0 : chip.frame_bytes;
	return chip.under_way ? next : 0;
}

static void line(struct probe *p)
{
	avr_uart_t *u = chip.uart;

	while (chip.waiting > uart_fifo_get_read_size(&u->input)) {
		probe_see(&p->receive, (int64_t)(chip.avr->cycle - chip.came[0]));
		chip.waiting--;
		memmove(chip.came, chip.came + 1, chip.waiting * sizeof chip.came[0]);
	}
	if (!chip.under_way && chip.to_in != chip.to_out) {
		chip.under_way = true;
		avr_cycle_timer_register(chip.avr, byte_cycles(p), complete, p);
	}
	offer();
}

bool probe_step(struct probe *p)
{
	avr_t *avr = chip.avr;
	uint16_t op = (uint16_t)(avr->flash[avr->pc] | avr->flash[avr->pc + 1] << 8);
	bool returns = chip.in_vector && op == 0x9518;

	int state = avr_run(avr);
	if (state != cpu_Running && state != cpu_Sleeping) {
		return false;
	}
	if (returns) {
		uint64_t took = avr->cycle - chip.entered + ENTRY;
		probe_see(&p->vector[chip.vector], (int64_t)took);
		chip.interrupted += took - ENTRY;
		chip.in_vector = false;
	}
	if (!chip.in_vector && avr->pc >= VECTOR_BYTES && avr->pc < PROBE_VECTORS * VECTOR_BYTES) {
		chip.in_vector = true;
		chip.vector = avr->pc / VECTOR_BYTES;
		chip.entered = avr->cycle;
	}
	line(p);
	return true;
}

uint64_t probe_lost(const struct probe *p)
{
	/* Those that overran the UART are in the firmware's count too, but it stops at 255. */
	return p->overran + chip.avr->data[chip.uart_lost];
}

uint32_t probe_stack(const struct probe *p)
{
	uint32_t a = RAM_FIRST + p->statics;

	while (a <= chip.avr->ramend && chip.avr->data[a] == PAINT) {
		a++;
	}
	return chip.avr->ramend + 1U - a;
}

void probe_forget(struct probe *p)
{
	memset(p->span, 0, sizeof p->span);
	memset(p->alone, 0, sizeof p->alone);
	memset(p->vector, 0, sizeof p->vector);
	memset(p->pulse, 0, sizeof p->pulse);
	memset(p->frame, 0, sizeof p->frame);
	memset(p->high, 0, sizeof p->high);
	memset(p->ahead, 0, sizeof p->ahead);
	memset(p->apart, 0, sizeof p->apart);
	memset(p->in_ms, 0, sizeof p->in_ms);
	memset(&p->receive, 0, sizeof p->receive);
}

void probe_fall_behind(struct probe *p, uint8_t ms)
{
	(void)p;
	chip.avr->data[chip.clock_ms] = (uint8_t)(chip.avr->data[chip.clock_ms] + ms);
}

void probe_end_ticks(struct probe *p)
{
	(void)p;
	for (unsigned a = TIMSK0; a < TIMSK0 + 3; a++) {
		chip.avr->data[a] = 0;
	}
}

bool probe_write(struct probe *p, const uint8_t *bytes, unsigned n)
{
	if (n >= LINE - probe_unsent(p)) {
		return false;
	}
	while (n-- != 0) {
		chip.to[chip.to_in] = *bytes++;
		chip.to_in = (chip.to_in + 1) % LINE;
	}
	return true;
}

unsigned probe_unsent(const struct probe *p)
{
	(void)p;
	return (chip.to_in + LINE - chip.to_out) % LINE;
}

bool probe_read(struct probe *p, uint8_t *byte)
{
	(void)p;
	if (chip.from_in == chip.from_out) {
		return false;
	}
	*byte = chip.from[chip.from_out];
	chip.from_out = (chip.from_out + 1) % LINE;
	return true;
}

bool probe_output(const struct probe *p, char port, uint8_t bit)
{
	unsigned pin = PINB + 3U * (unsigned)(port - 'B'), mask = 1U << bit; /* then DDR and PORT */

	(void)p;
	return (chip.avr->data[pin + 1] & chip.avr->data[pin + 2] & mask) != 0;
}

uint8_t probe_pwm(const struct probe *p)
{
	const uint8_t *d = chip.avr->data;

	(void)p;
	return (d[TCCR2A] & COM2A1) != 0 && d[TCCR2B] != 0 ? d[OCR2A] : 0;
}

void probe_voltage(struct probe *p, uint8_t n, uint32_t millivolts)
{
	(void)p;
	avr_raise_irq(avr_io_getirq(chip.avr, (uint32_t)AVR_IOCTL_ADC_GETIRQ, n), millivolts);
}

/* libsimavr drives a pin anew whenever its port is written, by what is external to it. */
void probe_input(struct probe *p, char port, uint8_t bit, bool high)
{
	static uint8_t mask[128], value[128];
	unsigned i = (unsigned char)port & 127;

	(void)p;
	mask[i] |= (uint8_t)(1U << bit);
	value[i] = (uint8_t)(high ? value[i] | 1U << bit : value[i] & ~(1U << bit));
	avr_ioport_external_t e = {.mask = mask[i], .value = value[i]};
	e.name = (unsigned char)port & 127U;
	(void)avr_ioctl(chip.avr, (uint32_t)AVR_IOCTL_IOPORT_SET_EXTERNAL(port), &e);
	avr_raise_irq(pin_irq(&(struct probe_pin){port, bit}), high);
}
