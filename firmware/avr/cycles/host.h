/* The host's side of ../../PROTOCOL.md, as far as the cycle report needs one. */
#ifndef TAU_CYCLES_HOST_H
#define TAU_CYCLES_HOST_H

#include "probe.h"

enum {
	HELLO = 0x01, DESCRIBE, CONFIGURE, CONFIGURE_OUTPUT, REPORT, ENABLE, DISABLE, BEGIN, SEGMENT, GO, STOP, CLEAR, OUTPUT, HEARTBEAT, REFERENCE,
	HELLO_REPLY = 0x81, CHANNEL, POSITIONS, ACK, STATUS, FEEDBACK, ECHO
};
enum { IDLE, HOLD, LOADED, MOVING, BRAKING, FAULT };
enum { ESTOP_INPUT = 1, WATCHDOG = 3, UNDERRUN = 4, OVERLOAD = 13 }; /* faults */
enum { HOST_PAYLOAD = 64, HOST_FRAME = HOST_PAYLOAD + 6 };

struct status {
	uint32_t board_ms, motion_ms;
	uint8_t state, flags, fault, fault_channel, accepted, inputs;
	uint16_t stops, motion, free;
	int32_t setpoint[PROBE_JOINTS];
};

/* Where a joint is at a time of a motion: position units, and 1/256 of them per ms. */
struct place {
	int32_t q, v;
};

/* A motion that is being streamed. at is asked for whole pieces' ends. */
struct stream {
	struct place (*at)(const struct stream *s, unsigned joint, uint32_t ms);
	int32_t from[PROBE_JOINTS];
	uint32_t length_ms, piece_ms, sent_ms;
	uint8_t index;
	bool active, steppers;
};

struct host {
	struct probe *p;
	bool noisy;  /* fills the line with garbage up to the last byte */
	bool silent; /* says nothing, not even heartbeats */
	uint8_t seq, board_seq, got;
	uint8_t in[HOST_FRAME];
	unsigned in_n;
	bool in_bad;
	uint32_t random;
	uint64_t heartbeat_at;
	bool hello;
	struct status status;
	int32_t feedback[PROBE_JOINTS];
	uint8_t payload[HOST_PAYLOAD + 4]; /* of the last answer that isn't a STATUS */
	unsigned payload_n;
	struct stream stream;
	uint32_t frames, statuses, feedbacks, missing, dropped;
	uint64_t status_at;
	struct probe_range between; /* two STATUS */
	uint16_t motion;
	char why[200]; /* what went wrong; the run is over then */
};

/* All return false once anything went wrong, with h->why saying what. */
bool host_run(struct host *h, uint32_t us);
bool host_send(struct host *h, uint8_t type, const uint8_t *payload, unsigned n);

/* Sends a frame and waits for its answer: an ACK with code 0, or a frame of this type. */
bool host_ask(struct host *h, uint8_t type, const uint8_t *payload, unsigned n, uint8_t answer);

/* Waits for a state, at most this long. */
bool host_await(struct host *h, uint8_t state, uint32_t ms);

/* Waits for a STATUS and FEEDBACK of now. */
bool host_fresh(struct host *h);

/* Says what went wrong, if nothing did before. Returns false. */
bool host_fail(struct host *h, const char *what, unsigned a, unsigned b);

/* Begins a motion from the present setpoints, fills the queue and starts it. The rest is
 * streamed while the host runs. */
bool host_move(struct host *h, struct stream s, uint8_t seek);

uint8_t *host_u16(uint8_t *to, uint16_t v);
uint8_t *host_u24(uint8_t *to, uint32_t v);
uint8_t *host_u32(uint8_t *to, uint32_t v);
uint32_t host_get32(const uint8_t *from);

#endif
