/* What is wired to which pin, for each of the firmware's pin maps. It says the same
 * as the document that a person wires by, and is written apart from the firmware's
 * own tables so that a mistake in either shows. */
#ifndef BENCH_WIRING_H
#define BENCH_WIRING_H

#include <stdbool.h>
#include <stdint.h>

enum { WIRING_OUTPUTS = 8, WIRING_PINS = 20, WIRING_NO_ADC = 255 };

enum role { ROLE_END, ROLE_SERVO, ROLE_STEP, ROLE_DIR, ROLE_ENABLE, ROLE_OUTPUT, ROLE_PWM, ROLE_SWITCH, ROLE_BUTTON };

struct wire {
	enum role role;
	uint8_t index; /* of the joint, output or switch */
	char port;     /* 'B', 'C' or 'D' */
	uint8_t bit;
	bool low;      /* active low: enabled, closed or pressed is 0 V */
};

struct wiring {
	const char *name;
	uint8_t joints, switches;
	struct wire pins[WIRING_PINS]; /* ends with ROLE_END */
	uint8_t adc[8];                /* channel of each joint's feedback, or WIRING_NO_ADC */
	uint8_t pca9685;           /* its address on the I2C bus, 0: there is none */
};

/* Returns the wiring of a map, or NULL. */
const struct wiring *wiring_of(const char *name);

bool wiring_has(const struct wiring *w, enum role role, uint8_t index);

#endif
