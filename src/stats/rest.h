/* One pass over stats.def in which only the macros defined before matter. No include guard. */
#ifndef GROUP
#define GROUP(group, help)
#endif
#ifndef STAT
#define STAT(group, name, unit, help)
#endif
#ifndef PEAK
#define PEAK(group, name, unit, help)
#endif
#ifndef HIST
#define HIST(group, name, buckets, unit, help)
#endif
#ifndef SERIES
#define SERIES(group, name, stat, unit, help)
#endif
#ifndef RATIO
#define RATIO(group, name, numerator, denominator, unit, help)
#endif
#ifndef LAW
#define LAW(group, name, left, right, help)
#endif
#ifndef END_GROUP
#define END_GROUP(group)
#endif
#include "stats/stats.def"
#include "stats/undef.h"
