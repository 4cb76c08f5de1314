/* Ends one pass over stats.def: see stats.h. No include guard: included once per pass. */
#undef GROUP
#undef STAT
#undef PEAK
#undef HIST
#undef SERIES
#undef RATIO
#undef LAW
#undef END_GROUP
