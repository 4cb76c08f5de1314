/* units: quantities as users write them ("6 MiB", "720 GB/s", "1.4 GHz", "20 us"), kept exactly.
 *
 * Every quantity is a whole number of its base unit (bytes, bytes per second, hertz, picoseconds);
 * "1.4 GHz" is 1400000000, and a text that is no whole number of base units is refused, never
 * rounded. Sizes are binary (KiB, MiB, GiB) since "KB" means two things; rates, frequencies and
 * times are decimal. */
#ifndef ATOLL_CONFIG_UNITS_H
#define ATOLL_CONFIG_UNITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum quantity { QUANTITY_PLAIN, QUANTITY_BYTES, QUANTITY_RATE, QUANTITY_FREQ, QUANTITY_TIME };

/* Parses text; on failure returns NULL-terminated advice in *why (static text) and false.
 * A plain number may be followed by 'plain_unit' ("20000 cycles"), when that is not NULL. */
bool units_parse(const char *text, enum quantity kind, const char *plain_unit, uint64_t *value,
                 const char **why);

/* The shortest exact text in the largest fitting unit; returns buf. */
enum { UNITS_TEXT_MAX = 64 };
char *units_print(uint64_t value, enum quantity kind, char buf[UNITS_TEXT_MAX]);

#endif
