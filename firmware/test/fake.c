#include "fake.h"

#include <string.h>

#include "check.h"
#include "number.h"

struct fake fake;

static void power(bool on)
{
	if (fake.power && !on) {
		fake.cuts++;
	}
	fake.power = on;
}

static void setpoint(uint8_t joint, int32_t q)
{
	CHECK(joint < fake.board.joints);
	fake.told[joint] = q;
	if (q < fake.least[joint]) {
		fake.least[joint] = q;
	}
	if (q > fake.most[joint]) {
		fake.most[joint] = q;
	}
	fake.tellings++;
}

static void output(uint8_t o, uint16_t value)
{
	CHECK(o < fake.board.outputs);
	CHECK(value <= (uint32_t)fake.channels[fake.board.joints + o].upper);
	fake.output[o] = value;
}

static int32_t count(uint8_t joint)
{
	return fake.told[joint];
}

static void recount(uint8_t joint, int32_t q)
{
	fake.told[joint] = q;
}

static uint16_t raw(uint8_t joint)
{
	return fake.raw[joint];
}

static uint8_t switches(void)
{
	return fake.switches;
}

static bool estop(void)
{
	return fake.estop;
}

static void keep(const struct decoder *d)
{
	uint8_t type = d->body[0];

	if (type == STATUS) {
		fake.status_length = (uint8_t)(d->length - 2);
		memcpy(fake.status, d->body + 2, fake.status_length);
		fake.statuses++;
	} else if (type != FEEDBACK) {
		if (fake.n == FAKE_FRAMES) {
			fake.lost = true;
			return;
		}
		memcpy(fake.frames[fake.n].body, d->body, d->length);
		fake.frames[fake.n].length = d->length;
		fake.n++;
	}
}

static bool send(const uint8_t *frame, uint8_t length)
{
	bool whole = false;

	if (fake.deaf) {
		return false;
	}
	CHECK(length <= TAU_MAX_FRAME);
	for (uint8_t i = 0; i < length; i++) {
		CHECK(!whole);
		whole = decoder_take(&fake.decoder, frame[i]);
	}
	CHECK(whole);
	if (whole) {
		keep(&fake.decoder);
	}
	return true;
}

void fake_make(uint8_t servos, uint8_t steppers, uint8_t outputs)
{
	struct tau_channel *c = fake.channels;

	memset(&fake, 0, sizeof fake);
	for (uint8_t j = 0; j < servos; j++) {
		*c++ = (struct tau_channel){TAU_SERVO, TAU_FEEDBACK_NONE, TAU_NO_SWITCH, 500 * 256, 2500 * 256};
	}
	for (uint8_t j = 0; j < steppers; j++) {
		*c++ = (struct tau_channel){TAU_STEPPER, TAU_FEEDBACK_STEPS, j, -1000000 * 256, 1000000 * 256};
	}
	for (uint8_t o = 0; o < outputs; o++) {
		*c++ = (struct tau_channel){TAU_PWM, TAU_FEEDBACK_NONE, TAU_NO_SWITCH, 0, 255};
	}
	fake.board.joints = (uint8_t)(servos + steppers);
	fake.board.outputs = outputs;
	fake.board.inputs = steppers;
	fake.board.status_ms = 10;
	fake.board.boot = 1;
	fake.board.firmware = 1;
}

void fake_boot(void)
{
	struct tau_board *b = &fake.board;

	b->channels = fake.channels;
	b->power = power;
	b->setpoint = setpoint;
	b->output = output;
	b->count = count;
	b->recount = recount;
	b->raw = raw;
	b->switches = switches;
	b->estop = estop;
	b->send = send;
	for (uint8_t j = 0; j < TAU_MAX_JOINTS; j++) {
		fake.told[j] = 0;
		fake.least[j] = INT32_MAX;
		fake.most[j] = INT32_MIN;
	}
	fake.n = 0;
	fake.status_length = 0;
	tau_begin(b);
}

void fake_send(uint8_t type, uint8_t seq, const uint8_t *payload, uint8_t length)
{
	uint8_t frame[TAU_MAX_FRAME];

	frame[1] = type;
	frame[2] = seq;
	if (length != 0) {
		memcpy(frame + 3, payload, length);
	}
	length = frame_code(frame, (uint8_t)(length + 2));
	for (uint8_t i = 0; i < length; i++) {
		tau_receive(frame[i]);
	}
}

const struct fake_frame *fake_take(void)
{
	static struct fake_frame taken;

	if (fake.n == 0) {
		return NULL;
	}
	taken = fake.frames[0];
	fake.n--;
	memmove(fake.frames, fake.frames + 1, fake.n * sizeof fake.frames[0]);
	return &taken;
}

uint8_t fake_ask(uint8_t type, const uint8_t *payload, uint8_t length)
{
	uint8_t seq = core.expected;

	fake.n = 0;
	fake_send(type, seq, payload, length);

	const struct fake_frame *f = fake_take();

	if (f == NULL || f->body[0] != ACK) {
		return CODE_ANSWERED;
	}
	CHECK_EQUAL(f->body[2], seq);
	CHECK_EQUAL(f->body[3], type);
	return f->body[4];
}

void fake_greet(void)
{
	static const uint8_t hello[] = {'t', 'a', 'u', TAU_VERSION, 1, 2, 3, 4};

	CHECK_EQUAL(fake_ask(HELLO, hello, sizeof hello), CODE_ANSWERED);
}

void fake_configure(int32_t lower, int32_t upper, uint32_t v, uint32_t a, uint16_t ramp, uint8_t flags)
{
	uint8_t p[20];

	for (uint8_t j = 0; j < fake.board.joints; j++) {
		p[0] = j;
		p[1] = flags;
		put_u32(p + 2, (uint32_t)lower);
		put_u32(p + 6, (uint32_t)upper);
		put_u32(p + 10, v);
		put_u32(p + 14, a);
		put_u16(p + 18, ramp);
		CHECK_EQUAL(fake_ask(CONFIGURE, p, sizeof p), CODE_OK);
	}
}

void fake_enable(int32_t q)
{
	uint8_t p[2 + 4 * TAU_MAX_JOINTS];

	CHECK_EQUAL(fake_ask(REPORT, NULL, 0), CODE_ANSWERED);
	put_u16(p, core.report);
	for (uint8_t j = 0; j < fake.board.joints; j++) {
		bool counts = fake.channels[j].feedback == TAU_FEEDBACK_STEPS;

		put_u32(p + 2 + 4 * j, (uint32_t)(core.powered || counts ? core.joint[j].q : q));
	}
	CHECK_EQUAL(fake_ask(ENABLE, p, (uint8_t)(2 + 4 * fake.board.joints)), CODE_OK);
}

void fake_begin(uint16_t motion, uint8_t seek)
{
	uint8_t p[5];

	put_u16(p, motion);
	put_u16(p + 2, core.stops);
	p[4] = seek;
	CHECK_EQUAL(fake_ask(BEGIN, p, sizeof p), CODE_OK);
}

uint8_t fake_piece(uint8_t index, uint8_t ticks, int32_t q, int32_t v, bool last)
{
	uint8_t joints = fake.board.joints, done = 0;

	while (done < joints) {
		uint8_t here = (uint8_t)(joints - done < 4 ? joints - done : 4), p[3 + 4 * PIECE_JOINT];
		uint8_t *to = p + 3;

		p[0] = index;
		p[1] = ticks;
		p[2] = (uint8_t)(done | (last ? 0x80 : 0));
		for (uint8_t i = 0; i < here; i++) {
			put_u32(to, (uint32_t)q);
			put_u16(to + 4, (uint16_t)v);
			to[6] = (uint8_t)(v >> 16);
			to += PIECE_JOINT;
		}
		uint8_t code = fake_ask(SEGMENT, p, (uint8_t)(3 + here * PIECE_JOINT));

		if (code != CODE_ANSWERED) {
			return code;
		}
		done = (uint8_t)(done + here);
	}
	return CODE_ANSWERED;
}

void fake_go(uint16_t motion)
{
	uint8_t p[2];

	put_u16(p, motion);
	CHECK_EQUAL(fake_ask(GO, p, sizeof p), CODE_OK);
}
