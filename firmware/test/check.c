#include "check.h"

#include <stdarg.h>
#include <stdio.h>

enum { SHOWN = 20 };

static struct {
	const char *test;
	char about[200];
	unsigned long tests, checks, failures;
} state;

void check_test(const char *name)
{
	state.test = name;
	state.about[0] = 0;
	state.tests++;
}

void check_about(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	(void)vsnprintf(state.about, sizeof state.about, format, args);
	va_end(args);
}

void check_that(bool so, const char *file, int line, const char *format, ...)
{
	va_list args;

	state.checks++;
	if (so) {
		return;
	}
	state.failures++;
	if (state.failures > SHOWN) {
		return;
	}
	(void)printf("%s: %s:%d: ", state.test, file, line);
	va_start(args, format);
	(void)vprintf(format, args);
	va_end(args);
	(void)printf("%s%s%s\n", state.about[0] != 0 ? " (" : "", state.about, state.about[0] != 0 ? ")" : "");
}

void check_equal(long long got, long long want, const char *file, int line, const char *got_text,
		 const char *want_text)
{
	check_that(got == want, file, line, "%s is %lld, not %s = %lld", got_text, got, want_text, want);
}

unsigned long check_failures(void)
{
	return state.failures;
}

int check_end(void)
{
	(void)printf("%lu tests, %lu checks, %lu failures\n", state.tests, state.checks, state.failures);
	return state.failures != 0 || state.checks == 0 ? 1 : 0;
}
