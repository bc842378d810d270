/* What the core's files share: its one state, and who does what. Nothing outside of
 * firmware/core and firmware/test includes this. Numbers in round brackets name the
 * invariants of ../PROTOCOL.md where they are held. */
#ifndef TAU_CORE_H
#define TAU_CORE_H

#include "frame.h"
#include "tau.h"

enum state { IDLE, HOLD, LOADED, MOVING, BRAKING, FAULT };

enum fault {
	NONE,
	ESTOP_INPUT,
	ESTOP_COMMAND,
	WATCHDOG,
	UNDERRUN,
	SEQUENCE,
	LIMIT,
	SPEED,
	SWITCH,
	NOT_FOUND,
	OVERRUN,
	NO_ROOM,
	INTERNAL,
	OVERLOAD,
	FAULTS
};

enum code {
	CODE_OK,
	CODE_BAD_SEQUENCE,
	CODE_BAD_LENGTH,
	CODE_UNKNOWN_TYPE,
	CODE_BAD_VALUE,
	CODE_LOOSER,
	CODE_NOT_CONFIGURED,
	CODE_NOT_ENABLED,
	CODE_FAULT,
	CODE_BUSY,
	CODE_STOPPED,
	CODE_OVERRUN,
	CODE_LIMIT,
	CODE_SPEED,
	CODE_NO_ROOM,
	CODE_NOT_REFERENCED,
	CODE_STALE_REPORT,
	CODE_ESTOP_ACTIVE,
	CODE_VERSION,
	CODE_NO_HELLO,
	CODE_NOT_BEGUN,
	CODE_ANSWERED = 255 /* by a frame of its own, or silently as the protocol says */
};

enum type {
	HELLO = 0x01,
	DESCRIBE,
	CONFIGURE,
	CONFIGURE_OUTPUT,
	REPORT,
	ENABLE,
	DISABLE,
	BEGIN,
	SEGMENT,
	GO,
	STOP,
	CLEAR,
	OUTPUT,
	HEARTBEAT,
	REFERENCE,
	HELLO_REPLY = 0x81,
	CHANNEL,
	POSITIONS,
	ACK,
	STATUS,
	FEEDBACK,
	ECHO
};

enum {
	NO_CHANNEL = 255, /* the fault is about no joint */
	NO_SEEK = 255,
	FLAG_ESTOP_POWERS_OFF = 1,
	FLAG_LOST_POWERS_OFF = 2,
	QUIET_MS = 200,    /* of the host */
	AHEAD_MS = 200,    /* of motion in the queue */
	GO_MS = 50,        /* of motion before GO */
	REPORT_MS = 2000,  /* that a report holds */
	ESTOP_TICKS = 2,
	PIECE_TICKS = 100, /* at most */
	RAMP_MS = 1000,    /* at most */
	STOP_MS = 8000,    /* from a joint's limit of velocity */
	BRAKE_MS = 10000,  /* that a brake takes a joint to need, at most */
	ROUNDING = 4,      /* position units that a piece may differ from the real cubic */
	PIECE_HEAD = 2,    /* bytes before a piece's joints */
	PIECE_JOINT = 7    /* bytes for one */
};

#define MAX_Q INT32_C(0x3FFFFFFF)
#define MAX_V INT32_C(0x7FFFFF)

/* Limits, all 0 before the first CONFIGURE of a boot. */
struct limits {
	int32_t lower, upper; /* position units */
	int32_t v;            /* 1/256 position unit per ms */
	int32_t a;            /* 1/65536 position unit per ms² */
	uint16_t ramp;        /* ms */
	uint8_t flags;
	uint16_t farthest;    /* position units that one tick may go: the v of the speed check */
	/* 1/a, for what is reckoned often: 2^31/a is about inverse · 2^-scale, with 16 bits. */
	uint16_t inverse;
	int8_t scale;
};

/* One joint's way through the running piece, or through a stretch of the brake. */
struct way {
	int32_t q0, q1, v0, v1;
	int32_t d0, c2, c3;
};

struct joint {
	struct limits limits;
	int32_t q; /* the present setpoint */
	struct way way;
};

/* A joint's part in a brake. */
struct brake_joint {
	int32_t v, a; /* at its beginning */
};

/* What a brake is for all joints together. */
struct brake {
	uint16_t ra, c, rb; /* ticks of its stretches */
	/* What shares of w its first and its last one brake, in 1/65536: p·Ra/2 and p·Rb/2. */
	uint16_t rise, fall;
};

struct output {
	uint16_t off, max, value;
	bool on_stop, on_lost;
};

struct core {
	const struct tau_board *board;
	struct decoder decoder;
	struct joint joint[TAU_JOINTS];
	struct output output[TAU_OUTPUTS];

	/* The link. */
	bool greeted, speaks; /* HELLO was answered; with our version */
	uint8_t expected;     /* seq of the host's next frame */
	uint8_t seq;          /* of ours */
	uint8_t quiet_ms;     /* since the host's last frame, at most QUIET_MS */
	uint8_t status_in;    /* ticks to the next STATUS */
	uint8_t said_state, said_fault; /* in the last one */
	bool stop_unsaid;     /* a STOP's ACK had no room */
	uint8_t stop_seq;     /* of that STOP */

	/* Safety. */
	uint32_t ms;
	uint8_t state; /* enum state */
	uint8_t fault; /* enum fault */
	uint8_t fault_channel;
	uint16_t stops;
	bool powered, enabled;
	bool estopped;       /* an e-stop since the last CLEAR */
	bool cut_when_still; /* the power goes off once at rest */
	uint8_t estop_ticks;
	uint16_t report;
	bool report_holds;
	uint32_t report_ms; /* when it was made */

	/* Joints and outputs, a bit each. */
	uint8_t configured, told, referenced;
	uint8_t output_configured;
	uint8_t closed;              /* joints whose switch is closed, bounces left out */
	uint8_t recent[2];           /* and was, within the last two times 8 ticks */
	uint8_t side_known, side_up; /* the direction in which it closed last */

	/* The motion. */
	uint16_t motion;
	uint32_t motion_ms;
	uint8_t seek;
	bool found;
	int32_t found_at;   /* count × 256 where the switch was */
	uint8_t index;      /* accepted pieces, modulo 256: also the next one's index */
	bool last_in;       /* the last piece was accepted */
	bool last_runs;     /* and is the one that runs */
	uint8_t ahead;      /* ms accepted and not yet played */
	uint8_t parts;      /* joints of the next piece that are here */
	uint8_t slots;      /* how many pieces the queue can hold */
	uint8_t head, held; /* the first slot, and how many are full */

	uint16_t ramp; /* the largest of all joints */

	/* The running piece or stretch. */
	uint16_t ticks, tick; /* tick 0: at its beginning; ticks 0: none */
	uint16_t u, u_rest;   /* floor(tick · 65536 / ticks), and its remainder */
	uint16_t u_step, u_step_rest;
	uint8_t stretch; /* of the brake: 0, 1, 2 */
	uint16_t brake_c, brake_rb;

	/* A brake has no pieces, and keeps there the joints' velocities where its last stretch
	 * begins. */
	union {
		uint8_t queue[TAU_QUEUE];
		int32_t v2[TAU_JOINTS];
	} store;
};

_Static_assert(TAU_QUEUE >= 4 * TAU_JOINTS, "a brake finds no room in the queue");

extern struct core core;

static inline uint8_t bit(uint8_t n)
{
	return (uint8_t)(1U << n);
}

/* safety.c */
/* Latches the first fault (5), and does what each one does: outputs, brake, power. channel
 * is a joint or NO_CHANNEL. */
void safety_fault(uint8_t fault, uint8_t channel);
/* Obeys a STOP (2). */
void safety_stop(uint8_t kind);
/* Once a tick, before the motion: e-stop input and watchdog (3). */
void safety_tick(void);
/* The joints have come to rest. */
void safety_rest(void);
/* Takes the power off. */
void safety_cut(void);
uint8_t safety_clear(uint8_t fault);

/* host.c */
/* Obeys one frame: type, seq and payload. */
void host_frame(const uint8_t *body, uint8_t length);

/* setup.c: each takes a payload of the right length and returns an enum code. */
uint8_t setup_configure(const uint8_t *p);
uint8_t setup_output(const uint8_t *p);
uint8_t setup_enable(const uint8_t *p);
uint8_t setup_disable(void);
uint8_t setup_reference(const uint8_t *p);
uint8_t setup_set(const uint8_t *p);
bool setup_all_referenced(void);

/* queue.c */
uint8_t queue_piece_size(void);
uint16_t queue_free(void);
/* Forgets every piece, also one of which parts are there. */
void queue_empty(void);
uint8_t queue_begin(const uint8_t *p);
uint8_t queue_segment(const uint8_t *p, uint8_t length);
uint8_t queue_go(const uint8_t *p);
/* Makes the first piece the running one. Returns NONE, or the fault that it can't. */
uint8_t queue_next(void);

/* piece.c */
/* Begins a way of so many ticks for all joints: q0, q1, v0, v1 are set. */
void piece_begin(uint16_t ticks);
/* Goes on by one tick of it. */
void piece_step(void);
/* Where the joint is at the present tick. */
int32_t piece_at(const struct way *w);
/* A joint's velocity and acceleration where a piece of so many ticks (at most PIECE_TICKS)
 * ends, or t ticks into it. inverse is piece_inverse(ticks). */
struct brake_joint piece_end(int32_t way, int32_t v0, int32_t v1, uint8_t ticks, uint16_t inverse);
struct brake_joint piece_mid(int32_t way, int32_t v0, int32_t v1, uint8_t t, uint8_t ticks, uint16_t inverse);
uint16_t piece_inverse(uint8_t ticks);
/* The fastest that a joint may be told to go: an eighth and what rounding makes above v. */
int32_t piece_fastest(int32_t v);

/* brake.c */
/* Reckons what limits, of a joint, keep beside what CONFIGURE says. */
void brake_limits(struct limits *l);
/* Reckons the brake from the joints' v and a, which it holds to their limits. */
struct brake brake_plan(struct brake_joint *b);
/* How far a joint goes in it: all of it. */
int32_t brake_way(const struct brake *p, const struct brake_joint *b, const struct limits *l);
/* Bounds that are quickly reckoned: how many ticks any brake takes from these velocities,
 * and how far a joint goes in it. */
uint16_t brake_longest(const int32_t *v);
int32_t brake_farthest(uint16_t longest, int32_t v, const struct limits *l);
/* Begins to brake from the present setpoint of the motion that runs. */
void brake_begin(void);
/* The next stretch. False: there is none, the joints are at rest. */
bool brake_next(void);

/* motion.c */
/* Once a tick: the next setpoint of each joint, and its limits. */
void motion_tick(void);
/* q held to the joint's limits of position. */
int32_t motion_clamp(uint8_t joint, int32_t q);
/* A bit for each joint whose switch is closed. */
uint8_t motion_switches(void);

/* report.c */
void report_ack(uint8_t seq, uint8_t type, uint8_t code);
void report_hello(const uint8_t *nonce);
void report_channel(uint8_t channel);
void report_positions(void);
void report_echo(const uint8_t *host_ms);
/* Once a tick, at its end. */
void report_tick(void);

#endif
