/* Whether the core reckons the same where int has 16 bits: 60 boards are driven through
 * random limits, pieces and stops, and everything that the core tells and sends goes into
 * one number. This machine prints it; the AVR sends it on its serial line (firmware_test.go
 * compares). */
#include "core.h"
#include "number.h"

enum { JOINTS = 3, BOARDS = 60, PIECES = 8 };

static uint32_t seed = 1, sum = UINT32_C(2166136261);
static struct tau_channel channels[JOINTS];
static int32_t told[JOINTS];

/* Xorshift (Marsaglia, 2003). */
static uint32_t number(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 17;
	seed ^= seed << 5;
	return seed;
}

/* FNV-1a. */
static void mix(uint32_t v)
{
	for (uint8_t i = 0; i < 32; i = (uint8_t)(i + 8)) {
		sum = (sum ^ (uint8_t)(v >> i)) * UINT32_C(16777619);
	}
}

static void power(bool on)
{
	mix(on);
}

static void setpoint(uint8_t joint, int32_t q)
{
	told[joint] = q;
	mix((uint32_t)q);
}

static void output(uint8_t o, uint16_t value)
{
	mix(o + (uint32_t)value);
}

static int32_t count(uint8_t joint)
{
	return told[joint];
}

static void recount(uint8_t joint, int32_t q)
{
	told[joint] = q;
}

static uint16_t raw(uint8_t joint)
{
	return joint;
}

static uint8_t switches(void)
{
	return 0;
}

static bool estop(void)
{
	return false;
}

static bool send(const uint8_t *frame, uint8_t length)
{
	for (uint8_t i = 0; i < length; i++) {
		mix(frame[i]);
	}
	return true;
}

static const struct tau_board board = {
	.joints = JOINTS, .status_ms = 20, .channels = channels, .power = power, .setpoint = setpoint,
	.output = output, .count = count, .recount = recount, .raw = raw, .switches = switches,
	.estop = estop, .send = send,
};

static void say(uint8_t type, const uint8_t *payload, uint8_t length)
{
	uint8_t frame[TAU_MAX_FRAME];

	frame[1] = type;
	frame[2] = core.expected;
	for (uint8_t i = 0; i < length; i++) {
		frame[3 + i] = payload[i];
	}
	length = frame_code(frame, (uint8_t)(length + 2));
	for (uint8_t i = 0; i < length; i++) {
		tau_receive(frame[i]);
	}
}

static void begin(int32_t q, uint32_t v, uint32_t a)
{
	uint8_t p[2 + 4 * JOINTS + 8];

	tau_begin(&board);
	say(HELLO, (const uint8_t *)"tau\1same", 8);
	for (uint8_t j = 0; j < JOINTS; j++) {
		p[0] = j;
		p[1] = 0;
		put_u32(p + 2, (uint32_t)(q - INT32_C(100000000)));
		put_u32(p + 6, (uint32_t)(q + INT32_C(100000000)));
		put_u32(p + 10, v >> j);
		put_u32(p + 14, a >> j);
		put_u16(p + 18, (uint16_t)(1 + number() % RAMP_MS));
		say(CONFIGURE, p, 20);
	}
	say(REPORT, p, 0);
	put_u16(p, core.report);
	for (uint8_t j = 0; j < JOINTS; j++) {
		put_u32(p + 2 + 4 * j, (uint32_t)q);
	}
	say(ENABLE, p, 2 + 4 * JOINTS);
	put_u16(p, 1);
	put_u16(p + 2, core.stops);
	p[4] = NO_SEEK;
	say(BEGIN, p, 5);
}

static void move(int32_t from, uint32_t fastest)
{
	uint8_t p[3 + PIECE_JOINT * JOINTS];
	int32_t q[JOINTS], v[JOINTS];

	for (uint8_t j = 0; j < JOINTS; j++) {
		q[j] = from;
		v[j] = 0;
	}
	for (uint8_t k = 0; k < PIECES; k++) {
		p[0] = k;
		p[1] = (uint8_t)(1 + number() % 25);
		p[2] = 0;
		for (uint8_t j = 0; j < JOINTS; j++) {
			int32_t most = (int32_t)(fastest >> j);
			int32_t more = (int32_t)(number() % (uint32_t)(most / 8 + 1));
			uint8_t *to = p + 3 + PIECE_JOINT * j;

			v[j] = hold(v[j] + ((number() & 64) != 0 ? more : -more), most);
			q[j] += (int32_t)((int64_t)v[j] * p[1] >> 8);
			put_u32(to, (uint32_t)q[j]);
			put_u16(to + 4, (uint16_t)v[j]);
			to[6] = (uint8_t)((uint32_t)v[j] >> 16);
		}
		say(SEGMENT, p, sizeof p);
	}
	put_u16(p, 1);
	say(GO, p, 2);
}

static uint32_t all(void)
{
	for (uint8_t j = 0; j < JOINTS; j++) {
		channels[j] = (struct tau_channel){TAU_SERVO, TAU_FEEDBACK_NONE, TAU_NO_SWITCH, -MAX_Q, MAX_Q};
	}
	for (uint8_t n = 0; n < BOARDS; n++) {
		static const uint8_t kind = 0;
		uint32_t v = (UINT32_C(1) << (8 + number() % 15)) - 1;
		uint32_t a = (v / 31 + 1) * (1 + number() % 64);
		int32_t q = (int32_t)(number() >> 3) - (INT32_C(1) << 28);

		begin(q, v, a);
		move(q, v);
		for (uint8_t t = (uint8_t)(number() % 90); t > 0; t--) {
			tau_tick();
		}
		say(STOP, &kind, 1);
		for (uint16_t t = 0; t < 400; t++) {
			tau_tick();
		}
		mix(core.state);
		mix(core.fault);
	}
	return sum;
}

#ifdef __AVR__
#include <avr/io.h>

int main(void)
{
	uint32_t s = all();

	UBRR0 = 8; /* 115,200 baud of 16 MHz */
	UCSR0B = _BV(TXEN0);
	for (uint8_t i = 0; i < 4; i++, s <<= 8) {
		while ((UCSR0A & _BV(UDRE0)) == 0) {
		}
		UDR0 = (uint8_t)(s >> 24);
	}
	for (;;) {
	}
}
#else
#include <stdio.h>

int main(void)
{
	return printf("%08lx\n", (unsigned long)all()) < 0;
}
#endif
