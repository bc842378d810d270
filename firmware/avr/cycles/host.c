#include "host.h"

#include <stdio.h>
#include <string.h>

enum { HEARTBEAT_MS = 50, ANSWER_MS = 200, AHEAD_MS = 150, NOISE = 12, PART = 4 };

uint8_t *host_u16(uint8_t *to, uint16_t v)
{
	to[0] = (uint8_t)v;
	to[1] = (uint8_t)(v >> 8);
	return to + 2;
}

uint8_t *host_u24(uint8_t *to, uint32_t v)
{
	to[2] = (uint8_t)(v >> 16);
	return host_u16(to, (uint16_t)v) + 1;
}

uint8_t *host_u32(uint8_t *to, uint32_t v)
{
	return host_u16(host_u16(to, (uint16_t)v), (uint16_t)(v >> 16));
}

static uint16_t get16(const uint8_t *p)
{
	return (uint16_t)(p[0] | p[1] << 8);
}

uint32_t host_get32(const uint8_t *p)
{
	return get16(p) | (uint32_t)get16(p + 2) << 16;
}

static uint16_t crc(const uint8_t *p, unsigned n)
{
	uint16_t c = 0xFFFF;

	while (n-- != 0) {
		c = (uint16_t)(c ^ *p++ << 8);
		for (int i = 0; i < 8; i++) {
			c = (uint16_t)(c & 0x8000 ? c << 1 ^ 0x1021 : c << 1);
		}
	}
	return c;
}

bool host_fail(struct host *h, const char *what, unsigned a, unsigned b)
{
	if (h->why[0] == 0) {
		(void)snprintf(h->why, sizeof h->why, "%s (%02x, %u) in state %u, fault %u of channel %u, %u free",
		               what, a, b, h->status.state, h->status.fault, h->status.fault_channel, h->status.free);
	}
	return false;
}

bool host_send(struct host *h, uint8_t type, const uint8_t *payload, unsigned n)
{
	uint8_t body[HOST_FRAME], frame[HOST_FRAME + 2];
	unsigned out = 1, code = 0;

	if (n > HOST_PAYLOAD) {
		return host_fail(h, "payload too long", type, n);
	}
	body[0] = type;
	body[1] = h->seq++;
	if (n != 0) {
		memcpy(body + 2, payload, n);
	}
	(void)host_u16(body + 2 + n, crc(body, n + 2));
	for (unsigned i = 0; i < n + 4; i++) {
		if (body[i] == 0) {
			frame[code] = (uint8_t)(out - code);
			code = out++;
		} else {
			frame[out++] = body[i];
		}
	}
	frame[code] = (uint8_t)(out - code);
	frame[out++] = 0;
	if (!probe_write(h->p, frame, out)) {
		return host_fail(h, "the line is full at a frame", type, n);
	}
	h->frames++;
	return true;
}

static void take_status(struct status *s, const uint8_t *p, unsigned joints)
{
	s->board_ms = host_get32(p);
	s->state = p[4];
	s->flags = p[5];
	s->fault = p[6];
	s->fault_channel = p[7];
	s->stops = get16(p + 8);
	s->motion = get16(p + 10);
	s->motion_ms = host_get32(p + 12);
	s->free = get16(p + 16);
	s->accepted = p[18];
	s->inputs = p[19];
	for (unsigned j = 0; j < joints; j++) {
		s->setpoint[j] = (int32_t)host_get32(p + 20 + 4 * j);
	}
}

static void take(struct host *h, const uint8_t *body, unsigned n)
{
	if (body[0] == HELLO_REPLY) {
		h->board_seq = body[1];
	}
	h->missing += (uint8_t)(body[1] - h->board_seq);
	h->board_seq = (uint8_t)(body[1] + 1);
	if (body[0] == STATUS && n == 24 + 4 * (unsigned)h->p->joints) {
		if (h->statuses != 0) {
			probe_see(&h->between, (int64_t)(probe_cycle(h->p) - h->status_at));
		}
		h->status_at = probe_cycle(h->p);
		h->statuses++;
		take_status(&h->status, body + 2, h->p->joints);
		return;
	}
	if (body[0] == FEEDBACK && n == 8 + 4 * (unsigned)h->p->joints) {
		for (unsigned j = 0; j < h->p->joints; j++) {
			h->feedback[j] = (int32_t)host_get32(body + 6 + 4 * j);
		}
		h->feedbacks++;
	}
	if (body[0] == FEEDBACK || body[0] == ECHO) {
		return;
	}
	h->got = body[0];
	h->payload_n = n - 4;
	memcpy(h->payload, body + 2, n - 4);
	/* A piece that was on its way as the motion ended is refused, as it should be. */
	if (body[0] == ACK && h->payload[1] == SEGMENT && !h->stream.active) {
		return;
	}
	if (body[0] == ACK && h->payload[2] != 0) {
		(void)host_fail(h, "refused: type, code", h->payload[1], h->payload[2]);
	}
}

static void decode(struct host *h)
{
	uint8_t body[HOST_FRAME];
	unsigned n = 0, i = 0;

	while (i < h->in_n) {
		unsigned code = h->in[i++];
		for (unsigned k = 1; k < code && i < h->in_n; k++) {
			body[n++] = h->in[i++];
		}
		if (code < 0xFF && i < h->in_n) {
			body[n++] = 0;
		}
	}
	if (n < 4 || get16(body + n - 2) != crc(body, n - 2)) {
		h->dropped++;
		return;
	}
	take(h, body, n);
}

static void poll(struct host *h)
{
	uint8_t b;

	while (probe_read(h->p, &b)) {
		if (b != 0) {
			h->in_bad |= h->in_n == sizeof h->in;
			if (!h->in_bad) {
				h->in[h->in_n++] = b;
			}
			continue;
		}
		if (h->in_bad) {
			h->dropped++;
		} else if (h->in_n != 0) {
			decode(h);
		}
		h->in_n = 0;
		h->in_bad = false;
	}
}

static bool piece(struct host *h)
{
	struct stream *s = &h->stream;
	unsigned joints = h->p->joints;

	s->sent_ms += s->piece_ms;
	bool last = s->sent_ms >= s->length_ms;
	for (unsigned first = 0; first < joints; first += PART) {
		uint8_t p[HOST_PAYLOAD], *to = p + 3;

		p[0] = s->index;
		p[1] = (uint8_t)s->piece_ms;
		p[2] = (uint8_t)(first | (last ? 0x80 : 0));
		for (unsigned j = first; j < joints && j < first + PART; j++) {
			struct place at = s->at(s, j, s->sent_ms);
			to = host_u24(host_u32(to, (uint32_t)at.q), (uint32_t)at.v);
		}
		if (!host_send(h, SEGMENT, p, (unsigned)(to - p))) {
			return false;
		}
	}
	s->index++;
	s->active = !last;
	return true;
}

static bool stream(struct host *h)
{
	struct stream *s = &h->stream;

	while (s->active && s->sent_ms + s->piece_ms <= h->status.motion_ms + AHEAD_MS &&
	       (uint8_t)(s->index - h->status.accepted) < 16 && probe_unsent(h->p) < HOST_FRAME) {
		/* What isn't accepted yet takes room as well. */
		unsigned size = 2 + 7 * (unsigned)h->p->joints;
		unsigned under_way = (uint8_t)(s->index - h->status.accepted);
		if (h->status.free < size * (under_way + 1)) {
			break;
		}
		if (!piece(h)) {
			return false;
		}
	}
	return true;
}

static void noise(struct host *h)
{
	uint8_t b[NOISE + 1];

	for (unsigned i = 0; i < NOISE; i++) {
		h->random = h->random * 1664525U + 1013904223U;
		b[i] = (uint8_t)(h->random >> 24 | 1);
	}
	b[NOISE] = 0;
	(void)probe_write(h->p, b, sizeof b);
}

bool host_run(struct host *h, uint32_t us)
{
	uint64_t until = probe_cycle(h->p) + (uint64_t)us * PROBE_US;

	while (probe_cycle(h->p) < until) {
		uint8_t beat[4];

		if (!probe_step(h->p)) {
			return host_fail(h, "the program crashed", 0, 0);
		}
		poll(h);
		if (h->why[0] != 0) {
			return false;
		}
		if (h->hello && !h->silent && probe_cycle(h->p) >= h->heartbeat_at) {
			h->heartbeat_at = probe_cycle(h->p) + (uint64_t)HEARTBEAT_MS * PROBE_MS;
			if (!host_send(h, HEARTBEAT, beat, (unsigned)(host_u32(beat, (uint32_t)(probe_cycle(h->p) / PROBE_MS)) - beat))) {
				return false;
			}
		}
		if (h->stream.active && h->status.state == MOVING && !stream(h)) {
			return false;
		}
		if (h->noisy && probe_unsent(h->p) < 2) {
			noise(h);
		}
	}
	return true;
}

bool host_ask(struct host *h, uint8_t type, const uint8_t *payload, unsigned n, uint8_t answer)
{
	uint64_t until = probe_cycle(h->p) + (uint64_t)ANSWER_MS * PROBE_MS;

	if (type == HELLO) {
		h->seq = 0;
		h->hello = true;
		h->heartbeat_at = until;
	}
	h->got = 0;
	if (!host_send(h, type, payload, n)) {
		return false;
	}
	while (probe_cycle(h->p) < until) {
		if (!host_run(h, 20)) {
			return false;
		}
		if (h->got == answer && (answer != ACK || h->payload[1] == type)) {
			return true;
		}
	}
	return host_fail(h, "no answer to", type, n);
}

bool host_await(struct host *h, uint8_t state, uint32_t ms)
{
	uint64_t until = probe_cycle(h->p) + (uint64_t)ms * PROBE_MS;

	while (probe_cycle(h->p) < until) {
		if (!host_run(h, 20)) {
			return false;
		}
		if (h->status.state == state) {
			return true;
		}
	}
	return host_fail(h, "never reached state", state, ms);
}

bool host_fresh(struct host *h)
{
	/* The next but one: the next may have been on its way already. */
	uint32_t n = h->statuses + 2;

	while (h->statuses < n) {
		if (!host_run(h, 20)) {
			return false;
		}
	}
	return host_run(h, 6000); /* FEEDBACK follows */
}

bool host_move(struct host *h, struct stream s, uint8_t seek)
{
	uint8_t p[5];

	if (!host_fresh(h)) {
		return false;
	}
	h->motion++;
	(void)host_u16(host_u16(p, h->motion), h->status.stops);
	p[4] = seek;
	memcpy(s.from, h->status.setpoint, sizeof s.from);
	s.sent_ms = 0;
	s.index = 0;
	s.active = true;
	s.steppers = h->p->steppers;
	if (!host_ask(h, BEGIN, p, 5, ACK)) {
		return false;
	}
	h->stream = s;
	for (unsigned i = 0; i < 60 / s.piece_ms + 1 && h->stream.active; i++) {
		if (!piece(h)) {
			return false;
		}
	}
	return host_ask(h, GO, p, 2, ACK);
}
