/* What the board knows of its own boot. */
#ifndef TAU_AVR_BOOT_H
#define TAU_AVR_BOOT_H

#include <stdbool.h>
#include <stdint.h>

/* Why the last reset was. A bootloader that clears MCUSR hides it, unless it hands MCUSR
 * on in r2 as optiboot does. */
bool boot_was_brown_out(void);
bool boot_was_watchdog(void);

/* Another number at each boot: the low half counts the boots in the EEPROM, the high half
 * is noise. Blocks for up to 20 ms while it writes; needs the ADC, and leaves it off.
 * Call once. */
uint32_t boot_number(void);

#endif
