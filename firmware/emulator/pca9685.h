/* A PCA9685 on the board's I2C bus. */
#ifndef BENCH_PCA9685_H
#define BENCH_PCA9685_H

#include <stdbool.h>
#include <stdint.h>

#include "sim_irq.h"

enum { PCA9685_CHANNELS = 16 };

struct bench;

struct pca9685 {
	struct bench *bench;
	uint8_t address; /* 7 bits; 0: there is none */
	bool away;       /* its wires are off */
	uint8_t reg[256], at;
	uint8_t selected; /* address and direction; 0: it isn't addressed */
	bool pointed;     /* the register was said since the start */
	uint64_t shown[PCA9685_CHANNELS]; /* ns */
	avr_irq_t *irq;
};

/* Puts one on the bus of the bench's chip. */
void pca9685_begin(struct pca9685 *c, struct bench *b, uint8_t address);

/* What its own supply does: all is forgotten, and all pulses have ended. */
void pca9685_power_up(struct pca9685 *c);

#endif
