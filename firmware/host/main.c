/* tau-host: the firmware's core on this machine (host.h, docs/HIL.md). */
#include "host.h"

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
	LATE_NS = 5000000,    /* said from here on */
	GIVE_UP_NS = 20000000 /* not caught up from here on */
};

static uint64_t wall(clockid_t clock)
{
	struct timespec t;

	(void)clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* Asks the kernel to let this process run soon after it wakes, as the emulator does: a late
 * bench is a board whose clock stands still. A kernel before Linux 6.12 doesn't know the
 * slice, and goes on as before. */
static void wake_soon(void)
{
	struct {
		uint32_t size, policy;
		uint64_t flags;
		int32_t nice;
		uint32_t priority;
		uint64_t slice_ns, deadline, period;
	} a = {.size = sizeof a, .nice = getpriority(PRIO_PROCESS, 0), .slice_ns = 100000};

	(void)prctl(PR_SET_TIMERSLACK, 1000UL);
	(void)syscall(SYS_sched_setattr, 0, &a, 0);
}

/* Waits until the wall's clock is where the bench's is. A bench that is late passes its
 * ticks without waiting; one that is much too late lets its clock stand still for it. */
static void pace(struct host *h)
{
	uint64_t due = h->wall0 + h->ns, now = wall(CLOCK_MONOTONIC);

	if (now <= due) {
		struct timespec t = {.tv_sec = (time_t)(due / 1000000000), .tv_nsec = (long)(due % 1000000000)};

		while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR) {
		}
		return;
	}
	uint64_t late = now - due;

	if (late > h->late_most) {
		h->late_most = late;
	}
	if (late > LATE_NS && late > 2 * h->late_shown) {
		h->late_shown = late;
		trace(h->ns, "late %llu", (unsigned long long)late);
	}
	if (late > GIVE_UP_NS) {
		h->wall0 += late;
		h->slipped += late;
		trace(h->ns, "slip %llu", (unsigned long long)late);
	}
}

static int bad(const char *what, const char *arg)
{
	(void)fprintf(stderr, "tau-host: %s %s\n"
		"usage: tau-host --map servo2|servo8|stepper3 | --joints servo:N|stepper:N\n"
		"       [--feedback adc] [--switch J:POS:DIR]... [--boot N] [--baud N]\n"
		"       [--speed real|free|step] [--link PATH] [--edges] [--bytes]\n",
		what, arg == NULL ? "" : arg);
	return 2;
}

/* --joints servo:N or stepper:N. */
static bool joints_of(const char *arg, bool *steppers, int *n)
{
	char kind[8];
	int used = 0;

	if (sscanf(arg, "%7[a-z]:%d%n", kind, n, &used) != 2 || arg[used] != 0 || *n < 1 || *n > PLANT_JOINTS) {
		return false;
	}
	*steppers = strcmp(kind, "stepper") == 0;
	return *steppers || strcmp(kind, "servo") == 0;
}

/* --switch J:POS:DIR: switch J is joint J's. */
static bool add_switch(struct host *h, const char *arg, bool steppers, int joints)
{
	int joint, position, side, used = 0;

	if (sscanf(arg, "%d:%d:%d%n", &joint, &position, &side, &used) != 3 || arg[used] != 0 ||
	    joint < 0 || joint >= joints || (side != 1 && side != -1)) {
		return false;
	}
	h->plant.sw[joint] = (struct plant_switch){true, !steppers, position, (int8_t)side, SWITCH_AUTO};
	return true;
}

static bool positive(const char *arg, unsigned long most, unsigned long *v)
{
	char *end;

	errno = 0;
	*v = strtoul(arg, &end, 10);
	return errno == 0 && end != arg && *end == 0 && arg[0] != '-' && *v <= most;
}

/* Waits for the next lease. What passes meanwhile shows as lateness. */
static void stand(struct host *h)
{
	struct pollfd p = {.fd = STDIN_FILENO, .events = POLLIN};

	if (trace_flush() != 0) {
		h->ended = "nobody reads the trace";
	}
	(void)poll(&p, 1, -1);
}

static void run(struct host *h)
{
	h->wall0 = wall(CLOCK_MONOTONIC) - h->ns;
	h->leased = UINT64_MAX;
	while (h->ended == NULL) {
		command_look(h);
		if (h->real && h->ns >= h->leased) {
			stand(h);
			continue;
		}
		if (!h->stepped) {
			command_due(h);
			board_pass(h);
		}
		if (trace_flush() != 0) {
			h->ended = "nobody reads the trace";
		}
		if (h->real) {
			pace(h);
		}
	}
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{"map", required_argument, NULL, 'm'},    {"joints", required_argument, NULL, 'j'},
		{"feedback", required_argument, NULL, 'f'}, {"switch", required_argument, NULL, 'w'},
		{"boot", required_argument, NULL, 'n'},   {"baud", required_argument, NULL, 'r'},
		{"speed", required_argument, NULL, 's'},  {"link", required_argument, NULL, 'l'},
		{"edges", no_argument, NULL, 'e'},        {"bytes", no_argument, NULL, 'b'},
		{"trace", no_argument, NULL, 't'},        {NULL, 0, NULL, 0}};
	static struct host h;
	const char *joints = NULL, *speed = "real", *link = NULL, *switches[PLANT_SWITCHES];
	bool steppers = false, adc = false;
	unsigned n_switches = 0;
	unsigned long v;
	int n;

	h.board.boot = (uint32_t)wall(CLOCK_REALTIME);
	h.baud = 115200;
	for (int c; (c = getopt_long(argc, argv, "", options, NULL)) != -1;) {
		switch (c) {
		case 'm':
			joints = strcmp(optarg, "servo2") == 0     ? "servo:2"
				 : strcmp(optarg, "servo8") == 0   ? "servo:8"
				 : strcmp(optarg, "stepper3") == 0 ? "stepper:3"
								   : "";
			break;
		case 'j': joints = optarg; break;
		case 'f':
			if (strcmp(optarg, "adc") != 0) {
				return bad("--feedback is adc, not", optarg);
			}
			adc = true;
			break;
		case 'w':
			if (n_switches == PLANT_SWITCHES) {
				return bad("too many switches:", optarg);
			}
			switches[n_switches++] = optarg;
			break;
		case 'n':
			if (!positive(optarg, UINT32_MAX, &v)) {
				return bad("--boot is a number of 32 bits, not", optarg);
			}
			h.board.boot = (uint32_t)v;
			break;
		case 'r':
			if (!positive(optarg, 2000000, &v) || v < 9600) {
				return bad("--baud is 9600 to 2000000, not", optarg);
			}
			h.baud = (unsigned)v;
			break;
		case 's': speed = optarg; break;
		case 'l': link = optarg; break;
		case 'e': h.edges = true; break;
		case 'b': h.bytes = true; break;
		case 't': break; /* it always does */
		default: return bad("an unknown option", NULL);
		}
	}
	if (optind != argc || joints == NULL) {
		return bad("--map or --joints is wanted", NULL);
	}
	if (!joints_of(joints, &steppers, &n)) {
		return bad("no such joints:", joints);
	}
	h.real = strcmp(speed, "real") == 0;
	h.stepped = strcmp(speed, "step") == 0;
	h.bytes = h.bytes || h.stepped;
	if (!h.real && !h.stepped && strcmp(speed, "free") != 0) {
		return bad("--speed is real, free or step, not", speed);
	}
	plant_begin(&h.plant);
	for (unsigned i = 0; i < n_switches; i++) {
		if (!add_switch(&h, switches[i], steppers, n)) {
			return bad("no such switch:", switches[i]);
		}
	}
	board_make(&h, steppers, (uint8_t)n, adc);
	(void)signal(SIGPIPE, SIG_IGN);
	wake_soon();
	if (!trace_begin()) {
		return bad("stdout:", strerror(errno));
	}
	cable_begin(&h.cable, link);

	if (!h.stepped) {
		const char *why = cable_plug(&h.cable);

		if (why != NULL) {
			return bad(why, NULL);
		}
		trace(h.ns, "pty %s", h.cable.path);
	}
	board_boot(&h, "power");
	run(&h);
	cable_unplug(&h.cable);
	trace(h.ns, "end %s", h.ended);
	(void)trace_flush();
	return strcmp(h.ended, "quit") == 0 || strcmp(h.ended, "stdin ended") == 0 ? 0 : 1;
}
