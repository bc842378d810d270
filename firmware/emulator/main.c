/* tau-emulator: our firmware's machine code in an emulated ATmega328P, its serial
 * line on a pseudo-terminal, its pins as a trace (docs/HIL.md). */
#include "bench.h"

#include <errno.h>
#include <getopt.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "trace.h"

enum {
	SLICE_NS = 500000,    /* between two looks at the cable and at stdin */
	MS_NS = 1000000,
	LATE_NS = 5000000,    /* said from here on */
	GIVE_UP_NS = 20000000 /* not caught up from here on */
};

static uint64_t wall(void)
{
	struct timespec t;
	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Asks the kernel to let this process run soon after it wakes: it computes little, and a
 * late bench is a board whose clock stands still. The slice (Linux 6.12) needs no
 * privilege; a kernel that doesn't know it goes on as before. */
static void wake_soon(void)
{
	struct {
		uint32_t size, policy;
		uint64_t flags;
		int32_t nice;
		uint32_t priority;
		uint64_t slice_ns, deadline, period;
	} a = { .size = sizeof a, .nice = getpriority(PRIO_PROCESS, 0), .slice_ns = 100000 };
	(void)prctl(PR_SET_TIMERSLACK, 1000UL);
	(void)syscall(SYS_sched_setattr, 0, &a, 0);
}

/* Waits until the wall's clock is where the bench's is, or says how late it is. */
static void pace(struct bench *b)
{
	uint64_t due = b->wall0 + bench_now(b), now = wall();
	if (now <= due) {
		struct timespec t = { .tv_sec = (time_t)(due / 1000000000u), .tv_nsec = (long)(due % 1000000000u) };
		while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR)
			;
		return;
	}
	uint64_t late = now - due;
	if (late > b->late_most)
		b->late_most = late;
	if (late > LATE_NS && late > 2 * b->late_shown) {
		b->late_shown = late;
		trace(bench_now(b), "late %llu", (unsigned long long)late);
	}
	if (late > GIVE_UP_NS) {
		b->wall0 += late;
		b->slipped += late;
		trace(bench_now(b), "slip %llu", (unsigned long long)late);
	}
}

/* Waits for the next lease. What passes meanwhile shows as lateness. */
static void stand(struct bench *b)
{
	struct pollfd p = { .fd = STDIN_FILENO, .events = POLLIN };
	if (trace_flush() != 0)
		b->ended = "nobody reads the trace";
	(void)poll(&p, 1, -1);
}

/* Lets the chip run for a slice, or until a command is due. */
static void pass(struct bench *b)
{
	uart_pump(b);
	b->slice += SLICE_NS;
	chip_run(b, command_next(b) < b->slice ? command_next(b) : b->slice);
	while (b->ms < bench_now(b) / MS_NS) {
		b->ms++;
		pins_pass(b);
		uart_refresh(b);
	}
	cable_flush(&b->cable);
}

void bench_step(struct bench *b, unsigned ms)
{
	b->until += (uint64_t)ms * MS_NS;
	while (b->ended == NULL && bench_now(b) < b->until) {
		command_due(b);
		pass(b);
	}
}

static void run(struct bench *b)
{
	b->slice = b->until = bench_now(b);
	b->ms = b->slice / MS_NS;
	b->wall0 = wall() - b->slice;
	b->leased = UINT64_MAX;
	while (b->ended == NULL) {
		command_look(b);
		if (!b->stepped) {
			command_due(b);
			if (b->real && bench_now(b) >= b->leased) {
				stand(b);
				continue;
			}
			pass(b);
		}
		if (trace_flush() != 0)
			b->ended = "nobody reads the trace";
		if (b->real)
			pace(b);
	}
}

/* --switch J:POS:DIR, where switch J is joint J's. */
static bool add_switch(struct bench *b, const char *arg)
{
	int joint, position, side, used = 0;
	if (sscanf(arg, "%d:%d:%d%n", &joint, &position, &side, &used) != 3 || arg[used] != 0 ||
	    joint < 0 || joint >= b->wiring->joints || joint >= b->wiring->switches || (side != 1 && side != -1))
		return false;
	bool servo = wiring_has(b->wiring, ROLE_SERVO, (uint8_t)joint);
	b->plant.sw[joint] = (struct plant_switch){ true, servo, position, (int8_t)side, SWITCH_AUTO };
	return true;
}

static int bad(const char *what, const char *arg)
{
	(void)fprintf(stderr, "tau-emulator: %s %s\n"
		"usage: tau-emulator --hex FILE --map NAME [--speed real|free|step] [--link PATH] [--edges] [--bytes] [--switch J:POS:DIR]...\n",
		what, arg == NULL ? "" : arg);
	return 2;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "hex", required_argument, NULL, 'h' }, { "map", required_argument, NULL, 'm' },
		{ "speed", required_argument, NULL, 's' }, { "link", required_argument, NULL, 'l' },
		{ "edges", no_argument, NULL, 'e' }, { "bytes", no_argument, NULL, 'b' },
		{ "switch", required_argument, NULL, 'w' }, { NULL, 0, NULL, 0 }
	};
	static struct bench b;
	const char *hex = NULL, *map = NULL, *speed = "real", *link = NULL, *switches[PLANT_SWITCHES];
	unsigned n = 0;
	for (int c; (c = getopt_long(argc, argv, "", options, NULL)) != -1;) {
		switch (c) {
		case 'h': hex = optarg; break;
		case 'm': map = optarg; break;
		case 's': speed = optarg; break;
		case 'l': link = optarg; break;
		case 'e': b.edges = true; break;
		case 'b': b.bytes = true; break;
		case 'w':
			if (n == PLANT_SWITCHES)
				return bad("too many switches:", optarg);
			switches[n++] = optarg;
			break;
		default: return bad("an unknown option", NULL);
		}
	}
	if (optind != argc || hex == NULL || map == NULL)
		return bad("--hex and --map are wanted", NULL);
	b.wiring = wiring_of(map);
	if (b.wiring == NULL)
		return bad("no such map:", map);
	b.real = strcmp(speed, "real") == 0;
	b.stepped = strcmp(speed, "step") == 0;
	b.bytes = b.bytes || b.stepped;
	if (!b.real && !b.stepped && strcmp(speed, "free") != 0)
		return bad("--speed is real, free or step, not", speed);
	plant_begin(&b.plant);
	for (unsigned i = 0; i < n; i++)
		if (!add_switch(&b, switches[i]))
			return bad("no switch of this map:", switches[i]);
	(void)signal(SIGPIPE, SIG_IGN);
	wake_soon();
	if (!trace_begin())
		return bad("stdout:", strerror(errno));
	cable_begin(&b.cable, link);
	const char *why = chip_begin(&b, hex);
	if (why == NULL && b.wiring->pca9685 != 0)
		pca9685_begin(&b.pca9685, &b, b.wiring->pca9685);
	if (why == NULL && !b.stepped)
		why = cable_plug(&b.cable);
	if (why != NULL)
		return bad(why, NULL);
	if (!b.stepped)
		trace(bench_now(&b), "pty %s", b.cable.path);
	run(&b);
	cable_unplug(&b.cable);
	trace(bench_now(&b), "end %s", b.ended);
	(void)trace_flush();
	return strcmp(b.ended, "quit") == 0 || strcmp(b.ended, "stdin ended") == 0 ? 0 : 1;
}
