#include "plant.h"

#include <math.h>
#include <string.h>

#define LAG_MS 60.0       /* of a servo behind its pulse, first order */
#define LIMP_NS 100000000 /* without a pulse for so long a servo lets go */
#define RAW_LOW_US 500.0  /* where the feedback reads 0 */
#define RAW_HIGH_US 2500.0

void plant_begin(struct plant *p)
{
	memset(p, 0, sizeof *p);
	for (int j = 0; j < PLANT_JOINTS; j++) {
		p->servo[j].at = 1500;
		p->servo[j].wire = true;
	}
}

void plant_pulse(struct plant *p, uint8_t joint, double us, uint64_t now_ns)
{
	p->servo[joint].pulse = us;
	p->servo[joint].last = now_ns;
}

void plant_step(struct plant *p, uint8_t joint, bool forward)
{
	struct plant_axis *a = &p->axis[joint];
	a->steps += forward ? 1 : -1;
	if (!a->stalled)
		a->at += forward ? 1 : -1;
}

void plant_pass(struct plant *p, uint64_t now_ns, double ms)
{
	double k = 1 - exp(-ms / LAG_MS);
	for (int j = 0; j < PLANT_JOINTS; j++) {
		struct plant_servo *s = &p->servo[j];
		if (s->pulse > 0 && !s->stalled && now_ns < s->last + LIMP_NS)
			s->at += (s->pulse - s->at) * k;
	}
}

bool plant_switch_closed(const struct plant *p, uint8_t sw)
{
	const struct plant_switch *s = &p->sw[sw];
	if (s->hand != SWITCH_AUTO)
		return s->hand == SWITCH_CLOSED;
	if (!s->modelled)
		return false;
	double at = s->servo ? p->servo[sw].at : p->axis[sw].at;
	return s->side < 0 ? at <= s->position : at >= s->position;
}

uint16_t plant_raw(const struct plant *p, uint8_t joint)
{
	const struct plant_servo *s = &p->servo[joint];
	if (s->fixed)
		return s->raw;
	if (!s->wire)
		return 0;
	double raw = (s->at - RAW_LOW_US) * PLANT_RAW_MAX / (RAW_HIGH_US - RAW_LOW_US);
	if (raw < 0)
		return 0;
	if (raw > PLANT_RAW_MAX)
		return PLANT_RAW_MAX;
	return (uint16_t)(raw + 0.5);
}
