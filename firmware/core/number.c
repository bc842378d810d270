#include "number.h"

uint32_t product(uint16_t a, uint16_t b)
{
	return (uint32_t)a * b;
}

/* The upper half of c is signed: what a product without sign makes of it is too much by
 * u · 65536. */
static uint32_t upper(uint16_t u, int32_t c)
{
	uint32_t p = product(u, (uint16_t)((uint32_t)c >> 16));

	return c < 0 ? p - ((uint32_t)u << 16) : p;
}

int32_t scale16(uint16_t u, int32_t c)
{
	return (int32_t)(upper(u, c) + (product(u, (uint16_t)c) >> 16));
}

int32_t scale8(uint16_t t, int32_t v)
{
	return (int32_t)((upper(t, v) << 8) + (product(t, (uint16_t)v) >> 8));
}
