/* The core's tests: main WIRE CORPUS, the folders of the vectors and of the fuzzer's seeds. */
#include <stdio.h>

#include "check.h"
#include "random.h"
#include "unit.h"
#include "vectors.h"

#ifdef __SANITIZE_ADDRESS__
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifndef SANITIZED
#define SANITIZED 0
#endif

int main(int argc, char **argv)
{
	if (argc != 3) {
		(void)fprintf(stderr, "usage: %s testdata/wire test/corpus\n", argv[0]);
		return 2;
	}
	(void)printf("sanitizers: %s\n", SANITIZED ? "address, undefined" : "none, this compiler has none");
	vectors_test(argv[1]);
	sessions_test(argv[1]);
	unit_test();
	random_test();
	corpus_test(argv[2]);
	return check_end();
}
