/* ShiftConv: forward convolution on NVIDIA Hopper and Blackwell GPUs, as a C API (C99, usable from C++).
 *
 * Phases
 *   describe   fill a shiftconv_problem_t                        shiftconv_problem_validate, shiftconv_problem_describe
 *              of two matrices: shiftconv_gemm
 *   support    ask an algorithm: yes, or a reason                shiftconv_support
 *   plan       from the properties of a device                   shiftconv_plan_create, shiftconv_plan_describe
 *              or by measurement on a device, with a cache file  shiftconv_plan_autotune
 *   bind       give a plan the addresses of its tensors, once    shiftconv_bind
 *   run        enqueue the work in a stream                      shiftconv_binding_run, shiftconv_binding_run_with (other tensors),
 *                                                                shiftconv_run (without a binding)
 *
 * Devices are NVIDIA GPUs, through the CUDA driver, and emulated devices, which execute the PTX of the same kernels on the
 * host. The library links nothing of CUDA and works on machines that have no CUDA driver. Emulated devices are in a
 * library of their own, libshiftconv_emulated.so, which this one loads from its own folder when one is opened.
 *
 * Rules that hold for every function
 *  - Errors. A function that can fail returns shiftconv_status_t. On anything but SHIFTCONV_STATUS_SUCCESS,
 *    shiftconv_last_error() gives one sentence that names the argument or field and the limit. A function that fails leaves its
 *    output arguments unchanged, unless stated otherwise. No exception leaves the library.
 *  - Threads. Any function may be called from several host threads at once, also on the same handles.
 *  - Handles. A handle is a number that is never used again. Using a handle after it was closed, closing it twice, or passing
 *    one of another kind is an error like any other.
 *  - Structures. Every structure begins with `size`, its sizeof as the caller compiled it; the _INIT macros set it. Fields that
 *    the caller's version lacks take the values of the _INIT macro. Bytes that the library does not know must be 0. A size
 *    below that of the structure's first release (SHIFTCONV_*_SIZE_0_2, _0_3) is refused.
 *  - Texts. Functions that write text take (buffer, size, needed). They write at most `size` bytes, the terminating zero
 *    included, and set *needed to the size of the whole text with its zero. A text that does not fit is cut, and the call
 *    succeeds; compare *needed with `size`. `buffer` may be NULL when `size` is 0. `needed` may be NULL.
 *  - Strings returned as const char* belong to the library. The caller never frees them.
 */
#ifndef SHIFTCONV_SHIFTCONV_H
#define SHIFTCONV_SHIFTCONV_H

#include <stddef.h>
#include <stdint.h>

#define SHIFTCONV_VERSION_MAJOR 0
#define SHIFTCONV_VERSION_MINOR 3
#define SHIFTCONV_VERSION_PATCH 0
/** The version as one number, which grows with every release: major * 10000 + minor * 100 + patch. */
#define SHIFTCONV_VERSION (SHIFTCONV_VERSION_MAJOR * 10000 + SHIFTCONV_VERSION_MINOR * 100 + SHIFTCONV_VERSION_PATCH)

#if defined(__GNUC__)
#define SHIFTCONV_API __attribute__((visibility("default")))
#else
#define SHIFTCONV_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ------------------------------------------------------------------------------------------- version and status */

/** SHIFTCONV_VERSION of the loaded library. Its ABI is that of this header when the major versions are equal; while the major
 *  version is 0, when the minor versions are equal, too. */
SHIFTCONV_API int shiftconv_version(void);

/** Version of the loaded library as text, "0.3.0". */
SHIFTCONV_API const char* shiftconv_version_string(void);

typedef enum shiftconv_status {
  SHIFTCONV_STATUS_SUCCESS = 0,
  SHIFTCONV_STATUS_INVALID_ARGUMENT = 1,  /**< a value is wrong in itself: null, out of range, misaligned, contradictory */
  SHIFTCONV_STATUS_UNSUPPORTED = 2,       /**< legal, but this algorithm or device cannot do it */
  SHIFTCONV_STATUS_OUT_OF_MEMORY = 3,     /**< host or device memory */
  SHIFTCONV_STATUS_DEVICE_ERROR = 4,      /**< the CUDA driver or the emulator refused or stopped something; its text is quoted */
  SHIFTCONV_STATUS_NOT_FOUND = 5,         /**< no such device, algorithm, option or preset */
  SHIFTCONV_STATUS_INTERNAL_ERROR = 6,    /**< a defect of the library */
  SHIFTCONV_STATUS_FORCE_INT = 0x7fffffff /**< not a value: makes every int representable, so that wrong ones can be refused */
} shiftconv_status_t;

/** Name of a status, "SHIFTCONV_STATUS_UNSUPPORTED"; for a value outside the enumeration, "unknown status". Never NULL. */
SHIFTCONV_API const char* shiftconv_status_string(shiftconv_status_t status);

/** The sentence that explains the last failure on the calling host thread; "" when no call of this thread has failed. It stays
 *  valid until the next failing call on the same thread. Successful calls do not change it. */
SHIFTCONV_API const char* shiftconv_last_error(void);

/* ------------------------------------------------------------------------------------------------------- logging */

typedef enum shiftconv_log_level {
  SHIFTCONV_LOG_OFF = 0,
  SHIFTCONV_LOG_ERROR = 1,
  SHIFTCONV_LOG_WARNING = 2, /**< the initial level: for example "autotune: no cache is used: /dev/null is a device, ..." */
  SHIFTCONV_LOG_INFO = 3,
  SHIFTCONV_LOG_DEBUG = 4,
  SHIFTCONV_LOG_FORCE_INT = 0x7fffffff /**< not a value: makes every int representable, so that wrong ones can be refused */
} shiftconv_log_level_t;

/** Receives one message, without a line end. The library may call it from any host thread that uses the library, but never from
 *  two at once. It must not call shiftconv_set_log. */
typedef void (*shiftconv_log_callback_t)(shiftconv_log_level_t level, const char* message, void* user);

/** Sends messages of `level` and more severe ones to `callback`, which receives `user` unchanged. A NULL callback prints lines on
 *  stderr, as the library does initially. The environment variable SHIFTCONV_LOG (off, error, warning, info, debug) sets the
 *  initial level; any other value is ignored with a warning. */
SHIFTCONV_API shiftconv_status_t shiftconv_set_log(shiftconv_log_callback_t callback, void* user, shiftconv_log_level_t level);

/* ------------------------------------------------------------------------------------------------------- devices */

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

/* ------------------------------------------------------------------------------------------------------ problems */

/** Element types. Elements of fewer than 8 bits are packed densely, the first element in the low bits of a byte. */
typedef enum shiftconv_type {
  SHIFTCONV_TYPE_F16 = 0,  /**< IEEE binary16 */
  SHIFTCONV_TYPE_BF16 = 1, /**< bfloat16 */
  SHIFTCONV_TYPE_F32 = 2,  /**< IEEE binary32 */
  SHIFTCONV_TYPE_E4M3 = 3, /**< OCP 8-bit, no infinity */
  SHIFTCONV_TYPE_E5M2 = 4, /**< OCP 8-bit */
  SHIFTCONV_TYPE_E3M2 = 5, /**< OCP MX 6-bit */
  SHIFTCONV_TYPE_E2M3 = 6, /**< OCP MX 6-bit */
  SHIFTCONV_TYPE_E2M1 = 7, /**< OCP MX 4-bit */
  SHIFTCONV_TYPE_S8 = 8,
  SHIFTCONV_TYPE_U8 = 9,
  SHIFTCONV_TYPE_S32 = 10,   /**< as output and residual only */
  SHIFTCONV_TYPE_UE8M0 = 11, /**< block-scale factors only: powers of two */
  SHIFTCONV_TYPE_UE4M3 = 12  /**< block-scale factors only: e4m3 without a sign */
} shiftconv_type_t;

typedef enum shiftconv_compute {
  SHIFTCONV_COMPUTE_DEFAULT = 0, /**< exact products, summed in f32; integers: in s32 */
  SHIFTCONV_COMPUTE_TF32 = 1,    /**< f32 operands without their 13 low bits, summed in f32 */
  SHIFTCONV_COMPUTE_F16 = 2      /**< exact products, summed in f16 */
} shiftconv_compute_t;

typedef enum shiftconv_activation {
  SHIFTCONV_ACTIVATION_NONE = 0,
  SHIFTCONV_ACTIVATION_RELU = 1,       /**< max(x, 0); NaN stays NaN */
  SHIFTCONV_ACTIVATION_LEAKY_RELU = 2, /**< x < 0 ? activation_a * x : x */
  SHIFTCONV_ACTIVATION_CLAMP = 3,      /**< min(max(x, activation_a), activation_b) */
  SHIFTCONV_ACTIVATION_GELU_ERF = 4,   /**< x/2 * (1 + erf(x / sqrt(2))) */
  SHIFTCONV_ACTIVATION_GELU_TANH = 5,  /**< x/2 * (1 + tanh(sqrt(2/pi) * (x + 0.044715 x^3))) */
  SHIFTCONV_ACTIVATION_SILU = 6,       /**< x / (1 + exp(-x)) */
  SHIFTCONV_ACTIVATION_HARD_SWISH = 7, /**< x * min(max(x + 3, 0), 6) / 6 */
  SHIFTCONV_ACTIVATION_SIGMOID = 8,    /**< 1 / (1 + exp(-x)) */
  SHIFTCONV_ACTIVATION_TANH = 9
} shiftconv_activation_t;

/** Order of a tensor of pixels in memory; [N, C, D, H, W] in 3-D. */
typedef enum shiftconv_layout {
  SHIFTCONV_LAYOUT_NHWC = 0, /**< the channels of a pixel beside each other, as in the table at shiftconv_problem_t */
  SHIFTCONV_LAYOUT_NCHW = 1  /**< the pixels of a channel beside each other; dense */
} shiftconv_layout_t;

/** Where values behind the sum are rounded to the output's type. */
typedef enum shiftconv_rounding {
  SHIFTCONV_ROUNDING_ONCE = 0,    /**< once, where they are stored: everything before is f32 */
  SHIFTCONV_ROUNDING_SEPARATE = 1 /**< after every step, as where each is a kernel of its own; see shiftconv_problem_t */
} shiftconv_rounding_t;

typedef enum shiftconv_scale_order {
  SHIFTCONV_SCALE_ORDER_PLAIN = 0,      /**< [rows][blocks], dense */
  SHIFTCONV_SCALE_ORDER_INTERLEAVED = 1 /**< the 128x4 order of cuBLAS and cuDNN, see shiftconv_block_scale_t */
} shiftconv_scale_order_t;

/** Scale factors of a tensor, a byte each: one factor for every block of block_size neighbouring channels.
 *
 *  Factor (row, block) belongs to channels block * block_size and up of a row. The rows of input and output are their N*D*H*W and
 *  N*Z*P*Q pixels; the rows of a filter are its K*T*R*S taps. A row has ceil(channels / block_size) blocks.
 *
 *    plain        byte row * blocks + block
 *    interleaved  tiles of 128 rows x 4 blocks (512 bytes) follow one another, those of the same 128 rows first; the
 *                 factor is byte 16 * (row % 32) + 4 * (row % 128 / 32) + block % 4 of its tile. Rows are padded to a multiple
 *                 of 128 and blocks to a multiple of 4; an output's padding is written as 0.
 *
 *  All fields 0: the tensor has no scale factors. */
typedef struct shiftconv_block_scale {
  int64_t block_size; /**< channels of a block; 0: no scale factors */
  int32_t type;       /**< shiftconv_type_t: UE8M0 or UE4M3 */
  int32_t order;      /**< shiftconv_scale_order_t */
} shiftconv_block_scale_t;

/** A forward convolution (cross-correlation, as in cuDNN and PyTorch) in up to three dimensions. Start from
 *  SHIFTCONV_PROBLEM_INIT. For 2-D, leave d, t, pad_front, pad_back, stride_d and dilation_d as it sets them. All tensors are
 *  dense, except that a pixel of input, output and residual may be followed by a gap (the pixel pitches).
 *
 *    sum    = sum over t,r,s,c of
 *             (input[n, z*stride_d + t*dilation_d - pad_front, p*stride_h + r*dilation_h - pad_top,
 *                    q*stride_w + s*dilation_w - pad_left, g*C/groups + c] - input_zero_point)
 *             * (filter[k,t,r,s,c] - filter_zero_point)                              with g = k / (K/groups)
 *    v      = act(alpha * channel_scale[k] * sum + bias[k] + beta * residual[n,z,p,q,k])
 *    output = convert(v * out_scale) + output_zero_point;  amax = max(amax, |v|)
 *
 *  | tensor        | shape                | element (n,d,h,w,c), (k,t,r,s,c), (n,z,p,q,k) at           | type          |
 *  | input         | [N, D, H, W, C]      | (((n*D + d)*H + h)*W + w) * input_pixel_pitch + c          | input_type    |
 *  | filter        | [K, T, R, S, C/grps] | (((k*T + t)*R + r)*S + s) * C/groups + c                   | filter_type   |
 *  | bias          | [K]                  | k                                                          | bias_type     |
 *  | residual      | [N, Z, P, Q, K]      | (((n*Z + z)*P + p)*Q + q) * residual_pixel_pitch + k       | residual_type |
 *  | channel_scale | [K]                  | k                                                          | f32           |
 *  | output        | [N, Z, P, Q, K]      | (((n*Z + z)*P + p)*Q + q) * output_pixel_pitch + k         | output_type   |
 *  | amax          | [1]                  |                                                            | f32           |
 *
 *  with P = (H + pad_top + pad_bottom - dilation_h*(R-1) - 1) / stride_h + 1, Z and Q likewise, all rounded down. A run does
 *  not change the gap after the channels of an output pixel (output_pixel_pitch > K). If the last 4-bit or 6-bit channel fills only
 *  part of a byte, the rest of the byte is written back as it was read. Taps outside the image contribute exactly 0. With an
 *  infinite or NaN weight that holds for shift_window, which skips them; shift_stream multiplies them by zero, as im2col does,
 *  which gives NaN. Products are summed with the rounding of the tensor core. Everything after the sum is computed in f32. The
 *  conversion to output_type rounds to nearest, ties to even, and saturates except to f32, f16 and bf16.
 *
 *  With SHIFTCONV_ROUNDING_SEPARATE, for outputs of f16, bf16 and f32, v is that of a framework that runs each operation by itself:
 * it is rounded to output_type as alpha * sum, and again after each of these that the problem has: * channel_scale, + bias,
 *  + beta * residual (a fused multiply-add), the activation. Each step is f32 inside.
 *
 *  input_layout and output_layout (of output and residual) may be NCHW: element (n,d,h,w,c) of the input is then at
 *  ((n*C + c)*D + d)*H*W + h*W + w, that of output and residual likewise. Such tensors have no pixel pitch, no block scales and
 *  elements of whole bytes. Plans copy them between layouts in a workspace, before and behind the convolution in NHWC.
 *
 *  With transposed = 1 the same filter spreads every input pixel over the output, as ConvTranspose does (the gradient of a
 *  convolution by its input):
 *    sum    = sum over t,r,s,c of (input[n, (z + pad_front - t*dilation_d) / stride_d, (p + pad_top - r*dilation_h) / stride_h,
 *                                        (q + pad_left - s*dilation_w) / stride_w, g*C/groups + c] - input_zero_point)
 *             * (filter[k,t,r,s,c] - filter_zero_point)
 *  over the taps for which all three divisions are exact, with
 *    P = (H - 1) * stride_h - pad_top - pad_bottom + dilation_h*(R-1) + 1 + output_padding_h
 *  The filter's layout stays [K, T, R, S, C/groups], K being the channels of the output; it is not flipped.
 *  Such plans need a workspace.
 *
 *  With upsample_d, upsample_h or upsample_w above 1 the filter moves over an image in which every input pixel stands that often
 *  along the axis (nearest-neighbour upsampling, as decoders do before a convolution). In the formula of the sum
 *  input[n, d / upsample_d, h / upsample_h, w / upsample_w], rounded down, stands for input[n, d, h, w], and in that of P
 *  H * upsample_h for H; D and W likewise. Some algorithms read each pixel where it is repeated; "repeated" writes the larger
 *  image into the plan's workspace.
 *
 *  With split_c or split_d the input lies in two tensors, and nothing is copied to bring them together. The tensor input holds the
 *  first split_c channels of every pixel, [N, D, H, W, split_c], and second_input the others, [N, D, H, W, C - split_c]: the
 *  concatenation of a skip connection. Or input holds the first split_d slices of every image, [N, split_d, H, W, C], and
 *  second_input the others, [N, D - split_d, H, W, C]: frames that are kept, and new ones. Both are NHWC (NDHWC), each with a pixel
 *  pitch of its own: input_pixel_pitch is at least, and 0 means, the channels of input, and second_pixel_pitch likewise those
 *  of second_input. In all formulas the input is that of C channels and D slices. At most one of split_c and split_d is set, and
 *  neither in NCHW or with input_block_scale. Algorithms that read one tensor refuse such problems.
 *
 *  Not every valid problem is supported by an algorithm of this version; shiftconv_support names the field that is the reason.
 *
 *  amax keeps the largest |v| of all runs since it was set: a run raises it and never lowers it, and it becomes NaN when
 *  any v is NaN. Before the first run it must hold a finite value >= 0, such as 0; otherwise its result is undefined.
 *
 *  Lengths are counted in elements. A field that has no meaning in a problem (such as residual_type without a residual) must
 *  keep the value that SHIFTCONV_PROBLEM_INIT gives it. */
typedef struct shiftconv_problem {
  size_t size;                                      /**< sizeof of this structure as the caller compiled it */
  int64_t n, d, h, w, c;                            /**< images, depth, height, width, input channels; each >= 1 */
  int64_t k, t, r, s;                               /**< output channels, filter depth, height, width; each >= 1 */
  int64_t groups;                                   /**< >= 1, divides c and k */
  int64_t pad_front, pad_back;                      /**< >= 0 */
  int64_t pad_top, pad_bottom, pad_left, pad_right; /**< >= 0 */
  int64_t stride_d, stride_h, stride_w;             /**< >= 1 */
  int64_t dilation_d, dilation_h, dilation_w;       /**< >= 1 */
  int64_t input_pixel_pitch;                        /**< elements from one pixel to the next, >= c (with split_c: that); 0: as many */
  int64_t output_pixel_pitch;                       /**< elements from one output pixel to the next, >= k; 0 means k */
  int64_t residual_pixel_pitch;                     /**< elements from one residual pixel to the next, >= k; 0 means k */
  int32_t input_type, filter_type, output_type;     /**< shiftconv_type_t */
  int32_t bias_type;                                /**< F32, F16 or BF16 */
  int32_t residual_type;                            /**< shiftconv_type_t */
  int32_t compute;                                  /**< shiftconv_compute_t */
  shiftconv_block_scale_t input_block_scale, filter_block_scale, output_block_scale;
  int32_t input_zero_point, filter_zero_point, output_zero_point; /**< of S8 and U8 tensors */
  int32_t has_bias;                                               /**< 1: the problem has a bias; 0: it has none */
  int32_t has_channel_scale;                                      /**< 1: it has a scale for each output channel */
  int32_t has_amax;                                               /**< 1: the run also finds the largest |v| */
  float alpha;                                                    /**< factor of the sum; finite */
  float beta;                                                     /**< factor of the residual; finite; 0: no residual */
  float out_scale;                                                /**< factor of the output; finite */
  int32_t activation;                                             /**< shiftconv_activation_t */
  float activation_a, activation_b;                               /**< parameters of the activation; 0 where unused */
  int32_t transposed;                                             /**< 1: a transposed convolution, see above; 0: a convolution */
  int32_t rounding;                                               /**< shiftconv_rounding_t */
  int64_t output_padding_d, output_padding_h, output_padding_w;   /**< of transposed ones: rows added behind the last; >= 0, below
                                                                       stride or dilation */
  int64_t upsample_d, upsample_h, upsample_w;                     /**< how often an input pixel is repeated, >= 1; transposed: 1 */
  int32_t input_layout, output_layout;                            /**< shiftconv_layout_t */
  int64_t split_c, split_d;                                       /**< channels, or slices of an image, of the tensor input, below c
                                                                       and d; second_input has the others; 0: not split there */
  int64_t second_pixel_pitch;                                     /**< elements from one pixel of second_input to the next, >= its
                                                                       channels; 0 means these */
} shiftconv_problem_t;

#define SHIFTCONV_PROBLEM_INIT                                                                                                   \
  {                                                                                                                              \
    sizeof(shiftconv_problem_t), 0, 1, 0, 0, 0, 0, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 0, 0, 0, SHIFTCONV_TYPE_F16,  \
        SHIFTCONV_TYPE_F16, SHIFTCONV_TYPE_F16, SHIFTCONV_TYPE_F32, SHIFTCONV_TYPE_F16, SHIFTCONV_COMPUTE_DEFAULT, {0, 0, 0},    \
        {0, 0, 0}, {0, 0, 0}, 0, 0, 0, 0, 0, 0, 1.0f, 0.0f, 1.0f, SHIFTCONV_ACTIVATION_NONE, 0.0f, 0.0f, 0, 0, 0, 0, 0, 1, 1, 1, \
        0, 0, 0, 0, 0                                                                                                            \
  }
#define SHIFTCONV_PROBLEM_SIZE_0_2 328

/** Makes a problem the product of two matrices,
 *
 *    D[m][n] = act(alpha * channel_scale[n] * sum over k of A[m][k] * B[n][k] + bias[n] + beta * residual[m][n])
 *
 *  which is a convolution whose input is A, an image of one row with M pixels of K channels; whose filter is B, N filters of one tap
 *  with K channels; and whose output is D. Everything that holds for a convolution holds for it: plans, bindings, epilogue, block
 *  scales. On Blackwell the algorithm "gemm" is made for it; on Hopper it is planned as a 1x1 convolution.
 *
 *  Sets the extents, groups, paddings, strides and dilations, and leaves all other fields as they are: types, pitches (elements
 * from one row of A, D or the residual to the next), block scales, zero points and epilogue are set before or after.
 *  @param m, n, k  1 .. 2^31 - 1. B and A are read along k: neither is transposed.
 *  @param problem  initialised, for example with SHIFTCONV_PROBLEM_INIT. */
SHIFTCONV_API shiftconv_status_t shiftconv_gemm(int64_t m, int64_t n, int64_t k, shiftconv_problem_t* problem);

/** Checks a problem by itself: every field in range, a non-empty output, sizes that can be addressed. The sentence names the
 *  field. A valid problem may still be one that no algorithm supports; ask shiftconv_support. */
SHIFTCONV_API shiftconv_status_t shiftconv_problem_validate(const shiftconv_problem_t* problem);

/** Writes Z, P and Q, the extents of the output of a valid problem. Any of the pointers may be NULL. */
SHIFTCONV_API shiftconv_status_t shiftconv_problem_output_size(const shiftconv_problem_t* problem, int64_t* z, int64_t* p,
                                                               int64_t* q);

/** Sizes of the tensors of a problem in bytes; 0 where the problem has no such tensor. */
typedef struct shiftconv_tensor_bytes {
  size_t size; /**< sizeof of this structure as the caller compiled it */
  size_t input, filter, bias, residual, channel_scale, input_scale, filter_scale, output, output_scale, amax, second_input;
} shiftconv_tensor_bytes_t;

#define SHIFTCONV_TENSOR_BYTES_INIT \
  { sizeof(shiftconv_tensor_bytes_t), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }
#define SHIFTCONV_TENSOR_BYTES_SIZE_0_2 88

/** Writes the bytes that each tensor of a valid problem spans in memory, from its first to its last element. A gap after the
 *  last pixel is not counted. */
SHIFTCONV_API shiftconv_status_t shiftconv_problem_tensor_bytes(const shiftconv_problem_t* problem,
                                                                shiftconv_tensor_bytes_t* bytes);

/** Writes a problem as one line, for logs and files: "1x56x56x64 f16 * 64x3x3x64 pad 1,1,1,1 -> 1x56x56x64 f16 bias relu". */
SHIFTCONV_API shiftconv_status_t shiftconv_problem_describe(const shiftconv_problem_t* problem, char* buffer, size_t size,
                                                            size_t* needed);

/** Reads a line that shiftconv_problem_describe wrote, and gives the same problem, field by field. Lines written by hand may
 *  leave out the output's shape ("1x56x56x64 f16 * 64x3x3x64 pad 1,1,1,1 -> f16") and whatever has the value of
 *  SHIFTCONV_PROBLEM_INIT.
 *
 *  Input, filter and output may each be followed by these words, in any order:
 *    input   split_c N, split_d N, pitch N, second_pitch N, zero N, scale TYPE/BLOCK or TYPE/BLOCK/interleaved, upsample h,w, nchw
 *    filter  a type (otherwise the input's), groups N, pad top,bottom,left,right, stride h,w, dilation h,w, transposed,
 *            output_padding h,w, compute tf32 or f16, zero N, scale as above
 *    output  pitch N, alpha X, channel_scale, bias [TYPE], residual BETA, residual_type TYPE, residual_pitch N, an activation
 *    with its
 *            parameters (leaky_relu A, clamp A,B), amax, rounding separate, nchw, out_scale X, zero N, scale as above
 *  In 3-D, shapes have five extents, pads six numbers (front and back first), strides, dilations, output paddings and upsample
 * three.
 *  @param problem its `size` must be set. On success the problem is valid. */
SHIFTCONV_API shiftconv_status_t shiftconv_problem_parse(const char* text, shiftconv_problem_t* problem);

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
  const char* options;      /**< its options, "tile_n=64,producer=register_store"; NULL: none. See shiftconv_algorithm_options */
  uint32_t multiprocessors; /**< the most that a run may occupy: no launch of the plan has more CTAs; 0: all of the device. Plans by
                                 measurement must leave it 0 */
  uint32_t reserved;        /**< 0 */
} shiftconv_plan_options_t;

#define SHIFTCONV_PLAN_OPTIONS_INIT \
  { sizeof(shiftconv_plan_options_t), NULL, NULL, 0, 0 }
#define SHIFTCONV_PLAN_OPTIONS_SIZE_0_2 24

/** Makes a plan. Planning is deterministic and touches no device. Every algorithm that supports the problem offers candidates,
 *  with estimates from one cost model. The shortest time wins; within one percent, the candidate that relies on the fewest
 *  unproven behaviours of the hardware.
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
 *  Errors: SHIFTCONV_STATUS_INVALID_ARGUMENT for bytes that are damaged or incomplete (they end with a checksum), of another version
 *  of the library, which the sentence names, or of a build that plans differently. The checksum detects accidents. Forged
 *  bytes can give a plan other than the stored one, but only a plan that the library itself could make. */
SHIFTCONV_API shiftconv_status_t shiftconv_plan_from_bytes(const void* bytes, size_t size, shiftconv_plan_t* plan);

/** Destroys a plan. Bindings of it and work that was enqueued with it are not affected. NULL is allowed and does nothing. */
SHIFTCONV_API shiftconv_status_t shiftconv_plan_destroy(shiftconv_plan_t plan);

/** Writes several lines for people: problem, algorithm, options, launches, tile, memory, counted traffic, modelled time. */
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

/** Writes the bytes of device memory that a run needs as workspace. It is 0, except for zero points of input or filter on
 *  tensor cores, for transposed convolutions, for upsampled inputs that "repeated" writes there and for tensors in NCHW. Runs that
 *  may overlap in time each need a workspace of their own. */
SHIFTCONV_API shiftconv_status_t shiftconv_plan_workspace_size(shiftconv_plan_t plan, size_t* bytes);

/** Loads the plan's kernels on a device, so that the first binding need not. Optional. */
SHIFTCONV_API shiftconv_status_t shiftconv_plan_prepare(shiftconv_plan_t plan, shiftconv_device_t device);

/* ----------------------------------------------------------------------------------------------------------- run */

/** Device memory of the tensors of a run; shapes and layouts as in shiftconv_problem_t. Exactly the tensors that the problem has
 *  are set, the others are NULL. All are aligned to 16 bytes, the workspace to 256. What is written (output, output_scale, amax,
 *  workspace) must not overlap any other tensor. Start from SHIFTCONV_TENSORS_INIT. */
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
} shiftconv_tensors_t;

#define SHIFTCONV_TENSORS_INIT \
  { sizeof(shiftconv_tensors_t), NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL }
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
 *  threads. As shiftconv_binding_run, but it checks the tensors and encodes their tensor maps, in memory of its own stack: it neither
 *  allocates nor synchronises. It takes one lock for reading, to find the handle.
 *  @param tensors is read before the call returns. The device memory must stay valid until the stream has completed this run.
 *  Errors: those of shiftconv_bind for the tensors, those of shiftconv_binding_run. */
SHIFTCONV_API shiftconv_status_t shiftconv_binding_run_with(shiftconv_binding_t binding, const shiftconv_tensors_t* tensors,
                                                            shiftconv_stream_t stream);

/** shiftconv_bind, shiftconv_binding_run and shiftconv_binding_destroy in one call. Once the plan's kernels are on the device
 *  (shiftconv_plan_prepare, or the first run), it neither allocates nor synchronises. It checks the tensors, encodes their tensor
 * maps and looks up the kernels each time; to run the same tensors repeatedly, keep a binding. */
SHIFTCONV_API shiftconv_status_t shiftconv_run(shiftconv_plan_t plan, shiftconv_device_t device, const shiftconv_tensors_t* tensors,
                                               shiftconv_stream_t stream);

/* ------------------------------------------------------------------------------------------------------- helpers */

/* What inference runtimes need between convolutions, so that activations stay on the device. Each call enqueues one launch of a
 * plain kernel in `stream` (NULL: the default stream) and, like shiftconv_binding_run, neither synchronises nor, once the kernels
 * are loaded, allocates; it can then be captured in a CUDA graph. Arguments are checked in every call; the sentence names field and
 * limit. Tensors lie in device memory, aligned to their elements (to four of them: faster, where pitches and channels are multiples
 * of four, too); what is written must not overlap what is read. Lengths, strides and pitches are counted in elements. Arithmetic is
 * f32, and the conversion to the output type rounds to nearest, ties to even, with infinity beyond the largest number. A tensor has
 * less than 2^31 elements. */

/** Loads the kernels of all helpers on a device, so that their first runs need not. Optional. */
SHIFTCONV_API shiftconv_status_t shiftconv_helpers_prepare(shiftconv_device_t device);

/** A copy between any two layouts of up to five axes, with a conversion of types: NCHW to NHWC and back, filters KCRS to KRSC, one
 *  tensor into a range of channels of another, each pixel repeated (a stride of 0). Element (i0,...,i4) of the destination, at
 *  i0 * destination_stride[0] + ..., becomes that of the source, at i0 * source_stride[0] + .... Fastest where
 * destination_stride[4] is 1. Start from SHIFTCONV_RELAYOUT_INIT, and leave leading axes as it sets them where there are fewer. */
typedef struct shiftconv_relayout {
  size_t size;                           /**< sizeof of this structure as the caller compiled it */
  int64_t extent[5];                     /**< >= 1 */
  int64_t source_stride[5];              /**< >= 0 */
  int64_t destination_stride[5];         /**< >= 1, unless the extent is 1; no element is written twice */
  int32_t source_type, destination_type; /**< shiftconv_type_t: equal ones of 8 bits or more, or two of F32, F16 and BF16 */
} shiftconv_relayout_t;

#define SHIFTCONV_RELAYOUT_INIT \
  { sizeof(shiftconv_relayout_t), {1, 1, 1, 1, 1}, {0, 0, 0, 0, 0}, {0, 0, 0, 0, 0}, SHIFTCONV_TYPE_F16, SHIFTCONV_TYPE_F16 }
#define SHIFTCONV_RELAYOUT_SIZE_0_3 136

SHIFTCONV_API shiftconv_status_t shiftconv_relayout_run(shiftconv_device_t device, const shiftconv_relayout_t* relayout,
                                                        const void* source, void* destination, shiftconv_stream_t stream);

typedef enum shiftconv_pool_kind {
  SHIFTCONV_POOL_MAXIMUM = 0,           /**< of the taps inside the image; NaN if one of them is; minus infinity if there is none */
  SHIFTCONV_POOL_AVERAGE = 1,           /**< of the taps inside the image; NaN if there is none */
  SHIFTCONV_POOL_FORCE_INT = 0x7fffffff /**< not a value: makes every int representable, so that wrong ones can be refused */
} shiftconv_pool_kind_t;

/** Pooling over windows of r x s taps: input [N, H, W, C] to output [N, P, Q, C], with P and Q as in shiftconv_problem_t. Over a
 * whole image: r = h, s = w. Start from SHIFTCONV_POOL_INIT. */
typedef struct shiftconv_pool {
  size_t size;                                      /**< sizeof of this structure as the caller compiled it */
  int64_t n, h, w, c, r, s;                         /**< each >= 1 */
  int64_t pad_top, pad_bottom, pad_left, pad_right; /**< >= 0 */
  int64_t stride_h, stride_w;                       /**< >= 1 */
  int64_t dilation_h, dilation_w;                   /**< >= 1 */
  int64_t input_pixel_pitch, output_pixel_pitch;    /**< elements from one pixel to the next, >= c; 0 means c */
  int32_t type;                                     /**< shiftconv_type_t of both: F32, F16 or BF16 */
  int32_t kind;                                     /**< shiftconv_pool_kind_t */
  int32_t count_padding;                            /**< 1: averages divide by r * s; 0: by the number of taps inside the image */
  int32_t reserved;                                 /**< 0 */
} shiftconv_pool_t;

#define SHIFTCONV_POOL_INIT \
  { sizeof(shiftconv_pool_t), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 0, 0, SHIFTCONV_TYPE_F16, SHIFTCONV_POOL_MAXIMUM, 0, 0 }
#define SHIFTCONV_POOL_SIZE_0_3 152

SHIFTCONV_API shiftconv_status_t shiftconv_pool_run(shiftconv_device_t device, const shiftconv_pool_t* pool, const void* input,
                                                    void* output, shiftconv_stream_t stream);

typedef enum shiftconv_operation {
  SHIFTCONV_OPERATION_NONE = 0,              /**< there is no b */
  SHIFTCONV_OPERATION_ADD = 1,               /**< a + b */
  SHIFTCONV_OPERATION_MULTIPLY = 2,          /**< a * b */
  SHIFTCONV_OPERATION_FORCE_INT = 0x7fffffff /**< not a value: makes every int representable, so that wrong ones can be refused */
} shiftconv_operation_t;

/** output[row][i] = activation(operation(a[row][i], b[row / rows_of_b][i])) for each of `rows` pixels of c channels. The output may
 * be a or b itself, where addresses, pitches and types are equal and, for b, rows_of_b is 1. Start from SHIFTCONV_POINTWISE_INIT.
 */
typedef struct shiftconv_pointwise {
  size_t size;                            /**< sizeof of this structure as the caller compiled it */
  int64_t rows, c;                        /**< each >= 1 */
  int64_t a_pitch, b_pitch, output_pitch; /**< elements from one row to the next, >= c; 0 means c */
  int64_t rows_of_b;                      /**< rows of a that share a row of b: H * W for a factor for each channel of an image */
  int32_t a_type, b_type, output_type;    /**< shiftconv_type_t: F32, F16 or BF16 */
  int32_t operation;                      /**< shiftconv_operation_t */
  int32_t activation;                     /**< shiftconv_activation_t */
  float activation_a, activation_b;       /**< parameters of the activation; finite */
  int32_t reserved;                       /**< 0 */
} shiftconv_pointwise_t;

#define SHIFTCONV_POINTWISE_INIT                                                                                 \
  {                                                                                                              \
    sizeof(shiftconv_pointwise_t), 0, 0, 0, 0, 0, 1, SHIFTCONV_TYPE_F16, SHIFTCONV_TYPE_F16, SHIFTCONV_TYPE_F16, \
        SHIFTCONV_OPERATION_NONE, SHIFTCONV_ACTIVATION_NONE, 0.0f, 0.0f, 0                                       \
  }
#define SHIFTCONV_POINTWISE_SIZE_0_3 88

/** @param b NULL with SHIFTCONV_OPERATION_NONE. */
SHIFTCONV_API shiftconv_status_t shiftconv_pointwise_run(shiftconv_device_t device, const shiftconv_pointwise_t* pointwise,
                                                         const void* a, const void* b, void* output, shiftconv_stream_t stream);

/** Group normalisation of [N, pixels, C]: the channels of an image are in `groups` groups of neighbours, and
 * output = activation((input - mean) / sqrt(variance + epsilon) * scale[channel] + bias[channel]), with mean and variance (divided
 * by the number of elements) of all pixels of the group. groups = c is instance normalisation. The output may be the input itself,
 * where the pitches are equal. Start from SHIFTCONV_NORMALIZE_INIT. */
typedef struct shiftconv_normalize {
  size_t size;                                   /**< sizeof of this structure as the caller compiled it */
  int64_t n, pixels, c, groups;                  /**< each >= 1; groups divides c */
  int64_t input_pixel_pitch, output_pixel_pitch; /**< elements from one pixel to the next, >= c; 0 means c */
  float epsilon;                                 /**< finite, >= 0 */
  int32_t type;                                  /**< shiftconv_type_t of input and output: F32, F16 or BF16 */
  int32_t parameter_type;                        /**< shiftconv_type_t of scale and bias: F32, F16 or BF16 */
  int32_t activation;                            /**< shiftconv_activation_t */
  float activation_a, activation_b;              /**< parameters of the activation; finite */
} shiftconv_normalize_t;

#define SHIFTCONV_NORMALIZE_INIT                                                                                               \
  {                                                                                                                            \
    sizeof(shiftconv_normalize_t), 0, 0, 0, 1, 0, 0, 1e-5f, SHIFTCONV_TYPE_F16, SHIFTCONV_TYPE_F32, SHIFTCONV_ACTIVATION_NONE, \
        0.0f, 0.0f                                                                                                             \
  }
#define SHIFTCONV_NORMALIZE_SIZE_0_3 80

/** @param scale, bias  c elements each; NULL: 1 and 0. */
SHIFTCONV_API shiftconv_status_t shiftconv_normalize_run(shiftconv_device_t device, const shiftconv_normalize_t* normalize,
                                                         const void* input, const void* scale, const void* bias, void* output,
                                                         shiftconv_stream_t stream);

#ifdef __cplusplus
}
#endif

#endif /* SHIFTCONV_SHIFTCONV_H */
