/* The core's tests: main FOLDER, with the folder of testdata/wire. */
#include <stdio.h>

#include "check.h"
#include "random.h"
#include "vectors.h"

int main(int argc, char **argv)
{
	if (argc != 2) {
		(void)fprintf(stderr, "usage: %s testdata/wire\n", argv[0]);
		return 2;
	}
	vectors_test(argv[1]);
	sessions_test(argv[1]);
	random_test();
	return check_end();
}
