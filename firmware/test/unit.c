/* What neither a vector nor a session says. */
#include "unit.h"

#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "fake.h"
#include "number.h"

enum { V = 51200, A = 131072, MIDDLE = 384000 }; /* 200 units/ms, 2 units/ms² */

static void ticks(unsigned n)
{
	while (n-- > 0) {
		tau_tick();
	}
}

static void beat(void)
{
	static const uint8_t ms[4] = {0};

	CHECK_EQUAL(fake_ask(HEARTBEAT, ms, sizeof ms), CODE_ANSWERED);
}

static void servos(uint8_t n)
{
	fake_make(n, 0, 1);
	fake_boot();
	fake_greet();
	fake_configure(500 * 256, 2500 * 256, V, A, 50, 0);
	fake_enable(MIDDLE);
}

/* A coded body that claims one byte more than there is, all else right. */
static void unfinished_block(void)
{
	struct decoder d = {0};
	uint8_t frame[] = {0, 0x0E, 1, 2, 3, 0, 0, 0};
	uint8_t n;
	bool good = false;

	check_test("a block that isn't finished");
	n = frame_code(frame, 4);
	CHECK_EQUAL(n, 8);
	CHECK_EQUAL(frame[0], 7); /* no zero in it */
	frame[0]++;
	for (uint8_t i = 0; i < n; i++) {
		good = decoder_take(&d, frame[i]) || good;
	}
	CHECK(!good);
	CHECK_EQUAL(d.dropped, 1);
}

/* A stop's answer waits for room. */
static void unsaid_stop(void)
{
	uint8_t kind = 0;
	const struct fake_frame *f;

	check_test("a stop's answer waits");
	servos(2);
	fake.deaf = true;
	fake.n = 0;
	fake_send(STOP, 77, &kind, 1);
	ticks(3);
	fake.deaf = false;
	ticks(1);
	f = fake_take();
	CHECK(f != NULL && f->body[0] == ACK && f->body[2] == 77 && f->body[3] == STOP && f->body[4] == CODE_OK);
	ticks(30);
	CHECK(fake_take() == NULL);
}

/* Refused frames keep the watchdog quiet; dropped ones don't. */
static void watchdog_food(void)
{
	check_test("what feeds the watchdog");
	servos(2);
	for (int i = 0; i < 10; i++) {
		ticks(150);
		fake_send(0x7F, 0, NULL, 0); /* out of turn, and no such type */
		fake_send(0x7F, 0, NULL, 0);
	}
	CHECK_EQUAL(core.fault, NONE);
	for (int i = 0; i < 199; i++) {
		tau_receive(7);
		tau_receive(0);
		ticks(1);
	}
	CHECK_EQUAL(core.fault, NONE);
	ticks(1);
	CHECK_EQUAL(core.fault, WATCHDOG);
	CHECK(!core.enabled && core.powered);
}

/* A piece that gets too fast on its way: the tick that would be isn't made, and the brake
 * goes on from the one before. */
static void within_a_piece(void)
{
	int32_t last = 0, step = 0;

	check_test("too fast within a piece");
	servos(1);
	fake_begin(1, NO_SEEK);
	CHECK_EQUAL(fake_piece(0, 100, MIDDLE + 20000, 0, true), CODE_ANSWERED);
	fake_go(1);
	for (int i = 0; i < 100 && core.fault == NONE; i++) {
		int32_t q = fake.told[0];

		ticks(1);
		last = step;
		step = fake.told[0] - q;
	}
	CHECK_EQUAL(core.fault, SPEED);
	CHECK_EQUAL(core.fault_channel, 0);
	CHECK_EQUAL(core.state, BRAKING);
	/* The cubic's own acceleration is 6 here, which the brake holds to A. */
	CHECK(last > 200 && step > last && step - last <= 6);
	CHECK(core.motion_ms < 30);
}

static void stepper(void)
{
	fake_make(0, 1, 0);
	fake_boot();
	fake_greet();
	fake_configure(-500000, 500000, V, A, 50, 0);
	fake_enable(0);
}

static void seek_down(uint16_t motion)
{
	fake_begin(motion, 0);
	CHECK_EQUAL(fake_piece(0, 20, core.joint[0].q - 1000, 0, true), CODE_ANSWERED);
	fake_go(motion);
	ticks(40);
	beat();
}

/* A switch that is closed already when it is sought: found there, and known to lie in the
 * direction of the search. */
static void closed_at_boot(void)
{
	uint8_t p[5] = {0};

	check_test("a switch that is closed at the boot");
	stepper();
	fake.switches = 1;
	seek_down(1);
	CHECK_EQUAL(core.state, HOLD);
	CHECK(core.found);
	CHECK_EQUAL(core.joint[0].q, 0);
	CHECK_EQUAL(fake_ask(REFERENCE, p, sizeof p), CODE_OK);

	/* Away from it. */
	fake_begin(2, NO_SEEK);
	CHECK_EQUAL(fake_piece(0, 20, 1000, 0, true), CODE_ANSWERED);
	fake_go(2);
	ticks(30);
	beat();
	CHECK_EQUAL(core.fault, NONE);
	CHECK_EQUAL(fake.told[0], 1000);

	/* And into it. */
	fake_begin(3, NO_SEEK);
	CHECK_EQUAL(fake_piece(0, 20, 0, 0, true), CODE_ANSWERED);
	fake_go(3);
	ticks(30);
	CHECK_EQUAL(core.fault, SWITCH);
	CHECK_EQUAL(core.fault_channel, 0);
	CHECK_EQUAL(core.state, FAULT);
}

/* Without power a stepper may be pushed: its count says nothing from then on, nor does a
 * switch that was found before. */
static void pushed(void)
{
	uint8_t p[5] = {0};

	check_test("a stepper that had no power");
	for (int said = 0; said < 2; said++) {
		stepper();
		fake.switches = 1;
		seek_down(1);
		if (said) {
			CHECK_EQUAL(fake_ask(REFERENCE, p, sizeof p), CODE_OK);
			CHECK(setup_all_referenced());
		}
		CHECK_EQUAL(fake_ask(DISABLE, NULL, 0), CODE_OK);
		CHECK(!setup_all_referenced());
		CHECK_EQUAL(fake_ask(REFERENCE, p, sizeof p), CODE_BUSY);
	}
}

/* A switch bounces as it opens, while its joint leaves it: no fault. The same later is one. */
static void bounce(void)
{
	uint8_t p[5] = {0};

	check_test("a switch that bounces");
	stepper();
	fake.switches = 1;
	seek_down(1);
	CHECK_EQUAL(fake_ask(REFERENCE, p, sizeof p), CODE_OK);
	fake_begin(2, NO_SEEK);
	CHECK_EQUAL(fake_piece(0, 100, 4000, 0, true), CODE_ANSWERED);
	fake_go(2);
	ticks(10);
	for (int i = 0; i < 4; i++) {
		fake.switches = 0;
		ticks(7);
		fake.switches = 1;
		ticks(1);
	}
	CHECK_EQUAL(core.fault, NONE);
	fake.switches = 0;
	ticks(20);
	beat();
	CHECK_EQUAL(core.fault, NONE);
	fake.switches = 1;
	ticks(1);
	CHECK_EQUAL(core.fault, SWITCH);
}

/* Overload brakes from where the motion was, and the ticks that were lost stay lost. */
static void overload(void)
{
	int32_t q;

	check_test("overload");
	servos(1);
	fake_begin(1, NO_SEEK);
	CHECK_EQUAL(fake_piece(0, 50, MIDDLE + 2500, 25600, false), CODE_ANSWERED);
	CHECK_EQUAL(fake_piece(1, 100, MIDDLE + 12500, 25600, false), CODE_ANSWERED);
	fake_go(1);
	ticks(100);
	q = fake.told[0];
	tau_overload();
	CHECK_EQUAL(core.fault, OVERLOAD);
	CHECK_EQUAL(core.state, BRAKING);
	ticks(1);
	CHECK(fake.told[0] - q >= 90 && fake.told[0] - q <= 100);
	ticks(150);
	CHECK_EQUAL(core.state, FAULT);
}

/* Whether a brake has room is asked in two ways: a quick bound first. Where the bound says
 * yes, the plan would. */
static void room(void)
{
	uint32_t x = 1;

	check_test("the quick bound is one");
	servos(2);
	for (int i = 0; i < 20000; i++) {
		struct brake_joint b[2];
		int32_t v[2];

		for (int j = 0; j < 2; j++) {
			x = x * 1664525 + 1013904223;
			b[j].v = (int32_t)(x >> 8) % (V + 1);
			x = x * 1664525 + 1013904223;
			b[j].a = (int32_t)(x >> 8) % (A + 1);
			b[j].v = x & 1 ? b[j].v : -b[j].v;
			b[j].a = x & 2 ? b[j].a : -b[j].a;
			v[j] = b[j].v;
		}
		struct brake p = brake_plan(b);
		uint16_t longest = brake_longest(v);

		CHECK(p.ra + p.c + p.rb <= longest);
		for (int j = 0; j < 2; j++) {
			const struct limits *l = &core.joint[j].limits;

			CHECK(labs(brake_way(&p, &b[j], l)) <= brake_farthest(longest, v[j], l));
		}
	}
}

/* Joints whose limits are so low that rounding alone lets a piece go many times as fast:
 * their brakes end in time too, and no number in them overflows. */
static void hardly_braking(void)
{
	check_test("limits that hardly brake");
	for (uint32_t a = 1; a < 40; a = 2 * a + 1) {
		for (uint16_t ramp = 1; ramp <= 1000; ramp = (uint16_t)(ramp * 10)) {
			for (unsigned at = 1; at < 30; at += 4) {
				uint8_t kind = 0;

				fake_make(2, 0, 1);
				fake_boot();
				fake_greet();
				fake_configure(500 * 256, 2500 * 256, a < 3 ? 1 : 31 * a, a, ramp, 0);
				fake_enable(MIDDLE);
				fake_begin(1, NO_SEEK);
				CHECK_EQUAL(fake_piece(0, 100, MIDDLE + 390, 0, true), CODE_ANSWERED);
				fake_go(1);
				ticks(at);
				CHECK_EQUAL(fake_ask(STOP, &kind, 1), CODE_OK);
				for (int i = 0; i < 13000 && core.state == BRAKING; i++) {
					ticks(1);
				}
				CHECK(core.state != BRAKING);
			}
		}
	}
}

void unit_test(void)
{
	hardly_braking();
	unfinished_block();
	unsaid_stop();
	watchdog_food();
	within_a_piece();
	closed_at_boot();
	pushed();
	bounce();
	overload();
	room();
}
