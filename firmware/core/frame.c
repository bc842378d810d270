#include "frame.h"

uint16_t crc16(uint16_t crc, uint8_t byte)
{
	/* Eight steps of x^16 + x^12 + x^5 + 1 at once: what leaves at the top is t, and
	 * each of the polynomial's lower terms gets it. */
	uint8_t t = (uint8_t)((crc >> 8) ^ byte);

	t = (uint8_t)(t ^ (t >> 4));
	return (uint16_t)((uint16_t)(crc << 8) ^ (uint16_t)((uint16_t)t << 12) ^
			  (uint16_t)((uint16_t)t << 5) ^ t);
}

static uint16_t crc_of(const uint8_t *body, uint8_t length)
{
	uint16_t crc = 0xFFFF;

	for (uint8_t i = 0; i < length; i++) {
		crc = crc16(crc, body[i]);
	}
	return crc;
}

static void put(struct decoder *d, uint8_t byte)
{
	if (d->length == TAU_MAX_BODY) {
		d->broken = true;
		return;
	}
	d->body[d->length++] = byte;
}

static bool good(const struct decoder *d)
{
	if (d->broken || d->block != 0 || d->length < 4) {
		return false;
	}
	uint8_t length = (uint8_t)(d->length - 2);
	uint16_t crc = crc_of(d->body, length);

	return d->body[length] == (uint8_t)crc && d->body[length + 1] == (uint8_t)(crc >> 8);
}

bool decoder_take(struct decoder *d, uint8_t byte)
{
	if (d->ended) {
		d->length = 0;
		d->block = 0;
		d->zero = false;
		d->broken = false;
		d->ended = false;
		if (byte == 0) {
			d->ended = true; /* an empty frame */
			return false;
		}
	}
	if (byte == 0) {
		/* Two zeros in a row are no frame, also at the very beginning. */
		bool empty = d->length == 0 && d->block == 0 && !d->zero && !d->broken;

		d->ended = true;
		if (good(d)) {
			d->length = (uint8_t)(d->length - 2);
			return true;
		}
		if (!empty && d->dropped != 0xFFFF) {
			d->dropped++;
		}
		return false;
	}
	if (d->block != 0) {
		d->block--;
		put(d, byte);
		return false;
	}
	if (d->zero) {
		put(d, 0);
	}
	d->block = (uint8_t)(byte - 1);
	d->zero = byte != 0xFF;
	return false;
}

uint8_t frame_code(uint8_t *frame, uint8_t length)
{
	uint16_t crc = crc_of(frame + 1, length);
	uint8_t code = 0; /* where the open block's code goes */

	frame[length + 1] = (uint8_t)crc;
	frame[length + 2] = (uint8_t)(crc >> 8);
	length = (uint8_t)(length + 2);
	/* No block of 254 bytes fits, so each zero, and the end, closes exactly one block. */
	for (uint8_t i = 1; i <= length; i++) {
		if (frame[i] == 0) {
			frame[code] = (uint8_t)(i - code);
			code = i;
		}
	}
	frame[code] = (uint8_t)(length + 1 - code);
	frame[length + 1] = 0;
	return (uint8_t)(length + 2);
}
