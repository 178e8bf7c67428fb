/* Tensors, bindings and runs. Part of shiftconv.h, whose rules hold here. */
#ifndef SHIFTCONV_RUN_H
#define SHIFTCONV_RUN_H

#include "plan.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Device memory of the tensors of a run; shapes and layouts as in shiftconv_problem_t. Exactly the tensors that the problem has
 *  are set, the others are NULL. All are aligned to 16 bytes, workspace and packed filter to 256. What is written (output,
 *  output_scale, amax, workspace, packed_filter) must not overlap any other tensor: no byte of it may be a byte of another. Slices
 *  of the channels of one larger tensor (pixel pitches that are the same in bytes) share none where they share no channel, so that
 *  a run may read some channels of a tensor and write others. Start from SHIFTCONV_TENSORS_INIT. */
typedef struct shiftconv_tensors {
  size_t size; /**< sizeof of this structure as the caller compiled it */
  const void* input;
  const void* filter;        /**< as given (KTRSC, no packing) */
  const void* bias;          /**< with has_bias */
  const void* residual;      /**< with beta other than 0 */
  const void* channel_scale; /**< with has_channel_scale */
  const void* input_scale;   /**< block-scale factors, with input_block_scale */
  const void* filter_scale;  /**< with filter_block_scale */
  void* output;
  void* output_scale;       /**< written, with output_block_scale */
  void* amax;               /**< with has_amax: raised to max |v|; holds a finite value >= 0 before, so 0 or an earlier maximum */
  void* workspace;          /**< shiftconv_plan_workspace_size bytes */
  const void* second_input; /**< with split_c or split_d */
  void* packed_filter;      /**< of the parts of a plan (packing.h): shiftconv_plan_packed_filter_size bytes */
} shiftconv_tensors_t;

#define SHIFTCONV_TENSORS_INIT \
  { sizeof(shiftconv_tensors_t), NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL }
#define SHIFTCONV_TENSORS_SIZE_0_2 96

/** A plan with its tensors on a device. A binding is immutable and may run on any number of streams and host threads at once. */
typedef struct shiftconv_binding* shiftconv_binding_t;

/** Binds a plan to tensors: checks them, loads the kernels, encodes the tensor maps.
 *  @param device  has the compute capability that the plan was made for.
 *  @param tensors is read before the call returns. The device memory must stay valid as long as the binding runs.
 *  @param binding receives the handle; destroy it with shiftconv_binding_destroy. The plan may be destroyed before it.
 *  Errors: SHIFTCONV_STATUS_INVALID_ARGUMENT names the tensor that is missing, not wanted, misaligned or overlapping. */
SHIFTCONV_API shiftconv_status_t shiftconv_bind(shiftconv_plan_t plan, shiftconv_device_t device,
                                                const shiftconv_tensors_t* tensors, shiftconv_binding_t* binding);

/** Destroys a binding. Work that was enqueued with it may still be running. NULL is allowed and does nothing. */
SHIFTCONV_API shiftconv_status_t shiftconv_binding_destroy(shiftconv_binding_t binding);

/** Enqueues the convolution of a binding.
 *  @param stream a stream of the device; NULL: the default stream.
 *
 *  The tensors must stay valid until the stream has completed this run.
 *
 *  On a CUDA device the call only enqueues the launches. It neither allocates nor synchronises, and can be captured in a CUDA
 *  graph. It reports errors of the launch itself; errors of a running kernel appear in shiftconv_stream_synchronize.
 *
 *  An emulated device has completed the work when the call returns. It checks every memory access: a tensor that is too small is
 *  SHIFTCONV_STATUS_DEVICE_ERROR, with address, instruction and source line. */
SHIFTCONV_API shiftconv_status_t shiftconv_binding_run(shiftconv_binding_t binding, shiftconv_stream_t stream);

/** Enqueues the convolution of a binding once with other tensors; the binding stays as it is, and may meanwhile run on other
 *  threads. As shiftconv_binding_run, but it checks the tensors and encodes their tensor maps, in memory of its own stack: it
 * neither allocates nor synchronises. It takes one lock for reading, to find the handle.
 *  @param tensors is read before the call returns. The device memory must stay valid until the stream has completed this run.
 *  Errors: those of shiftconv_bind for the tensors, those of shiftconv_binding_run. */
SHIFTCONV_API shiftconv_status_t shiftconv_binding_run_with(shiftconv_binding_t binding, const shiftconv_tensors_t* tensors,
                                                            shiftconv_stream_t stream);

/** shiftconv_bind, shiftconv_binding_run and shiftconv_binding_destroy in one call. Once the plan's kernels are on the device
 *  (shiftconv_plan_prepare, or the first run), it neither allocates nor synchronises. It checks the tensors, encodes their tensor
 * maps and looks up the kernels each time; to run the same tensors repeatedly, keep a binding. */
SHIFTCONV_API shiftconv_status_t shiftconv_run(shiftconv_plan_t plan, shiftconv_device_t device, const shiftconv_tensors_t* tensors,
                                               shiftconv_stream_t stream);

#ifdef __cplusplus
}
#endif

#endif /* SHIFTCONV_RUN_H */
