/* coherence_none: copies survive everything (CARVE-No-Coherence). An upper bound: loads may be stale. */
#include "llc/coherence.h"

const struct coherence_ops coherence_none = {.strong_to_home = true, .expects_stale = true};
