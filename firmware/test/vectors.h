/* Reading the lines of testdata/wire. */
#ifndef VECTORS_H
#define VECTORS_H

#include <stdbool.h>
#include <stdint.h>

enum { VECTOR_WORDS = 300, VECTOR_BYTES = 2048 };

struct vector {
	const char *file;
	int line;
	int n; /* words */
	char *word[VECTOR_WORDS];
};

/* Runs take for each line of the file that has words. Fails a check if there is none. */
void vectors_read(const char *folder, const char *file, void (*take)(const struct vector *v));

/* Bytes of a word in hexadecimal, '-' is none; where mask isn't NULL, ?? is any byte and
 * its mask 0. Returns how many. */
unsigned vectors_hex(const char *word, uint8_t *bytes, uint8_t *mask);
long long vectors_number(const char *word);
unsigned vectors_type(const char *word);

/* The tests: frames, messages, pieces, brakes. */
void vectors_test(const char *folder);
/* sessions.txt. */
void sessions_test(const char *folder);

#endif
