/* device: what the files of api/ that make up a device share: device.c (memory, code, the end), flights.c
 * (launches), image.c (arrays, textures). */
#ifndef ATOLL_API_DEVICE_H
#define ATOLL_API_DEVICE_H

#include "api/run.h"

struct atoll_kernel {
    atoll_program *program;
    struct rt_kernel *rt;
    struct atoll_kernel *next;
};

struct atoll_program {
    atoll_device *device;
    struct rt_group *group;
    atoll_kernel *kernels;
    atoll_program *next;
};

struct atoll_device {
    atoll_sim *sim;
    struct atoll_device_options options;
    char *label;
    const char *labels[1];
    struct atoll_job job; /* for what runs with a job: timed.c, run.c */
    struct rt_context *rt;
    struct timed *timed;
    atoll_program *programs;
    struct launch_list launches;
    atoll_flight *flights; /* that were started, in that order */
    atoll_flight *waiting; /* for launches that their kernels made */
    atoll_flight *spent;   /* such launches that have ended, to be freed */
    bool broken, stopped;
    const char *interrupted_by; /* NULL: nobody did */
    char *error;                /* of the first kernel that failed */
    double start_seconds, start_cpu_seconds;
};

/* flights.c: launches that were started and have not ended stop where they are; are dropped. */
void flights_stop(atoll_device *d);
void flights_free(atoll_device *d);

struct rt_context *device_runtime(atoll_device *device);
atoll_sim *device_sim(atoll_device *device);

#endif
