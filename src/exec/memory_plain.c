/* memory_plain: the hot loads and stores for any machine. */
#define MEMORY_NAME memory_plain
#include "exec/memory_body.h"
