/* Frames: bytes from the line in, checked bodies out, and the other way round. */
#ifndef TAU_FRAME_H
#define TAU_FRAME_H

#include <stdbool.h>
#include <stdint.h>

#include "tau.h"

/* The zero value is ready, as after a delimiter. */
struct decoder {
	uint8_t body[TAU_MAX_BODY];
	uint8_t length;   /* of body so far */
	uint8_t block;    /* bytes still missing from the block of COBS that is open */
	bool zero;        /* a zero belongs before the next block */
	bool broken;      /* nothing counts before the next delimiter */
	bool ended;       /* the last byte was a delimiter */
	uint16_t dropped; /* frames, saturated */
};

/* Takes one byte. True once it ended a good frame: body then holds type, seq and payload,
 * and length doesn't count the crc. They hold until the next byte. */
bool decoder_take(struct decoder *d, uint8_t byte);

/* The crc after one more byte. It begins at 0xFFFF. */
uint16_t crc16(uint16_t crc, uint8_t byte);

/* Codes the body that stands at frame[1] (length bytes without its crc, at most
 * TAU_MAX_BODY - 2) in place. Returns the frame's length with its delimiter; frame needs
 * room for length + 4. */
uint8_t frame_code(uint8_t *frame, uint8_t length);

#endif
