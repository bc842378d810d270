#include "boot.h"

#include <avr/eeprom.h>
#include <avr/io.h>
#include <avr/wdt.h>

/* The count moves on to another slot at each boot: 64 slots of 100,000 writes each are
 * more than six million boots. */
enum { SLOTS = 64, ERASED_CHECK = 0xA5 };

struct slot {
	uint8_t count[3]; /* little-endian */
	uint8_t check;    /* neither an erased slot nor one of zeros fits */
};

static struct slot ring[SLOTS] EEMEM;

static uint8_t cause __attribute__((section(".noinit")));

/* Runs before .data and .bss are set up, so its result lies in neither. After a reset by
 * the watchdog this one still runs, at its shortest period, until MCUSR is cleared. */
void boot_first(void) __attribute__((naked, used, section(".init3")));
void boot_first(void)
{
	uint8_t handed;

	__asm__ volatile("mov %0, r2" : "=r"(handed));
	cause = MCUSR;
	if (cause == 0 && handed <= 0x0F) {
		cause = handed;
	}
	MCUSR = 0;
	wdt_enable(WDTO_250MS);
}

bool boot_was_brown_out(void)
{
	/* At power-on the supply rises through the brown-out level: that isn't one. */
	return (cause & (_BV(BORF) | _BV(PORF))) == _BV(BORF);
}

bool boot_was_watchdog(void)
{
	return (cause & _BV(WDRF)) != 0;
}

static uint8_t check(const struct slot *s)
{
	return (uint8_t)(s->count[0] + 3 * s->count[1] + 7 * s->count[2] + ERASED_CHECK);
}

static uint16_t noise(void)
{
	uint16_t n = 0;

	/* The chip's temperature against its own 1.1 V reference: the last bits of a
	 * sample are noise, so that 64 of them in a shift register are enough. */
	ADMUX = _BV(REFS1) | _BV(REFS0) | _BV(MUX3);
	ADCSRA = _BV(ADEN) | _BV(ADPS2) | _BV(ADPS1) | _BV(ADPS0);
	for (uint8_t i = 0; i < 64; i++) {
		ADCSRA |= _BV(ADSC);
		while (ADCSRA & _BV(ADSC)) {
		}
		n = (uint16_t)((n << 1) ^ (n >> 15 ? 0x1021 : 0) ^ ADC);
	}
	ADCSRA = 0;
	return n;
}

uint32_t boot_number(void)
{
	uint32_t count = 0;
	uint8_t last = SLOTS - 1;

	for (uint8_t i = 0; i < SLOTS; i++) {
		struct slot s;

		eeprom_read_block(&s, &ring[i], sizeof s);
		if (check(&s) != s.check) {
			continue; /* never written, or the supply went while it was */
		}
		uint32_t c = s.count[0] | (uint32_t)s.count[1] << 8 | (uint32_t)s.count[2] << 16;
		if (c >= count) {
			count = c;
			last = i;
		}
	}
	count++;

	struct slot s = {{(uint8_t)count, (uint8_t)(count >> 8), (uint8_t)(count >> 16)}, 0};
	s.check = check(&s);
	eeprom_update_block(&s, &ring[(last + 1) % SLOTS], sizeof s);
	eeprom_busy_wait();
	return (uint32_t)noise() << 16 | (uint16_t)count;
}
