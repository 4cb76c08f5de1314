/* coherence_software: copies live for an epoch (CARVE-SWC). organisation numa starts an epoch of a GPU at acquires
 * of its SMs and, with an RDC, at kernel ends; boundaries drop the LLC lines. The home sends nothing. */
#include "llc/coherence.h"

const struct coherence_ops coherence_software = {.has_epochs = true, .strong_to_home = true};
