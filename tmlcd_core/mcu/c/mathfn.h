/* Functions of libm in plain arithmetic: the same bits with every compiler and core. */
#ifndef TMLCD_MATHFN_H
#define TMLCD_MATHFN_H

#include <stdint.h>

float tml_log2f(float x);  /* of a positive normal number; absolute error below 1e-6 */
double tml_log(double x);  /* natural; of a positive normal number; to the last bit or two */
double tml_sqrt(double x); /* of 0 or 1e-290 .. 1e290; the nearest double */

int tml_is_finite(const float *x, uint32_t count); /* 1 if all are; 0 at an infinity or NaN */

#endif
