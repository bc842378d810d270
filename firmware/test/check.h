/* A small runner: checks that count and print where they fail. */
#ifndef CHECK_H
#define CHECK_H

#include <stdbool.h>

/* Says that a test begins. */
void check_test(const char *name);

/* Fails the test if it isn't so. */
#define CHECK(so) check_that((so), __FILE__, __LINE__, "%s", #so)
#define CHECK_EQUAL(got, want) \
	check_equal((long long)(got), (long long)(want), __FILE__, __LINE__, #got, #want)

void check_equal(long long got, long long want, const char *file, int line, const char *got_text,
		 const char *want_text);
void check_that(bool so, const char *file, int line, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/* What a failure should name besides: a vector's line, a seed. NULL: nothing. */
void check_about(const char *format, ...) __attribute__((format(printf, 1, 2)));

unsigned long check_failures(void);

/* The exit status: 1 if anything failed. Says how many tests and checks there were. */
int check_end(void);

#endif
