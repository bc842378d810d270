/* How long the board's own frames are on the wire: for the ring that they wait in. */
#ifndef TAU_AVR_FRAMES_H
#define TAU_AVR_FRAMES_H

#include "tau.h"

enum {
	FRAME = 6, /* type, seq, crc, COBS and delimiter */
	FRAME_STATUS = FRAME + 20 + 4 * TAU_JOINTS,
	FRAME_FEEDBACK = FRAME + 4 + 4 * TAU_JOINTS,
	FRAME_POSITIONS = FRAME + 2 + 7 * TAU_JOINTS,
	FRAME_ECHO = FRAME + 8,
	FRAME_ACK = FRAME + 5,
	TYPE_STATUS = 0x85,
	TYPE_FEEDBACK = 0x86,
	/* What the host asks for is answered once: room for it stays free of the rest. */
	FRAMES_ANSWERS = FRAME_POSITIONS + FRAME_ACK,
	FRAMES_ALL = FRAME_STATUS + FRAME_FEEDBACK + FRAME_ECHO + FRAMES_ANSWERS
};

#endif
