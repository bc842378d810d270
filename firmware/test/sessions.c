/* Sessions of testdata/wire/sessions.txt, against the whole core. */
#include "vectors.h"

#include <string.h>

#include "check.h"
#include "fake.h"
#include "number.h"

static struct {
	uint8_t channels;
	bool joints_end;
} now;

static void left_over(void)
{
	const struct fake_frame *f = fake_take();

	if (f != NULL) {
		check_that(false, __FILE__, __LINE__, "a frame is left over: type %02x, %02x %02x %02x…", f->body[0],
			   f->body[2], f->body[3], f->body[4]);
	}
	fake.n = 0;
}

static void channel(const struct vector *v)
{
	struct tau_channel *c = &fake.channels[now.channels++];

	c->kind = (uint8_t)vectors_number(v->word[1]);
	c->feedback = (uint8_t)vectors_number(v->word[2]);
	c->sw = (uint8_t)vectors_number(v->word[3]);
	c->lower = (int32_t)vectors_number(v->word[4]);
	c->upper = (int32_t)vectors_number(v->word[5]);
	if (c->kind < TAU_SWITCHED) {
		fake.board.joints++;
	} else {
		fake.board.outputs++;
	}
	if (c->sw != TAU_NO_SWITCH && c->sw >= fake.board.inputs) {
		fake.board.inputs = (uint8_t)(c->sw + 1);
	}
}

static void boot(const struct vector *v)
{
	fake.board.boot = (uint32_t)vectors_number(v->word[1]);
	fake.board.firmware = (uint16_t)vectors_number(v->word[2]);
	fake.board.status_ms = (uint8_t)vectors_number(v->word[3]);
	fake_boot();
}

static void host(const struct vector *v)
{
	uint8_t payload[VECTOR_BYTES];
	unsigned n = vectors_hex(v->word[3], payload, NULL);

	fake_send((uint8_t)vectors_type(v->word[1]), (uint8_t)vectors_type(v->word[2]), payload, (uint8_t)n);
}

static void raw(const struct vector *v)
{
	uint8_t bytes[VECTOR_BYTES];
	unsigned n = vectors_hex(v->word[1], bytes, NULL);

	for (unsigned i = 0; i < n; i++) {
		tau_receive(bytes[i]);
	}
}

static void flood(const struct vector *v)
{
	uint8_t payload[VECTOR_BYTES];
	unsigned n = vectors_hex(v->word[4], payload, NULL);
	uint8_t seq = (uint8_t)vectors_type(v->word[3]);

	for (long long i = vectors_number(v->word[1]); i > 0; i--) {
		fake_send((uint8_t)vectors_type(v->word[2]), seq++, payload, (uint8_t)n);
		fake.n = 0;
	}
}

static void board(const struct vector *v)
{
	uint8_t want[VECTOR_BYTES], mask[VECTOR_BYTES];
	unsigned n = vectors_hex(v->word[2], want, mask);
	const struct fake_frame *f = fake_take();

	CHECK(f != NULL);
	if (f == NULL) {
		return;
	}
	CHECK_EQUAL(f->body[0], vectors_type(v->word[1]));
	CHECK_EQUAL(f->length - 2, n);
	for (unsigned i = 0; i < n && i + 2 < f->length; i++) {
		check_that(((f->body[2 + i] ^ want[i]) & mask[i]) == 0, __FILE__, __LINE__,
			   "byte %u is %02x, not %02x", i, f->body[2 + i], want[i]);
	}
}

static void tick(const struct vector *v)
{
	for (long long i = vectors_number(v->word[1]); i > 0; i--) {
		tau_tick();
	}
}

static void until(const struct vector *v)
{
	long long state = vectors_number(v->word[1]), n = vectors_number(v->word[2]);
	uint32_t seen = fake.statuses;

	while (n-- > 0 && (fake.statuses == seen || fake.status[4] != state)) {
		tau_tick();
	}
	CHECK_EQUAL(fake.status[4], state);
}

static void status(const struct vector *v)
{
	for (int i = 0; i < 4; i++) {
		check_that(fake.status[4 + i] == vectors_number(v->word[1 + i]), __FILE__, __LINE__,
			   "state, flags, fault, channel: number %d is %d, not %s", i + 1, fake.status[4 + i], v->word[1 + i]);
	}
}

static void motion(const struct vector *v)
{
	CHECK_EQUAL(get_u16(fake.status + 10), vectors_number(v->word[1]));
	CHECK_EQUAL(get_u32(fake.status + 12), vectors_number(v->word[2]));
	CHECK_EQUAL(fake.status[18], vectors_number(v->word[3]));
}

static void near(int32_t got, long long want, long long tolerance)
{
	check_that(got >= want - tolerance && got <= want + tolerance, __FILE__, __LINE__,
		   "%ld isn't %lld within %lld", (long)got, want, tolerance);
}

static void line(const struct vector *v)
{
	const char *word = v->word[0];

	if (strcmp(word, "<") == 0) {
		board(v);
		return;
	}
	left_over();
	if (strcmp(word, "session") == 0) {
		memset(&fake, 0, sizeof fake);
		memset(&now, 0, sizeof now);
	} else if (strcmp(word, "channel") == 0) {
		channel(v);
	} else if (strcmp(word, "boot") == 0) {
		boot(v);
	} else if (strcmp(word, ">") == 0) {
		host(v);
	} else if (strcmp(word, "raw") == 0) {
		raw(v);
	} else if (strcmp(word, "flood") == 0) {
		flood(v);
	} else if (strcmp(word, "tick") == 0) {
		tick(v);
	} else if (strcmp(word, "until") == 0) {
		until(v);
	} else if (strcmp(word, "estop") == 0) {
		fake.estop = vectors_number(v->word[1]) != 0;
	} else if (strcmp(word, "switches") == 0) {
		fake.switches = (uint8_t)vectors_number(v->word[1]);
	} else if (strcmp(word, "status") == 0) {
		status(v);
	} else if (strcmp(word, "motion") == 0) {
		motion(v);
	} else if (strcmp(word, "stops") == 0) {
		CHECK_EQUAL(get_u16(fake.status + 8), vectors_number(v->word[1]));
	} else if (strcmp(word, "setpoint") == 0) {
		near(fake.told[vectors_number(v->word[1])], vectors_number(v->word[2]), vectors_number(v->word[3]));
	} else if (strcmp(word, "range") == 0) {
		long long j = vectors_number(v->word[1]);

		CHECK(fake.least[j] >= vectors_number(v->word[2]));
		CHECK(fake.most[j] <= vectors_number(v->word[3]));
	} else if (strcmp(word, "place") == 0) {
		near(get_i32(fake.status + 20 + 4 * vectors_number(v->word[1])), vectors_number(v->word[2]),
		     vectors_number(v->word[3]));
	} else if (strcmp(word, "power") == 0) {
		CHECK_EQUAL(fake.power, vectors_number(v->word[1]));
	} else if (strcmp(word, "output") == 0) {
		CHECK_EQUAL(fake.output[vectors_number(v->word[1])], vectors_number(v->word[2]));
	} else {
		check_that(false, __FILE__, __LINE__, "no such line: %s", word);
	}
}

void sessions_test(const char *folder)
{
	memset(&fake, 0, sizeof fake);
	vectors_read(folder, "sessions.txt", line);
	left_over();
}
