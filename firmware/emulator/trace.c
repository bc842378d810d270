#include "trace.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

static struct {
	int fd;
	int broken;
	unsigned n;
	char text[1 << 16];
} out = { .fd = -1 };

int trace_begin(void)
{
	out.fd = dup(STDOUT_FILENO);
	return out.fd >= 0 && dup2(STDERR_FILENO, STDOUT_FILENO) >= 0;
}

int trace_flush(void)
{
	unsigned done = 0;
	while (done < out.n && !out.broken) {
		ssize_t w = write(out.fd, out.text + done, out.n - done);
		if (w > 0)
			done += (unsigned)w;
		else if (w < 0 && errno != EINTR)
			out.broken = 1;
	}
	out.n = 0;
	return out.broken ? -1 : 0;
}

/* Makes room for a line of at most n bytes. */
static void room(unsigned n)
{
	if (out.n + n > sizeof out.text)
		(void)trace_flush();
}

void trace(uint64_t ns, const char *format, ...)
{
	char line[400];
	int n = snprintf(line, sizeof line, "%" PRIu64 " ", ns);
	va_list args;
	va_start(args, format);
	int m = vsnprintf(line + n, sizeof line - (size_t)n - 1, format, args);
	va_end(args);
	if (m < 0)
		return;
	n += m;
	if (n > (int)sizeof line - 2)
		n = (int)sizeof line - 2;
	line[n++] = '\n';
	room((unsigned)n);
	for (int i = 0; i < n; i++)
		out.text[out.n++] = line[i];
}

void trace_hex(uint64_t ns, const char *kind, const uint8_t *bytes, unsigned n)
{
	static const char digits[] = "0123456789abcdef";
	room(n * 2 + 64);
	int m = snprintf(out.text + out.n, sizeof out.text - out.n, "%" PRIu64 " %s ", ns, kind);
	out.n += (unsigned)m;
	for (unsigned i = 0; i < n; i++) {
		out.text[out.n++] = digits[bytes[i] >> 4];
		out.text[out.n++] = digits[bytes[i] & 15];
	}
	out.text[out.n++] = '\n';
}
