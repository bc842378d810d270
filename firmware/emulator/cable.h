/* The board's serial line as a pseudo-terminal: the end that a host opens. Nothing in
 * here blocks. */
#ifndef BENCH_CABLE_H
#define BENCH_CABLE_H

#include <stdbool.h>
#include <stdint.h>

enum { CABLE_TX = 4096 };

struct cable {
	int fd;           /* the master; -1: unplugged */
	const char *link; /* a symbolic link to the slave, or NULL */
	char path[256];   /* what a host opens */
	char slave[128];
	bool open;        /* somebody has the line open */
	uint64_t dropped; /* bytes of the board that nobody took */
	unsigned n;
	uint8_t tx[CABLE_TX];
};

void cable_begin(struct cable *c, const char *link);

/* Makes the line and its link. Returns NULL, or what failed. */
const char *cable_plug(struct cable *c);

/* Ends the line: whoever has it open reads its end. */
void cable_unplug(struct cable *c);

/* Looks whether somebody has the line open, and forgets what was left unread by who
 * doesn't any more. Called before each read. */
void cable_look(struct cable *c);

/* Reads at most max bytes from the host. */
unsigned cable_read(struct cable *c, uint8_t *bytes, unsigned max);

/* Takes a byte of the board, which is lost if nobody has the line open or its buffer
 * is full. */
void cable_put(struct cable *c, uint8_t byte);

/* Hands what was put to the host. */
void cable_flush(struct cable *c);

#endif
