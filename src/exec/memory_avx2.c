/* memory_avx2: the hot loads and stores with AVX2. */
#define MEMORY_NAME memory_avx2
#include "exec/memory_body.h"
