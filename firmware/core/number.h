/* Numbers as they stand on the wire, and products that the core needs. */
#ifndef TAU_NUMBER_H
#define TAU_NUMBER_H

#include <stdint.h>

static inline uint16_t get_u16(const uint8_t *p)
{
	return (uint16_t)(p[0] | (uint16_t)((uint16_t)p[1] << 8));
}

static inline uint32_t get_u32(const uint8_t *p)
{
	return (uint32_t)get_u16(p) | (uint32_t)get_u16(p + 2) << 16;
}

static inline int32_t get_i32(const uint8_t *p)
{
	return (int32_t)get_u32(p);
}

static inline int32_t get_i24(const uint8_t *p)
{
	uint32_t u = (uint32_t)get_u16(p) | (uint32_t)p[2] << 16;

	return (int32_t)(u ^ 0x800000) - 0x800000;
}

static inline uint8_t *put_u8(uint8_t *p, uint8_t v)
{
	*p = v;
	return p + 1;
}

static inline uint8_t *put_u16(uint8_t *p, uint16_t v)
{
	p[0] = (uint8_t)v;
	p[1] = (uint8_t)(v >> 8);
	return p + 2;
}

static inline uint8_t *put_u32(uint8_t *p, uint32_t v)
{
	return put_u16(put_u16(p, (uint16_t)v), (uint16_t)(v >> 16));
}

static inline uint32_t magnitude(int32_t v)
{
	return v < 0 ? 0 - (uint32_t)v : (uint32_t)v;
}

/* v held to ±limit. */
static inline int32_t hold(int32_t v, int32_t limit)
{
	return v > limit ? limit : v < -limit ? -limit : v;
}

/* An AVR multiplies 16 bits in 30 cycles, but its compiler only sees that numbers have 16
 * bits where they are arguments. */
uint32_t product(uint16_t a, uint16_t b) __attribute__((noinline));

/* u · c >> 16, rounded towards minus infinity. */
int32_t scale16(uint16_t u, int32_t c);

/* t · v >> 8, rounded likewise. The result has to fit. */
int32_t scale8(uint16_t t, int32_t v);

#endif
