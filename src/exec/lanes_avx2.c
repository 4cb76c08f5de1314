/* lanes_avx2: the lane functions, compiled for AVX2 and FMA. See lanes_impl.h. */
#define LANES_TABLE     lanes_table_avx2
#define LANES_SIGNATURE lanes_signature_avx2
#include "exec/lanes_impl.h"
