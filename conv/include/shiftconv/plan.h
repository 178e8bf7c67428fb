/* What can run a problem, plans and autotuning. Part of shiftconv.h, whose rules hold here. */
#ifndef SHIFTCONV_PLAN_H
#define SHIFTCONV_PLAN_H

#include "device.h"
#include "problem.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ------------------------------------------------------------------------------------------------------- support */

/** Number of algorithms in this library. */
SHIFTCONV_API int shiftconv_algorithm_count(void);

/** Name of algorithm `index`, such as "shift_window". NULL unless 0 <= index < shiftconv_algorithm_count(). */
SHIFTCONV_API const char* shiftconv_algorithm_name(int index);

/** Writes the options of an algorithm, one line for each: name, values, meaning. */
SHIFTCONV_API shiftconv_status_t shiftconv_algorithm_options(const char* algorithm, char* buffer, size_t size, size_t* needed);

/** Asks whether `algorithm` can run a problem on a device with these properties.
 *    SHIFTCONV_STATUS_SUCCESS           yes; `reason` is empty
 *    SHIFTCONV_STATUS_UNSUPPORTED       no; `reason` is one sentence
 *    SHIFTCONV_STATUS_INVALID_ARGUMENT  the problem is invalid
 *    SHIFTCONV_STATUS_NOT_FOUND         there is no such algorithm
 *  In the last two cases, too, `reason` receives the sentence. (reason, size, needed) is a text as described at the top. */
SHIFTCONV_API shiftconv_status_t shiftconv_support(const shiftconv_problem_t* problem,
                                                   const shiftconv_device_properties_t* properties, const char* algorithm,
                                                   char* reason, size_t size, size_t* needed);

/* --------------------------------------------------------------------------------------------------------- plans */

/** How a problem is computed on one kind of device. A plan is immutable, needs no device and holds no device memory. Any number
 *  of devices, streams and host threads may use it at once. */
typedef struct shiftconv_plan* shiftconv_plan_t;

/** Choices that the planner makes unless they are set. Start from SHIFTCONV_PLAN_OPTIONS_INIT. */
typedef struct shiftconv_plan_options {
  size_t size;              /**< sizeof of this structure as the caller compiled it */
  const char* algorithm;    /**< name of an algorithm; NULL: the one with the best candidate */
  const char* options;      /**< its options, "tile_n=64,group=pair"; NULL: none. See shiftconv_algorithm_options */
  uint32_t multiprocessors; /**< the most that a run may occupy: no launch of the plan has more CTAs; 0: all of the device. Plans by
                                 measurement must leave it 0 */
  int32_t batch_invariant; /**< 1: the results of an image depend neither on n nor on its place among the images, see below; 0: they
                                may. Plans by measurement must leave it 0 */
  int32_t constant_filter; /**< 1: the filter is constant. When a run is enqueued, everything that writes the filter has ended, so
                              that kernels may read it while the work before the run in its stream still ends; 0: they may not */
  int32_t no_workspace;    /**< 1: a plan whose runs need no workspace, or an error; 0: the fastest may need one */
} shiftconv_plan_options_t;

#define SHIFTCONV_PLAN_OPTIONS_INIT \
  { sizeof(shiftconv_plan_options_t), NULL, NULL, 0, 0, 0, 0 }
#define SHIFTCONV_PLAN_OPTIONS_SIZE_0_2 24

/** Makes a plan. Planning is deterministic and touches no device. Every algorithm that supports the problem offers candidates,
 *  with estimates from one cost model. The shortest time wins; within one percent, the candidate that relies on the fewest
 *  unproven behaviours of the hardware.
 *
 *  Every plan is deterministic: runs with equal tensors give equal bits. Which plan is the fastest depends on n, and plans may sum
 *  products in different orders. With batch_invariant = 1 the planner takes algorithm and options as for one image, and leaves open
 *  only how the work is spread over the device. So the outputs of an image are, bit for bit, those of the same problem with n = 1
 *  on the same kind of device with the same options. At large n that is slower than the planner's free choice.
 *  @param properties from shiftconv_device_get_properties, shiftconv_device_enumerate or shiftconv_device_preset.
 *  @param options    NULL: the planner makes every choice.
 *  @param plan       receives the handle; destroy it with shiftconv_plan_destroy.
 *  Errors: SHIFTCONV_STATUS_UNSUPPORTED when no algorithm, or not the one asked for, can run the problem (the sentence gives each
 *  reason); SHIFTCONV_STATUS_NOT_FOUND for an unknown algorithm; SHIFTCONV_STATUS_INVALID_ARGUMENT for an invalid problem or
 *  option. */
SHIFTCONV_API shiftconv_status_t shiftconv_plan_create(const shiftconv_problem_t* problem,
                                                       const shiftconv_device_properties_t* properties,
                                                       const shiftconv_plan_options_t* options, shiftconv_plan_t* plan);

/** How shiftconv_plan_autotune measures. Start from SHIFTCONV_AUTOTUNE_INIT. */
typedef struct shiftconv_autotune {
  size_t size;         /**< sizeof of this structure as the caller compiled it */
  const char* cache;   /**< path of a file that remembers choices; "": no file; NULL: the path in the environment variable
                            SHIFTCONV_AUTOTUNE_CACHE, or no file where it is not set */
  double seconds;      /**< time limit: after it only the planner's own choice is still measured; positive, at most 3600 */
  uint32_t candidates; /**< how many to measure, in the order of the cost model; 0: all */
  uint32_t reserved;   /**< 0 */
} shiftconv_autotune_t;

#define SHIFTCONV_AUTOTUNE_INIT \
  { sizeof(shiftconv_autotune_t), NULL, 1.0, 0, 0 }
#define SHIFTCONV_AUTOTUNE_SIZE_0_2 32

/** Makes a plan by measurement: runs the candidates of shiftconv_plan_create on an open device and takes the fastest. The
 *  planner's choice stays unless another one is more than one percent faster. shiftconv_plan_candidates of the plan lists what
 *  was measured.
 *
 *  The call runs kernels in a stream of its own and waits for them. Let nothing else run on the device meanwhile. The call
 *  allocates device memory for all tensors of the problem (shiftconv_problem_tensor_bytes) and for the largest workspace of a
 *  candidate, and frees it before it returns. On an emulated device the times are those of the host: they say which plan is
 *  emulated fastest.
 *
 *  With a cache, a choice is looked up by problem, the caller's options, the device's name, compute capability and
 *  multiprocessors, driver and library version; when it is there, nothing is allocated or run. Otherwise the new choice is added:
 *  the file is replaced as a whole, so that processes may share it; writers wait for each other through a file next to it, whose
 * name ends in ".lock", at most 10 s. The path must lead to a regular file of at most 16 MiB, or to none in a folder that exists;
 * symbolic links stay, and what they lead to is replaced. Anything else (a device such as /dev/null, a FIFO, a socket, a folder, a
 * file that is no such cache) is neither waited for nor touched. That, damaged lines, a file that cannot be written, candidates
 * that fail, and a time limit that was reached are warnings in the log, not errors.
 *  @param device   where to measure; the plan can be used on other devices of the same kind.
 *  @param options  NULL: every choice is left to the measurement.
 *  @param autotune NULL: SHIFTCONV_AUTOTUNE_INIT.
 *  @param plan     receives the handle, as in shiftconv_plan_create.
 *  Errors: those of shiftconv_plan_create; SHIFTCONV_STATUS_OUT_OF_MEMORY for the tensors; whatever a run of the planner's choice
 *  reports. */
SHIFTCONV_API shiftconv_status_t shiftconv_plan_autotune(const shiftconv_problem_t* problem, shiftconv_device_t device,
                                                         const shiftconv_plan_options_t* options,
                                                         const shiftconv_autotune_t* autotune, shiftconv_plan_t* plan);

/** Writes a plan as bytes, for a file: what it was made from and what was chosen, so that shiftconv_plan_from_bytes makes it again
 *  without a search or a measurement. The bytes of a plan are the same on every machine.
 *  @param buffer receives the bytes. NULL when `size` is 0: then the call only sets *needed.
 *  @param size   of the buffer in bytes. A buffer that is too small stays as it is, and the call fails with
 *                SHIFTCONV_STATUS_INVALID_ARGUMENT; *needed is set all the same.
 *  @param needed receives the number of bytes. May be NULL. */
SHIFTCONV_API shiftconv_status_t shiftconv_plan_to_bytes(shiftconv_plan_t plan, void* buffer, size_t size, size_t* needed);

/** Makes the plan that shiftconv_plan_to_bytes wrote: the same description, launches and results. Needs no device.
 *  @param bytes  may be freed when the call returns.
 *  @param plan   receives the handle, as in shiftconv_plan_create.
 *  Errors: SHIFTCONV_STATUS_INVALID_ARGUMENT for bytes that are damaged or incomplete (they end with a checksum), of another
 * version of the library, which the sentence names, or of a build that plans differently. The checksum detects accidents. Forged
 *  bytes can give a plan other than the stored one, but only a plan that the library itself could make. */
SHIFTCONV_API shiftconv_status_t shiftconv_plan_from_bytes(const void* bytes, size_t size, shiftconv_plan_t* plan);

/** Destroys a plan. Bindings of it and work that was enqueued with it are not affected. NULL is allowed and does nothing. */
SHIFTCONV_API shiftconv_status_t shiftconv_plan_destroy(shiftconv_plan_t plan);

/** Writes several lines for people: problem, algorithm, options, how products are summed, launches, tile, memory, counted traffic,
 * modelled time. */
SHIFTCONV_API shiftconv_status_t shiftconv_plan_describe(shiftconv_plan_t plan, char* buffer, size_t size, size_t* needed);

/** Writes how the plan was chosen, one line each: the chosen candidate, the others by their estimates, the algorithms that
 *  refused, and what products and tensors take at least. Unless the plan was measured, the call searches again. */
SHIFTCONV_API shiftconv_status_t shiftconv_plan_candidates(shiftconv_plan_t plan, char* buffer, size_t size, size_t* needed);

/** What the cost model predicts for a plan: modelled, not measured. */
typedef struct shiftconv_estimate {
  size_t size;       /**< sizeof of this structure as the caller compiled it */
  double seconds;    /**< of one run */
  double flops;      /**< of one run: two for each product of a filter tap, inside or outside the image */
  double bytes;      /**< every tensor once: the least that device memory moves */
  const char* bound; /**< the resource that limits the time, such as "L2 to shared memory"; a string of the library */
} shiftconv_estimate_t;

#define SHIFTCONV_ESTIMATE_INIT \
  { sizeof(shiftconv_estimate_t), 0, 0, 0, NULL }
#define SHIFTCONV_ESTIMATE_SIZE_0_2 40

SHIFTCONV_API shiftconv_status_t shiftconv_plan_estimate(shiftconv_plan_t plan, shiftconv_estimate_t* estimate);

/** Name of the plan's algorithm; NULL when `plan` is not a live plan. Valid as long as the plan. */
SHIFTCONV_API const char* shiftconv_plan_algorithm(shiftconv_plan_t plan);

/** All options of the plan, in the form of shiftconv_plan_options_t: with them the planner makes this plan again. NULL when
 *  `plan` is not a live plan. Valid as long as the plan. */
SHIFTCONV_API const char* shiftconv_plan_options(shiftconv_plan_t plan);

/** Name of the kernel that multiplies, as profilers show it: algorithm, types and tile. NULL when `plan` is not a live plan.
 *  Valid as long as the plan. */
SHIFTCONV_API const char* shiftconv_plan_kernel_name(shiftconv_plan_t plan);

/** Writes the bytes of device memory that a run needs as workspace. Most plans need none, but any problem may have one that does:
 *  plans that copy tensors or write the filter in another form are among the candidates of ordinary convolutions, too. Set
 *  shiftconv_plan_options_t.no_workspace where none can be given. Runs that may overlap in time each need a workspace of their
 *  own. */
SHIFTCONV_API shiftconv_status_t shiftconv_plan_workspace_size(shiftconv_plan_t plan, size_t* bytes);

/** Loads the plan's kernels on a device, so that the first binding need not. Optional. */
SHIFTCONV_API shiftconv_status_t shiftconv_plan_prepare(shiftconv_plan_t plan, shiftconv_device_t device);

#ifdef __cplusplus
}
#endif

#endif /* SHIFTCONV_PLAN_H */
