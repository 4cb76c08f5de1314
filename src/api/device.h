/* device: what files of api/ beside device.c need of a device. */
#ifndef ATOLL_API_DEVICE_H
#define ATOLL_API_DEVICE_H

#include "api/sim.h"

struct rt_context;

struct rt_context *device_runtime(atoll_device *device);
atoll_sim *device_sim(atoll_device *device);

#endif
