/* details: what a researcher asks for after the first screen. */
#include "report/report.h"
void report_details(const struct report *r, FILE *out) { (void)r, (void)out; }
