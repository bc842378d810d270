/* The invariants under random frames, pieces, noise, time and inputs. */
#include "random.h"

#include <dirent.h>
#include <stdio.h>

#include "check.h"
#include "core.h"
#include "drive.h"

enum { RUNS = 2000, LENGTH = 600 };

/* Xorshift (Marsaglia, 2003): the same numbers on every machine. */
static uint32_t number(uint32_t *x)
{
	*x ^= *x << 13;
	*x ^= *x >> 17;
	*x ^= *x << 5;
	return *x;
}

void corpus_test(const char *folder)
{
	static struct drive_seen seen;
	static uint8_t data[1 << 14];
	struct dirent *entry;
	DIR *dir = opendir(folder);

	check_test("corpus");
	check_about("%s", folder);
	CHECK(dir != NULL);
	while (dir != NULL && (entry = readdir(dir)) != NULL) {
		char path[1024];
		FILE *f;

		if (entry->d_name[0] == '.') {
			continue;
		}
		(void)snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
		check_about("%s", path);
		f = fopen(path, "rb");
		CHECK(f != NULL);
		if (f != NULL) {
			drive(data, fread(data, 1, sizeof data, f), &seen);
			(void)fclose(f);
		}
	}
	if (dir != NULL) {
		(void)closedir(dir);
	}
	CHECK(seen.rests != 0);
}

void random_test(void)
{
	static struct drive_seen seen;
	static uint8_t data[LENGTH];

	check_test("random");
	for (uint32_t seed = 1; seed <= RUNS; seed++) {
		uint32_t x = seed * UINT32_C(2654435761);

		for (unsigned i = 0; i < LENGTH; i++) {
			data[i] = (uint8_t)(number(&x) >> 11);
		}
		check_about("seed %lu", (unsigned long)seed);
		drive(data, LENGTH, &seen);
	}
	check_about("after all seeds");
	(void)printf("random: %lu runs, %lu ticks, %lu motions, %lu setpoints, %lu stops, %lu steps of brakes; faults",
		     seen.rests, seen.ticks, seen.motions, seen.moved, seen.stops, seen.brakes_checked);
	for (unsigned f = 1; f < FAULTS; f++) {
		(void)printf(" %lu", seen.faults[f]);
		CHECK(seen.faults[f] != 0 || f == INTERNAL); /* which wants a broken core */
	}
	(void)printf("\n");
	CHECK_EQUAL(seen.rests, RUNS);
	CHECK(seen.motions > RUNS / 2 && seen.brakes_checked > 10 * RUNS);
}
