/* What the bench prints: one event a line, in simulated time (docs/HIL.md). */
#ifndef BENCH_TRACE_H
#define BENCH_TRACE_H

#include <stdint.h>

/* Takes stdout for the trace alone: whatever libsimavr prints goes to stderr. Returns
 * false with errno set if it can't. */
int trace_begin(void);

/* Adds a line, `T …`, without the newline. It is written at the next flush. */
void trace(uint64_t ns, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The same with bytes in hex at its end. */
void trace_hex(uint64_t ns, const char *kind, const uint8_t *bytes, unsigned n);

/* Writes what has come together. Returns -1 if nobody reads it any more. */
int trace_flush(void);

#endif
