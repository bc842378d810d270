/* A PCA9685 on the chip's I2C bus, by its data sheet (NXP, rev. 4): registers, the pointer
 * that counts on where MODE1 says so, a prescaler that only takes a value asleep. Its
 * pulses go into the trace when a transfer has changed them. */
#include "pca9685.h"

#include <string.h>

#include "avr_twi.h"

#include "bench.h"
#include "trace.h"

enum {
	MODE1 = 0x00, MODE2 = 0x01, LED0 = 0x06, PRESCALE = 0xFE,
	INCREASE = 0x20, SLEEP = 0x10, FULL = 0x10,
	COUNTS = 4096, CLOCK_MHZ = 25
};

static const char *const irq_names[TWI_IRQ_COUNT] = {
	[TWI_IRQ_INPUT] = "8>pca9685.in", [TWI_IRQ_OUTPUT] = "32<pca9685.out", [TWI_IRQ_STATUS] = "8<pca9685.status"
};

/* How long a channel is high in each period, ns. */
static uint64_t width(const struct pca9685 *c, int n)
{
	const uint8_t *r = c->reg + LED0 + 4 * n;
	if ((c->reg[MODE1] & SLEEP) != 0 || (r[3] & FULL) != 0)
		return 0;
	unsigned on = r[0] | (r[1] & 0x0Fu) << 8, off = r[2] | (r[3] & 0x0Fu) << 8;
	unsigned counts = (r[1] & FULL) != 0 ? COUNTS : (off - on) & (COUNTS - 1);
	return (uint64_t)counts * (c->reg[PRESCALE] + 1u) * 1000 / CLOCK_MHZ;
}

static void show(struct pca9685 *c)
{
	for (int n = 0; n < PCA9685_CHANNELS; n++) {
		uint64_t w = width(c, n);
		if (w != c->shown[n])
			trace(bench_now(c->bench), "chip %d %llu", n, (unsigned long long)(c->shown[n] = w));
	}
}

static void next(struct pca9685 *c)
{
	if ((c->reg[MODE1] & INCREASE) != 0)
		c->at++;
}

static void take(struct pca9685 *c, uint8_t v)
{
	if (!c->pointed) {
		c->pointed = true;
		c->at = v;
		return;
	}
	if (c->at != PRESCALE || (c->reg[MODE1] & SLEEP) != 0)
		c->reg[c->at] = v;
	next(c);
}

/* What the chip's I2C says. */
static void heard(avr_irq_t *irq, uint32_t value, void *param)
{
	(void)irq;
	struct pca9685 *c = param;
	avr_twi_msg_irq_t m = { .u.v = value };
	if ((m.u.twi.msg & TWI_COND_STOP) != 0) {
		c->selected = 0;
		show(c);
	}
	if ((m.u.twi.msg & TWI_COND_START) != 0) {
		c->selected = 0;
		c->pointed = false;
		if (!c->away && m.u.twi.addr >> 1 == c->address) {
			c->selected = m.u.twi.addr;
			avr_raise_irq(c->irq + TWI_IRQ_INPUT, avr_twi_irq_msg(TWI_COND_ACK, c->selected, 1));
		}
	}
	if (c->selected == 0)
		return;
	if ((m.u.twi.msg & TWI_COND_WRITE) != 0) {
		avr_raise_irq(c->irq + TWI_IRQ_INPUT, avr_twi_irq_msg(TWI_COND_ACK, c->selected, 1));
		take(c, m.u.twi.data);
	}
	if ((m.u.twi.msg & TWI_COND_READ) != 0) {
		avr_raise_irq(c->irq + TWI_IRQ_INPUT, avr_twi_irq_msg(TWI_COND_READ, c->selected, c->reg[c->at]));
		next(c);
	}
}

void pca9685_power_up(struct pca9685 *c)
{
	memset(c->reg, 0, sizeof c->reg);
	c->reg[MODE1] = 0x11;
	c->reg[MODE2] = 0x04;
	c->reg[PRESCALE] = 30;
	for (int n = 0; n < PCA9685_CHANNELS; n++)
		c->reg[LED0 + 4 * n + 3] = FULL;
	c->at = 0;
	show(c);
}

void pca9685_begin(struct pca9685 *c, struct bench *b, uint8_t address)
{
	c->bench = b;
	c->address = address;
	pca9685_power_up(c);
	c->irq = avr_alloc_irq(&b->avr->irq_pool, 0, TWI_IRQ_COUNT, (const char **)(uintptr_t)irq_names);
	avr_irq_register_notify(c->irq + TWI_IRQ_OUTPUT, heard, c);
	avr_connect_irq(c->irq + TWI_IRQ_INPUT, avr_io_getirq(b->avr, AVR_IOCTL_TWI_GETIRQ(0), TWI_IRQ_INPUT));
	avr_connect_irq(avr_io_getirq(b->avr, AVR_IOCTL_TWI_GETIRQ(0), TWI_IRQ_OUTPUT), c->irq + TWI_IRQ_OUTPUT);
}
