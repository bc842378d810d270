/* The fuzzer's way in: its bytes drive the core as those of the random tests do (drive.c).
 * A failure ends the process. */
#include <stdint.h>
#include <stdlib.h>

#include "check.h"
#include "drive.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct drive_seen seen;

	drive(data, size, &seen);
	if (check_failures() != 0) {
		abort();
	}
	return 0;
}
