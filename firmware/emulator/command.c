/* The words on stdin (docs/HIL.md). */
#include "bench.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "trace.h"

enum { WORDS = 4 };

/* A whole decimal number within bounds. */
static bool number(const char *s, long least, long most, long *v)
{
	char *end;
	if (s == NULL)
		return false;
	errno = 0;
	*v = strtol(s, &end, 10);
	return errno == 0 && end != s && *end == 0 && *v >= least && *v <= most;
}

static bool on_off(const char *s, bool *v)
{
	if (s == NULL)
		return false;
	*v = strcmp(s, "on") == 0;
	return *v || strcmp(s, "off") == 0;
}

static void cycles(struct bench *b)
{
	for (int i = 1; i < BENCH_SPANS; i++) {
		const struct span *s = &b->span[i];
		if (s->count != 0)
			trace(bench_now(b), "span %d count %" PRIu64 " least %" PRIu32 " mean %" PRIu64 " most %" PRIu32,
			      i, s->count, s->least, s->sum / s->count, s->most);
	}
	trace(bench_now(b), "counts total %" PRIu64 " asleep %" PRIu64 " free_ram %u received %" PRIu64 " sent %" PRIu64
	      " overruns %" PRIu64 " dropped %" PRIu64 " late_ns %" PRIu64 " slipped_ns %" PRIu64,
	      b->avr->cycle, b->asleep, chip_free_ram(b), b->received, b->sent,
	      b->overruns, b->cable.dropped, b->late_most, b->slipped);
}

/* Commands about one joint. Returns what is wrong. */
static const char *joint(struct bench *b, char *const w[])
{
	long j, v;
	bool on;
	if (!number(w[1], 0, b->wiring->joints - 1, &j))
		return "no such joint";
	struct plant_servo *s = &b->plant.servo[j];
	struct plant_axis *a = &b->plant.axis[j];
	if (strcmp(w[0], "raw") == 0) {
		if (!number(w[2], 0, PLANT_RAW_MAX, &v))
			return "raw J V wants V from 0 to 1023";
		s->fixed = true;
		s->raw = (uint16_t)v;
		return NULL;
	}
	if (strcmp(w[0], "hand") == 0) {
		if (!number(w[2], -1000000000, 1000000000, &v))
			return "hand J P wants P in steps or µs";
		s->at = (double)v;
		a->at = (int32_t)v;
		return NULL;
	}
	if (!on_off(w[2], &on))
		return "on or off is wanted";
	if (strcmp(w[0], "feedback") == 0) {
		s->fixed = false;
		s->wire = on;
	} else {
		s->stalled = a->stalled = on;
	}
	return NULL;
}

static const char *input(struct bench *b, char *const w[])
{
	long n;
	bool on;
	if (strcmp(w[0], "button") == 0) {
		if (!on_off(w[1], &on))
			return "button wants on or off";
		if (on != b->plant.button)
			trace(bench_now(b), "button %d", on);
		b->plant.button = on;
	} else {
		if (!number(w[1], 0, b->wiring->switches - 1, &n))
			return "no such switch";
		struct plant_switch *s = &b->plant.sw[n];
		if (w[2] != NULL && strcmp(w[2], "auto") == 0)
			s->hand = SWITCH_AUTO;
		else if (on_off(w[2], &on))
			s->hand = on ? SWITCH_CLOSED : SWITCH_OPEN;
		else
			return "switch N wants on, off or auto";
	}
	pins_inputs(b, false);
	return NULL;
}

static const char *cable(struct bench *b, const char *word)
{
	if (b->stepped)
		return "there is no cable with --speed step";
	if (strcmp(word, "unplug") == 0) {
		cable_unplug(&b->cable);
		uart_drop(b);
		trace(bench_now(b), "unplugged");
		return NULL;
	}
	const char *why = cable_plug(&b->cable);
	if (why == NULL)
		trace(bench_now(b), "pty %s", b->cable.path);
	return why;
}

/* i2c on|off: the wires to the PCA9685. Without them it has no power either. */
static const char *i2c(struct bench *b, char *const w[])
{
	bool on;
	if (b->wiring->pca9685 == 0)
		return "nothing hangs on the I2C bus";
	if (w[1] == NULL || !on_off(w[1], &on))
		return "on or off";
	b->pca9685.away = !on;
	if (!on)
		pca9685_power_up(&b->pca9685);
	return NULL;
}

/* Commands about the chip's clock. */
static const char *clock_word(struct bench *b, const char *word)
{
	if (strcmp(word, "freeze") == 0)
		b->frozen = true;
	else if (strcmp(word, "thaw") == 0)
		b->frozen = false;
	else
		b->hung = true;
	return NULL;
}

/* rx HEX and step N: a line without a terminal, and time that passes on command. */
static const char *rx(struct bench *b, const char *hex)
{
	static const char digits[] = "0123456789abcdef";
	size_t n = hex == NULL ? 0 : strlen(hex);
	if (!b->stepped || n == 0 || n % 2 != 0 || n / 2 > sizeof b->line - b->line_n)
		return "rx HEX wants bytes that fit, and --speed step";
	if (strspn(hex, digits) != n)
		return "rx wants hexadecimal digits, small ones";
	for (size_t i = 0; i < n; i += 2) {
		long high = strchr(digits, hex[i]) - digits, low = strchr(digits, hex[i + 1]) - digits;
		b->line[b->line_n++] = (uint8_t)(high << 4 | low);
	}
	return NULL;
}

static const char *step(struct bench *b, const char *ms)
{
	long n;
	if (!b->stepped || !number(ms, 1, 1000, &n))
		return "step N wants 1 to 1000 ms, and --speed step";
	bench_step(b, (unsigned)n);
	return NULL;
}

/* lease MS: by whoever runs the bench, again and again, to stand still when he does. It
 * has no answer, which would be most of the trace. */
static const char *lease(struct bench *b, const char *ms)
{
	long n;
	if (!number(ms, 1, BENCH_LEASE_MS, &n))
		return "lease MS wants 1 to 1000";
	b->leased = bench_now(b) + (uint64_t)n * 1000000;
	return NULL;
}

static bool one_of(const char *word, const char *const *list)
{
	for (; *list != NULL; list++)
		if (strcmp(word, *list) == 0)
			return true;
	return false;
}

/* at T COMMAND: keeps it in order of time, after those of the same time. */
static const char *put_off(struct bench *b, const char *rest)
{
	char *end;
	errno = 0;
	unsigned long long ms = strtoull(rest, &end, 10);
	if (errno != 0 || end == rest || *end != ' ' || ms > 1000000000)
		return "at T COMMAND wants T in ms";
	while (*end == ' ')
		end++;
	if (strncmp(end, "at ", 3) == 0 || *end == 0)
		return "at T COMMAND wants a command";
	if (b->later_n == BENCH_LATER)
		return "too many commands are put off";
	unsigned i = b->later_n++;
	uint64_t ns = ms * 1000000;
	for (; i > 0 && b->later[i - 1].ns > ns; i--)
		b->later[i] = b->later[i - 1];
	b->later[i].ns = ns;
	(void)snprintf(b->later[i].command, sizeof b->later[i].command, "%s", end);
	return NULL;
}

static void execute(struct bench *b, const char *line, bool late)
{
	static const char *const joints[] = { "raw", "feedback", "stall", "hand", NULL };
	static const char *const inputs[] = { "button", "switch", NULL };
	static const char *const cables[] = { "plug", "unplug", NULL };
	static const char *const clocks[] = { "freeze", "thaw", "hang", NULL };
	static const char *const resets[] = { "reset", "brownout", NULL };
	char copy[BENCH_COMMAND], *w[WORDS + 1] = { NULL }, *save = NULL;
	(void)snprintf(copy, sizeof copy, "%s", line);
	int n = 0;
	for (char *t = strtok_r(copy, " \t\r", &save); t != NULL && n < WORDS; t = strtok_r(NULL, " \t\r", &save))
		w[n++] = t;
	if (n == 0)
		return;
	const char *why = NULL;
	if (strcmp(w[0], "at") == 0)
		why = put_off(b, line + strspn(line, " \t") + 2);
	else if (strcmp(w[0], "cycles") == 0)
		cycles(b);
	else if (strcmp(w[0], "note") == 0)
		why = NULL;
	else if (strcmp(w[0], "lease") == 0)
		why = lease(b, w[1]);
	else if (strcmp(w[0], "rx") == 0)
		why = rx(b, w[1]);
	else if (strcmp(w[0], "step") == 0)
		why = late ? "time passes by itself then" : step(b, w[1]);
	else if (strcmp(w[0], "quit") == 0)
		b->ended = "quit";
	else if (one_of(w[0], joints))
		why = joint(b, w);
	else if (one_of(w[0], inputs))
		why = input(b, w);
	else if (one_of(w[0], cables))
		why = cable(b, w[0]);
	else if (strcmp(w[0], "i2c") == 0)
		why = i2c(b, w);
	else if (one_of(w[0], clocks))
		why = clock_word(b, w[0]);
	else if (one_of(w[0], resets))
		chip_reset(b, strcmp(w[0], "reset") == 0 ? "reset" : "brownout");
	else
		why = "no such command";
	if (why == NULL && strcmp(w[0], "lease") == 0)
		return;
	if (why != NULL)
		trace(bench_now(b), "%s %s", late ? "failed" : "error", why);
	else
		trace(bench_now(b), "%s %s", late ? "did" : "ok", w[0]);
}

void command_look(struct bench *b)
{
	struct pollfd p = { .fd = STDIN_FILENO, .events = POLLIN };
	int wait = b->stepped ? -1 : 0;
	while (b->ended == NULL && poll(&p, 1, wait) > 0) {
		wait = 0;
		ssize_t n = read(STDIN_FILENO, b->input + b->input_n, sizeof b->input - b->input_n);
		if (n < 0 && (errno == EINTR || errno == EAGAIN))
			return;
		if (n <= 0) {
			b->ended = "stdin ended";
			return;
		}
		b->input_n += (unsigned)n;
		char *line = b->input, *end;
		while (b->ended == NULL && (end = memchr(line, '\n', (size_t)(b->input + b->input_n - line))) != NULL) {
			*end = 0;
			execute(b, line, false);
			line = end + 1;
		}
		b->input_n = (unsigned)(b->input + b->input_n - line);
		memmove(b->input, line, b->input_n);
		if (b->input_n == sizeof b->input) {
			b->input_n = 0;
			trace(bench_now(b), "error a line longer than 512 bytes");
		}
	}
}

uint64_t command_next(const struct bench *b)
{
	return b->later_n == 0 ? UINT64_MAX : b->later[0].ns;
}

void command_due(struct bench *b)
{
	while (b->ended == NULL && command_next(b) <= bench_now(b)) {
		struct later l = b->later[0];
		b->later_n--;
		memmove(b->later, b->later + 1, b->later_n * sizeof b->later[0]);
		execute(b, l.command, true);
	}
}
