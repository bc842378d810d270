/* Drives the core by a string of bytes: frames, noise, time and inputs, and holds it to the
 * invariants of PROTOCOL.md after each step. Random tests and the fuzzer share it. */
#ifndef DRIVE_H
#define DRIVE_H

#include <stddef.h>
#include <stdint.h>

/* What a run reached, added up; a test that reaches nothing proves nothing. */
struct drive_seen {
	unsigned long ticks, moved, motions, stops, faults[32], rests, brakes_checked;
};

/* Boots a board, runs all of data, then stops and waits for rest. Failures are checks. */
void drive(const uint8_t *data, size_t n, struct drive_seen *seen);

#endif
