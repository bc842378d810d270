/* Holds number.S to ../core/number.c: a program that compares them on the chip and sends
 * K, or F at the first difference. */
#include <avr/io.h>
#include <avr/wdt.h>

#include "../core/number.h"

/* number.c compiled under other names. */
uint32_t c_product(uint16_t a, uint16_t b);
int32_t c_scale16(uint16_t u, int32_t c);
int32_t c_scale8(uint16_t t, int32_t v);

/* What the emulator's probe looks for in a firmware. */
volatile uint8_t uart_lost, clock_ms;

static const uint16_t edges16[] = {0, 1, 0xFF, 0x100, 0x7FFF, 0x8000, 0xFF00, 0xFFFF};
static const int32_t edges32[] = {0, 1, -1, 0xFF, -0xFF, 0x100, -0x100, 0x7FFF, -0x8000, 0xFFFF, -0xFFFF, 0x10000, -0x10000,
                                  0x7FFFFF, -0x800000, 0x3FFFFFFF, INT32_MAX, INT32_MIN};

enum { RANDOM = 20000, N16 = sizeof edges16 / sizeof edges16[0], N32 = sizeof edges32 / sizeof edges32[0] };

static uint32_t state = 1;

static uint32_t random32(void)
{
	state ^= state << 13;
	state ^= state >> 17;
	state ^= state << 5;
	return state;
}

static void end(uint8_t with)
{
	UDR0 = with;
	for (;;) {
		wdt_reset();
	}
}

static void compare(uint16_t u, int32_t c)
{
	if (product(u, (uint16_t)c) != c_product(u, (uint16_t)c) || scale16(u, c) != c_scale16(u, c) || scale8(u, c) != c_scale8(u, c)) {
		end('F');
	}
}

int main(void)
{
	uart_lost = clock_ms = 0; /* so that the linker keeps them */
	UCSR0B = _BV(TXEN0);
	for (uint8_t i = 0; i < N16; i++) {
		for (uint8_t j = 0; j < N32; j++) {
			compare(edges16[i], edges32[j]);
		}
	}
	for (uint16_t n = 0; n < RANDOM; n++) {
		uint32_t r = random32();

		compare((uint16_t)r, (int32_t)random32() >> (r >> 27));
	}
	end('K');
}
