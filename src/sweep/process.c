/* process: see process.h. */
#include "sweep/process.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

int64_t process_born(pid_t pid)
{
    char path[64], text[1024];
    (void)snprintf(path, sizeof path, "/proc/%ld/stat", (long)pid);
    FILE *f = fopen(path, "r");
    if (!f) return -1;
    const size_t len = fread(text, 1, sizeof text - 1, f);
    (void)fclose(f);
    text[len] = '\0';
    const char *p = strrchr(text, ')'); /* the name may have anything in it */
    if (!p || p[1] != ' ' || p[2] == 'Z') return -1;
    p += 2;
    for (int field = 3; field < 22; field++) {
        p = strchr(p, ' ');
        if (!p) return -1;
        p++;
    }
    return strtoll(p, NULL, 10);
}

double process_seconds(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}
