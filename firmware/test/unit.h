#ifndef UNIT_H
#define UNIT_H

void unit_test(void);

#endif
