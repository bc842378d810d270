#ifndef RANDOM_H
#define RANDOM_H

/* The invariants under bytes of a generator with fixed seeds. */
void random_test(void);

/* The same under the files of the fuzzer's corpus. */
void corpus_test(const char *folder);

#endif
