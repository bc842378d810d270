/* The board's core as its port sees it (tau.h). */
#include "core.h"

#include <string.h>

struct core core;

void tau_begin(const struct tau_board *board)
{
	uint8_t size = (uint8_t)(PIECE_HEAD + PIECE_JOINT * board->joints);
	uint16_t slots = (uint16_t)(TAU_QUEUE / size);

	memset(&core, 0, sizeof core);
	core.board = board;
	core.slots = (uint8_t)(slots < AHEAD_MS ? slots : AHEAD_MS);
	core.fault_channel = NO_CHANNEL;
	core.seek = NO_SEEK;
	core.said_state = 0xFF;
	for (uint8_t j = 0; j < board->joints; j++) {
		if (board->channels[j].feedback != TAU_FEEDBACK_STEPS) {
			core.referenced |= bit(j);
		}
	}
	board->power(false);
	for (uint8_t o = 0; o < board->outputs; o++) {
		board->output(o, 0);
	}
}

void tau_receive(uint8_t byte)
{
	if (decoder_take(&core.decoder, byte)) {
		host_frame(core.decoder.body, core.decoder.length);
	}
}

void tau_tick(void)
{
	safety_tick();
	motion_tick();
	report_tick();
}

void tau_overload(void)
{
	safety_fault(OVERLOAD, NO_CHANNEL);
}
