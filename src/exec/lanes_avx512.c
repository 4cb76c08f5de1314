/* lanes_avx512: the lane functions, compiled for AVX-512 (F, BW, DQ, VL, CD). See lanes_impl.h. */
#define LANES_TABLE     lanes_table_avx512
#define LANES_SIGNATURE lanes_signature_avx512
#include "exec/lanes_impl.h"
