#include "cable.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

void cable_begin(struct cable *c, const char *link)
{
	memset(c, 0, sizeof *c);
	c->fd = -1;
	c->link = link;
}

/* Opens the slave for a moment: to make it raw, or to forget what is in it. A master
 * whose slave was opened and closed once tells by POLLHUP when nobody has it open. */
static int touch(const char *slave)
{
	int fd = open(slave, O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	struct termios t;
	int r = tcgetattr(fd, &t);
	if (r == 0) {
		cfmakeraw(&t);
		r = tcsetattr(fd, TCSANOW, &t);
	}
	(void)tcflush(fd, TCIOFLUSH);
	(void)close(fd);
	return r;
}

const char *cable_plug(struct cable *c)
{
	static char why[160];
	if (c->fd >= 0)
		return NULL;
	int fd = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (fd < 0 || grantpt(fd) != 0 || unlockpt(fd) != 0 ||
	    ptsname_r(fd, c->slave, sizeof c->slave) != 0 || touch(c->slave) != 0 ||
	    fcntl(fd, F_SETFL, O_NONBLOCK) != 0) {
		(void)snprintf(why, sizeof why, "a pseudo-terminal: %s", strerror(errno));
		if (fd >= 0)
			(void)close(fd);
		return why;
	}
	if (c->link == NULL) {
		(void)snprintf(c->path, sizeof c->path, "%s", c->slave);
	} else {
		(void)snprintf(c->path, sizeof c->path, "%s", c->link);
		(void)unlink(c->link);
		if (symlink(c->slave, c->link) != 0) {
			(void)snprintf(why, sizeof why, "the link %.80s: %s", c->link, strerror(errno));
			(void)close(fd);
			return why;
		}
	}
	c->fd = fd;
	c->open = false;
	c->n = 0;
	return NULL;
}

void cable_unplug(struct cable *c)
{
	if (c->fd < 0)
		return;
	if (c->link != NULL)
		(void)unlink(c->link);
	(void)close(c->fd);
	c->fd = -1;
	c->open = false;
	c->n = 0;
}

void cable_look(struct cable *c)
{
	if (c->fd < 0)
		return;
	struct pollfd p = { .fd = c->fd, .events = POLLIN };
	if (poll(&p, 1, 0) < 0)
		return;
	bool open = (p.revents & POLLHUP) == 0;
	if (c->open && !open && (p.revents & POLLIN) == 0) {
		/* Not before the last bytes of who left were read: they were on the wire. */
		(void)touch(c->slave);
		c->open = false;
	} else if (open) {
		c->open = true;
	}
}

unsigned cable_read(struct cable *c, uint8_t *bytes, unsigned max)
{
	if (c->fd < 0 || max == 0)
		return 0;
	ssize_t n = read(c->fd, bytes, max);
	return n > 0 ? (unsigned)n : 0;
}

void cable_put(struct cable *c, uint8_t byte)
{
	if (c->fd < 0 || !c->open || c->n == CABLE_TX) {
		c->dropped++;
		return;
	}
	c->tx[c->n++] = byte;
}

void cable_flush(struct cable *c)
{
	if (c->n == 0)
		return;
	ssize_t w = c->fd < 0 || !c->open ? -1 : write(c->fd, c->tx, c->n);
	if (w < 0 && (errno == EAGAIN || errno == EINTR) && c->fd >= 0 && c->open)
		w = 0;
	if (w < 0) {
		c->dropped += c->n;
		c->n = 0;
		return;
	}
	c->n -= (unsigned)w;
	memmove(c->tx, c->tx + w, c->n);
}
