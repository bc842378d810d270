/* The words on stdin (docs/HIL.md). */
#include "host.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "trace.h"

enum { WORDS = 4 };

static bool number(const char *s, long least, long most, long *v)
{
	char *end;

	if (s == NULL) {
		return false;
	}
	errno = 0;
	*v = strtol(s, &end, 10);
	return errno == 0 && end != s && *end == 0 && *v >= least && *v <= most;
}

static bool on_off(const char *s, bool *v)
{
	*v = s != NULL && strcmp(s, "on") == 0;
	return *v || (s != NULL && strcmp(s, "off") == 0);
}

static const char *button(struct host *h, char *const w[])
{
	bool on;

	if (!on_off(w[1], &on)) {
		return "button wants on or off";
	}
	if (on != h->plant.button) {
		trace(h->ns, "button %d", on);
	}
	h->plant.button = on;
	return NULL;
}

static const char *set_switch(struct host *h, char *const w[])
{
	long n;
	bool on;

	if (!number(w[1], 0, h->board.inputs - 1, &n) || h->channels[n].sw == TAU_NO_SWITCH) {
		return "no such switch";
	}
	struct plant_switch *s = &h->plant.sw[n];

	if (w[2] != NULL && strcmp(w[2], "auto") == 0) {
		s->hand = SWITCH_AUTO;
	} else if (on_off(w[2], &on)) {
		s->hand = on ? SWITCH_CLOSED : SWITCH_OPEN;
	} else {
		return "switch N wants on, off or auto";
	}
	return NULL;
}

/* raw, feedback, stall, hand: about one joint. */
static const char *joint(struct host *h, char *const w[])
{
	long j, v;
	bool on;

	if (!number(w[1], 0, h->board.joints - 1, &j)) {
		return "no such joint";
	}
	struct plant_servo *s = &h->plant.servo[j];
	struct plant_axis *a = &h->plant.axis[j];

	if (strcmp(w[0], "raw") == 0) {
		if (!number(w[2], 0, PLANT_RAW_MAX, &v)) {
			return "raw J V wants V from 0 to 1023";
		}
		s->fixed = true;
		s->raw = (uint16_t)v;
		return NULL;
	}
	if (strcmp(w[0], "hand") == 0) {
		if (!number(w[2], -1000000000, 1000000000, &v)) {
			return "hand J P wants P in steps or µs";
		}
		s->at = (double)v;
		a->at = (int32_t)v;
		return NULL;
	}
	if (!on_off(w[2], &on)) {
		return "on or off is wanted";
	}
	if (strcmp(w[0], "feedback") == 0) {
		s->fixed = false;
		s->wire = on;
	} else {
		s->stalled = on;
		a->stalled = on;
	}
	return NULL;
}

static const char *cable(struct host *h, char *const w[])
{
	if (strcmp(w[0], "unplug") == 0) {
		cable_unplug(&h->cable);
		trace(h->ns, "unplugged");
		return NULL;
	}
	const char *why = cable_plug(&h->cable);

	if (why == NULL) {
		trace(h->ns, "pty %s", h->cable.path);
	}
	return why;
}

static const char *clock_word(struct host *h, char *const w[])
{
	if (strcmp(w[0], "hang") == 0) {
		h->hung = true;
		h->hung_ns = h->ns;
	} else {
		h->frozen = strcmp(w[0], "freeze") == 0;
	}
	return NULL;
}

static const char *reset(struct host *h, char *const w[])
{
	board_boot(h, w[0]);
	return NULL;
}

static const char *cycles(struct host *h, char *const w[])
{
	(void)w;
	trace(h->ns, "counts received %llu sent %llu dropped %llu late_ns %llu slipped_ns %llu",
	      (unsigned long long)h->received, (unsigned long long)h->sent,
	      (unsigned long long)h->cable.dropped, (unsigned long long)h->late_most,
	      (unsigned long long)h->slipped);
	return NULL;
}

/* rx HEX and step N: a line without a terminal, and time that passes on command. */
static const char *rx(struct host *h, char *const w[])
{
	size_t n = w[1] == NULL ? 0 : strlen(w[1]);

	if (!h->stepped || n == 0 || n % 2 != 0 || n / 2 > sizeof h->rx - h->rx_n) {
		return "rx HEX wants bytes that fit, and --speed step";
	}
	for (size_t i = 0; i < n; i += 2) {
		const char byte[3] = {w[1][i], w[1][i + 1], 0};
		char *end;
		unsigned long v = strtoul(byte, &end, 16);

		if (end != byte + 2) {
			return "rx wants hexadecimal digits";
		}
		h->rx[h->rx_n + i / 2] = (uint8_t)v;
	}
	h->rx_n += (unsigned)(n / 2);
	return NULL;
}

static const char *step(struct host *h, char *const w[])
{
	long n;

	if (!h->stepped || !number(w[1], 1, 1000, &n)) {
		return "step N wants 1 to 1000 ms, and --speed step";
	}
	while (n-- > 0 && h->ended == NULL) {
		command_due(h);
		board_pass(h);
	}
	return NULL;
}

/* lease MS: by whoever runs the bench, again and again, to stand still when he does. It
 * has no answer, which would be most of the trace. */
static const char *lease(struct host *h, char *const w[])
{
	long n;

	if (!number(w[1], 1, 1000, &n)) {
		return "lease MS wants 1 to 1000";
	}
	h->leased = h->ns + (uint64_t)n * HOST_MS;
	return NULL;
}

static const char *quit(struct host *h, char *const w[])
{
	(void)w;
	h->ended = "quit";
	return NULL;
}

static const char *note(struct host *h, char *const w[])
{
	(void)h;
	(void)w;
	return NULL;
}

/* at T COMMAND: keeps it in order of time, after those of the same time. */
static const char *put_off(struct host *h, const char *rest)
{
	char *end;
	unsigned long long ms;
	unsigned i;

	errno = 0;
	ms = strtoull(rest, &end, 10);
	if (errno != 0 || end == rest || *end != ' ' || ms > 1000000000) {
		return "at T COMMAND wants T in ms";
	}
	end += strspn(end, " ");
	if (strncmp(end, "at ", 3) == 0 || *end == 0 || strlen(end) >= HOST_COMMAND) {
		return "at T COMMAND wants a command";
	}
	if (h->later_n == HOST_LATER) {
		return "too many commands are put off";
	}
	for (i = h->later_n++; i > 0 && h->later[i - 1].ns > ms * HOST_MS; i--) {
		h->later[i] = h->later[i - 1];
	}
	h->later[i].ns = ms * HOST_MS;
	(void)snprintf(h->later[i].command, HOST_COMMAND, "%s", end);
	return NULL;
}

static const struct {
	const char *word;
	const char *(*run)(struct host *h, char *const w[]);
} words[] = {
	{"button", button},  {"switch", set_switch}, {"raw", joint},        {"feedback", joint},
	{"stall", joint},    {"hand", joint},        {"plug", cable},       {"unplug", cable},
	{"freeze", clock_word}, {"thaw", clock_word}, {"hang", clock_word}, {"reset", reset},
	{"brownout", reset}, {"cycles", cycles},     {"quit", quit},        {"note", note},
	{"rx", rx},          {"step", step},         {"lease", lease},
};

static void execute(struct host *h, const char *line, bool late)
{
	char copy[HOST_COMMAND], *w[WORDS + 1] = {NULL}, *save = NULL;
	const char *why = "no such command";
	int n = 0;

	(void)snprintf(copy, sizeof copy, "%s", line);
	for (char *t = strtok_r(copy, " \t\r", &save); t != NULL && n < WORDS; t = strtok_r(NULL, " \t\r", &save)) {
		w[n++] = t;
	}
	if (n == 0) {
		return;
	}
	if (strcmp(w[0], "at") == 0) {
		why = put_off(h, line + strspn(line, " \t") + 2);
	}
	for (unsigned i = 0; i < sizeof words / sizeof words[0]; i++) {
		if (strcmp(w[0], words[i].word) == 0) {
			why = words[i].run(h, w);
		}
	}
	if (why == NULL && strcmp(w[0], "lease") == 0) {
		return;
	}
	if (why != NULL) {
		trace(h->ns, "%s %s", late ? "failed" : "error", why);
	} else {
		trace(h->ns, "%s %s", late ? "did" : "ok", w[0]);
	}
}

void command_look(struct host *h)
{
	struct pollfd p = {.fd = STDIN_FILENO, .events = POLLIN};

	int wait = h->stepped ? -1 : 0;

	while (h->ended == NULL && poll(&p, 1, wait) > 0) {
		wait = 0;
		ssize_t n = read(STDIN_FILENO, h->input + h->input_n, sizeof h->input - h->input_n);
		char *line = h->input, *end;

		if (n < 0 && (errno == EINTR || errno == EAGAIN)) {
			return;
		}
		if (n <= 0) {
			h->ended = "stdin ended";
			return;
		}
		h->input_n += (unsigned)n;
		while (h->ended == NULL && (end = memchr(line, '\n', (size_t)(h->input + h->input_n - line))) != NULL) {
			*end = 0;
			execute(h, line, false);
			line = end + 1;
		}
		h->input_n = (unsigned)(h->input + h->input_n - line);
		memmove(h->input, line, h->input_n);
		if (h->input_n == sizeof h->input) {
			h->input_n = 0;
			trace(h->ns, "error a line longer than 512 bytes");
		}
	}
}

void command_due(struct host *h)
{
	while (h->ended == NULL && h->later_n != 0 && h->later[0].ns <= h->ns) {
		struct later l = h->later[0];

		h->later_n--;
		memmove(h->later, h->later + 1, h->later_n * sizeof h->later[0]);
		execute(h, l.command, true);
	}
}
