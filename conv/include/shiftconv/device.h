/* Devices, emulated ones too, their memory and streams. Part of shiftconv.h, whose rules hold here. */
#ifndef SHIFTCONV_DEVICE_H
#define SHIFTCONV_DEVICE_H

#include "status.h"

#ifdef __cplusplus
extern "C" {
#endif

/** An open device, with everything that the library keeps on it: loaded kernels, options, counters. */
typedef struct shiftconv_device* shiftconv_device_t;

/** A stream of a device. On CUDA devices it is a CUstream (cudaStream_t), so the application's own streams can be used. NULL is
 *  the default stream. */
typedef void* shiftconv_stream_t;

typedef enum shiftconv_device_kind {
  SHIFTCONV_DEVICE_AUTO = 0,              /**< what SHIFTCONV_DEVICE names, else the first GPU that the library supports */
  SHIFTCONV_DEVICE_CUDA = 1,              /**< a GPU through the CUDA driver */
  SHIFTCONV_DEVICE_EMULATED = 2,          /**< the PTX emulator on the host */
  SHIFTCONV_DEVICE_FORCE_INT = 0x7fffffff /**< not a value: makes every int representable, so that wrong ones can be refused */
} shiftconv_device_kind_t;

/** What a plan needs to know of a device. Start from SHIFTCONV_DEVICE_PROPERTIES_INIT: `size` must be set before a call fills the
 *  rest. */
typedef struct shiftconv_device_properties {
  size_t size;           /**< sizeof of this structure as the caller compiled it */
  int32_t kind;          /**< shiftconv_device_kind_t, never AUTO */
  int32_t compute_major; /**< 10 and 0 on a B200 */
  int32_t compute_minor; /**< one digit */
  uint32_t multiprocessors;
  uint32_t shared_bytes_per_block; /**< the most shared memory that a kernel may opt in to, in bytes; at least 49152 */
  uint32_t reserved;               /**< 0 */
  uint64_t l2_bytes;
  uint64_t global_bytes; /**< all device memory */
  char name[128];        /**< "NVIDIA B200", "emulated sm_100a" */
} shiftconv_device_properties_t;

#define SHIFTCONV_DEVICE_PROPERTIES_INIT                                 \
  {                                                                      \
    sizeof(shiftconv_device_properties_t), 0, 0, 0, 0, 0, 0, 0, 0, { 0 } \
  }
#define SHIFTCONV_DEVICE_PROPERTIES_SIZE_0_2 176

/** Number of devices: the GPUs that the CUDA driver shows, in its order, followed by the emulated devices. At least 2. */
SHIFTCONV_API shiftconv_status_t shiftconv_device_count(int* count);

/** Properties of device `index`, 0 <= index < shiftconv_device_count(), without opening it. Errors: SHIFTCONV_STATUS_NOT_FOUND.
 *  */
SHIFTCONV_API shiftconv_status_t shiftconv_device_enumerate(int index, shiftconv_device_properties_t* properties);

/** Properties of a known device by name, so that plans can be made without the device: "B200", "B300", "Thor", "H200",
 *  "emulated", "emulated_sm_90a". Upper and lower case are the same. Any other name is SHIFTCONV_STATUS_NOT_FOUND, whose sentence
 *  lists the names. */
SHIFTCONV_API shiftconv_status_t shiftconv_device_preset(const char* name, shiftconv_device_properties_t* properties);

/** Opens a device.
 *  @param kind   AUTO: what the environment variable SHIFTCONV_DEVICE names, in the notation of shiftconv_device_open_named; where
 * it is not set, empty or "auto", the first GPU of compute capability 9.0, 10.0, 10.3 or 11.0. Without one the call fails with
 * SHIFTCONV_STATUS_NOT_FOUND and lists the devices that there are: the emulated device is opened only by name.
 *  @param index  CUDA: the driver's device number. EMULATED: 0 is an sm_100a, 1 an sm_90a. AUTO: must be 0.
 *  @param device receives the handle; close it with shiftconv_device_close.
 *  Errors: SHIFTCONV_STATUS_NOT_FOUND where there is no such device, or libshiftconv_emulated.so is missing or of another build.
 *  A CUDA device retains the primary context of the GPU, the one that the CUDA runtime uses too.
 *  Each opened emulated device is a machine of its own: memory, options and counters are not shared. */
SHIFTCONV_API shiftconv_status_t shiftconv_device_open(shiftconv_device_kind_t kind, int index, shiftconv_device_t* device);

/** Opens a device by its name:
 *    "auto"              as SHIFTCONV_DEVICE_AUTO
 *    "cuda", "cuda:1"    GPU 0, GPU 1 of the CUDA driver
 *    "emulated"          the emulated sm_100a
 *    "emulated:sm_90a"   an emulated device of this architecture, sm_100a or sm_90a
 *  Any other name is SHIFTCONV_STATUS_INVALID_ARGUMENT. */
SHIFTCONV_API shiftconv_status_t shiftconv_device_open_named(const char* name, shiftconv_device_t* device);

/** Closes a device. Its streams, kernels and memory are freed once the last binding to it is destroyed; such bindings run no
 *  more. Work in its streams must have ended. NULL is allowed. */
SHIFTCONV_API shiftconv_status_t shiftconv_device_close(shiftconv_device_t device);

/** Properties of an open device. */
SHIFTCONV_API shiftconv_status_t shiftconv_device_get_properties(shiftconv_device_t device,
                                                                 shiftconv_device_properties_t* properties);

/** Allocates `bytes` bytes (at least 1) of device memory, aligned to 256 bytes. The contents are undefined. Free it with
 *  shiftconv_device_free.
 *
 *  On CUDA devices, tensors may also lie in memory from cudaMalloc or cuMemAlloc. Addresses of an emulated device may be used
 *  through this API only. */
SHIFTCONV_API shiftconv_status_t shiftconv_device_allocate(shiftconv_device_t device, size_t bytes, void** memory);

/** Frees memory from shiftconv_device_allocate. Work that uses it must have completed. NULL is allowed and does nothing. */
SHIFTCONV_API shiftconv_status_t shiftconv_device_free(shiftconv_device_t device, void* memory);

/** Copies `bytes` bytes from host memory to device memory, in the order of `stream`. Pinned host memory must stay valid and
 *  unchanged until the stream has completed this copy. Pageable host memory may be reused when the call returns. */
SHIFTCONV_API shiftconv_status_t shiftconv_copy_to_device(shiftconv_device_t device, void* destination, const void* source,
                                                          size_t bytes, shiftconv_stream_t stream);

/** Copies `bytes` bytes from device memory to host memory, in the order of `stream`. The data are there after
 *  shiftconv_stream_synchronize; until then the host memory must stay valid. */
SHIFTCONV_API shiftconv_status_t shiftconv_copy_to_host(shiftconv_device_t device, void* destination, const void* source,
                                                        size_t bytes, shiftconv_stream_t stream);

/** Sets `bytes` bytes of device memory to `value`, in the order of `stream`. */
SHIFTCONV_API shiftconv_status_t shiftconv_device_fill(shiftconv_device_t device, void* memory, uint8_t value, size_t bytes,
                                                       shiftconv_stream_t stream);

/** Creates a stream, which does not synchronise with the default stream. Destroy it with shiftconv_stream_destroy. An emulated
 *  device executes work when it is enqueued, whatever the stream. */
SHIFTCONV_API shiftconv_status_t shiftconv_stream_create(shiftconv_device_t device, shiftconv_stream_t* stream);

/** Destroys a stream from shiftconv_stream_create. Work that was enqueued in it still completes. NULL is allowed and does
 *  nothing. */
SHIFTCONV_API shiftconv_status_t shiftconv_stream_destroy(shiftconv_device_t device, shiftconv_stream_t stream);

/** Waits until all work enqueued in `stream` (NULL: the default stream) has completed, and reports the errors of that work. */
SHIFTCONV_API shiftconv_status_t shiftconv_stream_synchronize(shiftconv_device_t device, shiftconv_stream_t stream);

/** Sets an option of an emulated device for later runs.
 *
 *  | name                | initially  | values                                                                                   |
 *  | "schedule"          | "earliest" | when asynchronous operations complete: "earliest", "latest", "random", "fair"            |
 *  | "seed"              | "1"        | decimal, 0..2^64-1: seed of the schedule "random"                                        |
 *  | "numerics"          | "hardware" | "hardware": bit-level model of the tensor core; "fast": f32 FMA                          |
 *  | "hazards"           | "off"      | races and missing fences: "off", "warn" (listed in the counters), "error" (ends the run) |
 *  | "hazards.severity"  | all three  | which hazards, separated by commas: "race" (a wrong result is possible), "formal" (the   |
 *  |                     |            | PTX ISA asks for it, no known target needs it), "unproven" (rests on an open question)   |
 *  | "semantics.U<n>"    | "0"        | number or name of an alternative of the unproven hardware behaviour U<n>                 |
 *  | "semantics.file"    |            | path of a JSON file whose object "semantics" holds such choices: {"U3": 1}; the probe kit|
 *  |                     |            | (tests/probe) writes one                                                                 |
 *  | "host_threads"      | "0"        | decimal, 0..1024; 0: one for each host core                                              |
 *  | "instruction_limit" | "0"        | decimal: warp instructions of one launch; 0: no limit                                    |
 *
 *  Errors: SHIFTCONV_STATUS_NOT_FOUND for an unknown name and SHIFTCONV_STATUS_INVALID_ARGUMENT for a wrong value, whose
 *  sentences list what exists; SHIFTCONV_STATUS_UNSUPPORTED on CUDA devices. */
SHIFTCONV_API shiftconv_status_t shiftconv_device_set_option(shiftconv_device_t device, const char* name, const char* value);

typedef enum shiftconv_counters_format {
  SHIFTCONV_COUNTERS_TABLE = 0, /**< a table to read: MMAs, bytes moved per memory and engine, instructions per warp role */
  SHIFTCONV_COUNTERS_JSON = 1,  /**< one JSON object; see shiftconv_device_counters */
  SHIFTCONV_COUNTERS_FORCE_INT = 0x7fffffff /**< not a value: makes every int representable, so that wrong ones can be refused */
} shiftconv_counters_format_t;

/** Writes what the launches on an emulated device have done since it was opened, or since its counters were reset.
 *  SHIFTCONV_STATUS_UNSUPPORTED on CUDA devices.
 *
 *  The JSON format is
 *    {"launches": n, "host_seconds": x,
 *     "kernels": [{"kernel": name, "launches": n, "ctas": n, "host_seconds": x,
 *                  "mma": {shape: n}, "operations": {instruction: n}, "bytes": {engine: {traffic: n}},
 *                  "warps": [{"role": name, "warp_instructions": n, "thread_instructions": n}],
 *                  "unproven": {"U3": n}}]}
 *  "unproven" counts the uses of hardware behaviour that no public source settles. */
SHIFTCONV_API shiftconv_status_t shiftconv_device_counters(shiftconv_device_t device, shiftconv_counters_format_t format,
                                                           char* buffer, size_t size, size_t* needed);

/** Sets the counters of an emulated device to zero; SHIFTCONV_STATUS_UNSUPPORTED on CUDA devices. */
SHIFTCONV_API shiftconv_status_t shiftconv_device_reset_counters(shiftconv_device_t device);

#ifdef __cplusplus
}
#endif

#endif /* SHIFTCONV_DEVICE_H */
