#include "vectors.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "fake.h"
#include "number.h"

void vectors_read(const char *folder, const char *file, void (*take)(const struct vector *v))
{
	static char line[1 << 16];
	char path[1024];
	struct vector v = {.file = file};
	unsigned taken = 0;

	check_test(file);
	(void)snprintf(path, sizeof path, "%s/%s", folder, file);

	FILE *f = fopen(path, "r");

	check_that(f != NULL, __FILE__, __LINE__, "%s can't be read", path);
	if (f == NULL) {
		return;
	}
	while (fgets(line, sizeof line, f) != NULL) {
		char *save = NULL, *end = strchr(line, '#');

		if (end != NULL) {
			*end = 0;
		}
		v.line++;
		v.n = 0;
		for (char *w = strtok_r(line, " \t\n", &save); w != NULL && v.n < VECTOR_WORDS;
		     w = strtok_r(NULL, " \t\n", &save)) {
			v.word[v.n++] = w;
		}
		if (v.n != 0) {
			check_about("%s:%d", file, v.line);
			take(&v);
			taken++;
		}
	}
	(void)fclose(f);
	CHECK(taken != 0);
}

unsigned vectors_hex(const char *word, uint8_t *bytes, uint8_t *mask)
{
	unsigned n = 0;

	if (strcmp(word, "-") == 0) {
		return 0;
	}
	for (; word[0] != 0 && word[1] != 0 && n < VECTOR_BYTES; word += 2) {
		char pair[3] = {word[0], word[1], 0};
		char *end;

		if (mask != NULL) {
			mask[n] = pair[0] == '?' ? 0 : 0xFF;
		}
		bytes[n++] = (uint8_t)strtoul(pair, &end, 16);
		CHECK(*end == 0 || (mask != NULL && pair[0] == '?'));
	}
	CHECK(word[0] == 0);
	return n;
}

long long vectors_number(const char *word)
{
	char *end;
	long long v = strtoll(word, &end, 10);

	CHECK(*word != 0 && *end == 0);
	return v;
}

unsigned vectors_type(const char *word)
{
	return (unsigned)strtoul(word, NULL, 16);
}

/* Decodes wire; what comes out of it has to be the body, or nothing. */
static void decode(const uint8_t *wire, unsigned n, const uint8_t *body, unsigned length)
{
	struct decoder d = {0};
	unsigned frames = 0;

	for (unsigned i = 0; i < n; i++) {
		if (decoder_take(&d, wire[i])) {
			frames++;
			CHECK_EQUAL(d.length + 2, length);
			CHECK(d.length + 2U == length && memcmp(d.body, body, d.length) == 0);
		}
	}
	CHECK_EQUAL(frames, length != 0 ? 1 : 0);
	CHECK(length != 0 || d.dropped != 0);
}

static void frame(const struct vector *v)
{
	uint8_t body[VECTOR_BYTES], wire[VECTOR_BYTES], coded[TAU_MAX_FRAME + 2];
	unsigned b, w;

	CHECK_EQUAL(v->n, 3);
	if (v->n != 3) {
		return;
	}
	w = vectors_hex(v->word[2], wire, NULL);
	if (strcmp(v->word[0], "drop") == 0) {
		decode(wire, w, NULL, 0);
		return;
	}
	b = vectors_hex(v->word[1], body, NULL);
	decode(wire, w, body, b);
	if (strcmp(v->word[0], "frame") == 0) {
		memcpy(coded + 1, body, b - 2);
		CHECK_EQUAL(frame_code(coded, (uint8_t)(b - 2)), w);
		CHECK(memcmp(coded, wire, w) == 0);
	} else {
		CHECK(strcmp(v->word[0], "noise") == 0);
	}
}

static uint8_t code_of(const char *name)
{
	return strcmp(name, "BAD_LENGTH") == 0 ? CODE_BAD_LENGTH : CODE_BAD_VALUE;
}

/* A message of the host: the core refuses what is bad, whatever state it is in, with its
 * code, and what is good with none of these two. */
static void message(const struct vector *v)
{
	uint8_t payload[VECTOR_BYTES];

	CHECK(v->n >= 3);
	if (v->n < 3) {
		return;
	}
	unsigned type = vectors_type(v->word[1]);
	unsigned n = vectors_hex(v->word[2], payload, NULL);
	bool good = strcmp(v->word[0], "good") == 0;

	if (type >= HELLO_REPLY || type == STOP || n > TAU_MAX_PAYLOAD) {
		return; /* the board's own are in the sessions; a STOP is never refused */
	}
	/* Everything that the wire can say is within this board's channels. */
	fake_make(0, 8, 8);
	for (unsigned i = 0; i < 8; i++) {
		fake.channels[i].lower = -MAX_Q;
		fake.channels[i].upper = MAX_Q;
		fake.channels[8 + i].upper = 0xFFFF;
	}
	if (type == ENABLE && n >= 2 && (n - 2) % 4 == 0 && n > 2 && n <= 2 + 4 * 8) {
		fake.board.joints = (uint8_t)((n - 2) / 4);
	}
	fake_boot();
	fake_greet();

	uint8_t code = fake_ask((uint8_t)type, payload, (uint8_t)n);

	if (good && type == CLEAR) {
		CHECK_EQUAL(code, CODE_BAD_VALUE); /* none is latched */
	} else if (good) {
		check_that(code != CODE_BAD_LENGTH && code != CODE_BAD_VALUE && code != CODE_UNKNOWN_TYPE,
			   __FILE__, __LINE__, "a good message is answered %d", code);
	} else {
		CHECK(v->n >= 4);
		CHECK_EQUAL(code, code_of(v->word[3]));
	}
}

static void piece(const struct vector *v)
{
	CHECK(v->n >= 6);
	if (v->n < 6) {
		return;
	}
	struct way *w = &core.joint[0].way;
	uint16_t ticks = (uint16_t)vectors_number(v->word[5]);

	fake_make(1, 0, 0);
	fake_boot();
	w->q0 = (int32_t)vectors_number(v->word[1]);
	w->v0 = (int32_t)vectors_number(v->word[2]);
	w->q1 = (int32_t)vectors_number(v->word[3]);
	w->v1 = (int32_t)vectors_number(v->word[4]);
	CHECK_EQUAL(v->n, 6 + ticks);
	piece_begin(ticks);
	for (int t = 0; t < ticks && 6 + t < v->n; t++) {
		piece_step();
		CHECK_EQUAL(piece_at(w), vectors_number(v->word[6 + t]));
	}
}

/* The brake whose joints are being read. */
static struct {
	unsigned joints, have;
	long long ra, c, rb;
	struct brake_joint b[TAU_MAX_JOINTS];
	int32_t q[TAU_MAX_JOINTS], ends[TAU_MAX_JOINTS][3], tolerance[TAU_MAX_JOINTS];
} plan;

static void near(long long got, long long want, long long tolerance, const char *what)
{
	check_that(got >= want - tolerance && got <= want + tolerance, __FILE__, __LINE__,
		   "%s is %lld, not %lld within %lld", what, got, want, tolerance);
}

static void plan_end(void)
{
	struct brake p = brake_plan(plan.b);

	near(p.ra, plan.ra, 1, "Ra");
	near(p.c, plan.c, 1, "C");
	near(p.rb, plan.rb, 1, "Rb");
	for (unsigned j = 0; j < plan.joints; j++) {
		int32_t end = plan.q[j] + brake_way(&p, &plan.b[j], &core.joint[j].limits);

		near(end, plan.ends[j][2], plan.tolerance[j], "the end");
	}
}

static void brake(const struct vector *v)
{
	if (strcmp(v->word[0], "brake") == 0) {
		CHECK_EQUAL(v->n, 5);
		if (v->n != 5) {
			return;
		}
		plan.joints = (unsigned)vectors_number(v->word[1]);
		plan.ra = vectors_number(v->word[2]);
		plan.c = vectors_number(v->word[3]);
		plan.rb = vectors_number(v->word[4]);
		plan.have = 0;
		fake_make((uint8_t)plan.joints, 0, 0);
		fake_boot();
		return;
	}
	CHECK_EQUAL(v->n, 10);
	CHECK(plan.have < plan.joints);
	if (v->n != 10 || plan.have >= plan.joints) {
		return;
	}
	unsigned j = plan.have++;
	struct limits *l = &core.joint[j].limits;

	plan.q[j] = (int32_t)vectors_number(v->word[1]);
	plan.b[j].v = (int32_t)vectors_number(v->word[2]);
	plan.b[j].a = (int32_t)vectors_number(v->word[3]);
	l->a = (int32_t)vectors_number(v->word[4]);
	l->ramp = (uint16_t)vectors_number(v->word[5]);
	l->v = MAX_V;
	brake_limits(l);
	for (int i = 0; i < 3; i++) {
		plan.ends[j][i] = (int32_t)vectors_number(v->word[6 + i]);
	}
	plan.tolerance[j] = (int32_t)vectors_number(v->word[9]);
	if (plan.have == plan.joints) {
		plan_end();
	}
}

void vectors_test(const char *folder)
{
	vectors_read(folder, "frames.txt", frame);
	vectors_read(folder, "messages.txt", message);
	vectors_read(folder, "pieces.txt", piece);
	vectors_read(folder, "brakes.txt", brake);
}
