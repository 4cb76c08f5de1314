/* lanes_plain: the lane functions, compiled for any x86-64 (or other) machine. See lanes_impl.h. */
#define LANES_TABLE     lanes_table_plain
#define LANES_SIGNATURE lanes_signature_plain
#include "exec/lanes_impl.h"
