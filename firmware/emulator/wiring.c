#include "wiring.h"

#include <stddef.h>
#include <string.h>

enum { NO = WIRING_NO_ADC };

#define SERVO8_PINS                                                                         \
	{                                                                                       \
		{ ROLE_SERVO, 0, 'D', 3, false }, { ROLE_SERVO, 1, 'D', 4, false },                 \
		{ ROLE_SERVO, 2, 'D', 5, false }, { ROLE_SERVO, 3, 'D', 6, false },                 \
		{ ROLE_SERVO, 4, 'D', 7, false }, { ROLE_SERVO, 5, 'B', 0, false },                 \
		{ ROLE_SERVO, 6, 'B', 1, false }, { ROLE_SERVO, 7, 'B', 2, false },                 \
		{ ROLE_BUTTON, 0, 'D', 2, false },                                                  \
		{ ROLE_OUTPUT, 0, 'B', 5, false }, { ROLE_OUTPUT, 1, 'B', 4, false },               \
		{ ROLE_PWM, 2, 'B', 3, false },                                                     \
		{ ROLE_SWITCH, 0, 'C', 0, false }, { ROLE_SWITCH, 1, 'C', 1, false },               \
		{ ROLE_SWITCH, 2, 'C', 2, false }, { ROLE_SWITCH, 3, 'C', 3, false },               \
		{ ROLE_SWITCH, 4, 'C', 4, false }, { ROLE_SWITCH, 5, 'C', 5, false },               \
	}

static const struct wiring maps[] = {
	/* Normally closed contacts to ground: pressed, reached or broken is high. */
	{ "servo2", 2, 6, SERVO8_PINS, { 0, 1, NO, NO, NO, NO, NO, NO }, 0 },
	{ "servo8", 8, 6, SERVO8_PINS, { 0, 1, 2, 3, 4, 5, NO, NO }, 0 },
	{
		"stepper3", 3, 3,
		{
			{ ROLE_STEP, 0, 'D', 2, false }, { ROLE_DIR, 0, 'D', 5, false },
			{ ROLE_STEP, 1, 'D', 3, false }, { ROLE_DIR, 1, 'D', 6, false },
			{ ROLE_STEP, 2, 'D', 4, false }, { ROLE_DIR, 2, 'D', 7, false },
			{ ROLE_ENABLE, 0, 'B', 0, true },
			{ ROLE_BUTTON, 0, 'C', 0, false },
			{ ROLE_OUTPUT, 0, 'B', 5, false }, { ROLE_OUTPUT, 1, 'C', 3, false },
			{ ROLE_PWM, 2, 'B', 3, false },
			{ ROLE_SWITCH, 0, 'B', 1, false }, { ROLE_SWITCH, 1, 'B', 2, false },
			{ ROLE_SWITCH, 2, 'B', 4, false },
		},
		{ NO, NO, NO, NO, NO, NO, NO, NO }, 0,
	},
	/* Of somebody else's firmware: an Arduino Uno with servos at pins 9, 10 and 2, their
	 * feedback at A0 to A2, outputs at 13 and 12, PWM at 11, a PCA9685 at A4 and A5. */
	{
		"uno", 3, 0,
		{
			{ ROLE_SERVO, 0, 'B', 1, false }, { ROLE_SERVO, 1, 'B', 2, false }, { ROLE_SERVO, 2, 'D', 2, false },
			{ ROLE_OUTPUT, 0, 'B', 5, false }, { ROLE_OUTPUT, 1, 'B', 4, false }, { ROLE_PWM, 2, 'B', 3, false },
		},
		{ 0, 1, 2, NO, NO, NO, NO, NO }, 0x40,
	},
	/* Of testdata/test.c, by which the bench itself is tested. */
	{
		"test", 3, 1,
		{
			{ ROLE_SERVO, 0, 'B', 1, false }, { ROLE_SERVO, 1, 'B', 2, false },
			{ ROLE_STEP, 2, 'D', 2, false }, { ROLE_DIR, 2, 'D', 5, false },
			{ ROLE_ENABLE, 0, 'B', 0, true },
			{ ROLE_OUTPUT, 0, 'B', 5, false }, { ROLE_PWM, 1, 'B', 3, false },
			{ ROLE_SWITCH, 0, 'B', 4, true }, { ROLE_BUTTON, 0, 'C', 5, false },
		},
		{ 0, NO, NO, NO, NO, NO, NO, NO }, 0,
	},
};

const struct wiring *wiring_of(const char *name)
{
	for (size_t i = 0; i < sizeof maps / sizeof maps[0]; i++)
		if (strcmp(maps[i].name, name) == 0)
			return &maps[i];
	return NULL;
}

bool wiring_has(const struct wiring *w, enum role role, uint8_t index)
{
	for (const struct wire *p = w->pins; p->role != ROLE_END; p++)
		if (p->role == role && p->index == index)
			return true;
	return false;
}
