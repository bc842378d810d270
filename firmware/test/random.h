#ifndef RANDOM_H
#define RANDOM_H

void random_test(void);

#endif
