/* Output line of one step, on host and device: "7 yes 50" (time, prediction, |T|), "8 (unknown) 50"
 * (further than the limit from every sample of T) or "150 no 12 alarm 101". */
#ifndef TMLCD_REPORT_H
#define TMLCD_REPORT_H

#include "tmlcd.h"

#define TML_LINE 128

void tml_report(const tml_step *step, char line[TML_LINE]);

#endif
