/* What a pin map gives main.c. One of servo8.c and stepper3.c is linked. Everything but
 * the interrupts runs in the main loop. */
#ifndef TAU_AVR_MAP_H
#define TAU_AVR_MAP_H

#include <stdbool.h>
#include <stdint.h>

#include "tau.h"

extern const uint8_t map_joints, map_outputs, map_inputs;
extern const TAU_FLASH struct tau_channel map_channels[];

/* Makes every pin safe: first of all after a reset. No interrupts yet. */
void map_safe(void);

/* Starts the timers. The clock's millisecond comes from one of them. */
void map_begin(void);

/* Runs after each tick of the core. */
void map_tick(void);

void map_power(bool on);
void map_setpoint(uint8_t joint, int32_t q);
void map_output(uint8_t output, uint16_t value);
int32_t map_count(uint8_t joint);
void map_recount(uint8_t joint, int32_t q);
uint16_t map_raw(uint8_t joint);
uint8_t map_switches(void);
bool map_estop(void);

#endif
