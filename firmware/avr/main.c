/* The ATmega328P's main loop: bytes and milliseconds that the interrupts collected go to
 * the core, one at a time. */
#include <avr/interrupt.h>
#include <avr/sleep.h>
#include <avr/wdt.h>

#include "boot.h"
#include "clock.h"
#include "frames.h"
#include "map.h"
#include "mark.h"
#include "tau.h"
#include "uart.h"

enum {
	FIRMWARE = 1, /* counts releases */
	STATUS_MS = 20,
	LATE_MS = 20,
	BYTES = 16 /* between two looks at the clock: 200 µs */
};

/* What the board says by itself leaves room for what the host asks for; STATUS also for
 * the FEEDBACK behind it. STATUS is said again with the next tick. frame[1] is the type. */
static bool send(const uint8_t *frame, uint8_t length)
{
	uint8_t keep = 0;

	if (frame[1] == TYPE_STATUS) {
		keep = FRAMES_ANSWERS + FRAME_FEEDBACK;
	} else if (frame[1] == TYPE_FEEDBACK) {
		keep = FRAMES_ANSWERS;
	}
	return uart_send(frame, length, keep);
}

static struct tau_board board = {
	.channels = map_channels,
	.status_ms = STATUS_MS,
	.firmware = FIRMWARE,
	.power = map_power,
	.setpoint = map_setpoint,
	.output = map_output,
	.count = map_count,
	.recount = map_recount,
	.raw = map_raw,
	.switches = map_switches,
	.estop = map_estop,
	.send = send,
};

/* Sleeps until the next interrupt, unless one has left something to do just now. */
static void idle(uint8_t passed)
{
	cli();
	if (clock_ms == passed && !uart_waiting()) {
		SMCR = _BV(SE); /* idle: the timers and the UART go on */
		sei(); /* takes effect after the next instruction: nothing comes in between */
		sleep_cpu();
		SMCR = 0;
	}
	sei();
}

/* Hands over some bytes, up to the end of a frame: what that asked for may have taken a
 * while. False: there was none. */
static bool receive(void)
{
	uint8_t byte = 1;
	uint8_t n = 0;

	while (n < BYTES && byte != 0 && uart_receive(&byte)) {
		mark_begin(SPAN_RECEIVE);
		tau_receive(byte);
		mark_end(SPAN_RECEIVE);
		n++;
	}
	return n != 0;
}

int main(void)
{
	map_safe();
	board.joints = map_joints;
	board.outputs = map_outputs;
	board.inputs = map_inputs;
	board.brown_out = boot_was_brown_out();
	board.watchdog = boot_was_watchdog();
	board.boot = boot_number();

	tau_begin(&board);
	uart_begin();
	map_begin();
	sei();

	uint8_t passed = clock_ms;
	for (;;) {
		uint8_t late = (uint8_t)(clock_ms - passed);

		if (late > LATE_MS) {
			passed = (uint8_t)(passed + late - 1);
			tau_overload();
		}
		if (late != 0) {
			passed++;
			mark_begin(SPAN_TICK);
			tau_tick();
			mark_end(SPAN_TICK);
			map_tick();
			/* Here only: a loop without ticks is as dead as none. */
			wdt_reset();
		}
		if (!receive()) {
			idle(passed);
		}
	}
}
