/* ShiftConv: forward convolution on NVIDIA Blackwell tensor cores, as a C API (C99, usable from C++).
 *
 * The phases, each a function with a printable result:
 *   describe   fill a shiftconv_problem_t                    (shiftconv_problem_validate, shiftconv_problem_describe)
 *   support    ask an algorithm: yes, or a reason            (shiftconv_support)
 *   plan       from the properties of a device only          (shiftconv_plan_create, shiftconv_plan_describe)
 *              or by measurement on a device, with a cache   (shiftconv_plan_autotune)
 *   bind       addresses of the tensors, once                (shiftconv_bind)
 *   run        a stream                                      (shiftconv_binding_run; shiftconv_run binds and runs)
 *
 * Devices: NVIDIA GPUs through the CUDA driver, and an emulated device that executes the PTX of the same kernels
 * on the host. The library loads and works on machines that have no CUDA driver. The emulated device is a library of its own,
 * libshiftconv_emulated.so, which this one loads from its own folder when an emulated device is opened.
 *
 * Rules that hold for every function
 *  - A function that can fail returns shiftconv_status_t. On anything but SHIFTCONV_STATUS_SUCCESS,
 *    shiftconv_last_error() returns one sentence that names the argument or field and the limit.
 *    Output arguments are left alone on failure unless stated otherwise. No exception leaves the library.
 *  - All functions may be called from several host threads at once, on the same handles too. A handle is a number that is
 *    never used again: using one after it was closed, closing it twice or passing one of another kind is an error like
 *    any other.
 *  - Structures begin with `size`, sizeof of the structure as the caller compiled it; their _INIT macros set it. Fields
 *    that the caller's version lacks have the values of the _INIT macro; bytes that the library does not know must be 0.
 *    A size below that of the structure's first release is refused: those sizes are SHIFTCONV_*_SIZE_0_2.
 *  - Functions that write text take (buffer, size, needed): they write at most `size` bytes including the
 *    terminating zero, and put the size that the whole text needs (with its zero) into *needed. A text that
 *    does not fit is cut and still a success; compare *needed with `size`. `buffer` may be NULL when `size`
 *    is 0, `needed` may be NULL.
 *  - Strings that are returned as const char* belong to the library and are never freed by the caller.
 */
#ifndef SHIFTCONV_SHIFTCONV_H
#define SHIFTCONV_SHIFTCONV_H

#include <stddef.h>
#include <stdint.h>

#define SHIFTCONV_VERSION_MAJOR 0
#define SHIFTCONV_VERSION_MINOR 2
#define SHIFTCONV_VERSION_PATCH 0
/** One number that grows with every release: major * 10000 + minor * 100 + patch. */
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

/** SHIFTCONV_VERSION of the library that is loaded. Same major version: same ABI; while it is 0, same minor version. */
SHIFTCONV_API int shiftconv_version(void);

/** Version of the loaded library as text, "0.2.0". */
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

/** The sentence that explains the last failure on the calling host thread; "" when no call of this thread has failed.
 *  Valid until the next failing call on the same thread. Successful calls leave it alone. */
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

/** Receives one message without a line end. May be called from any host thread that uses the library, but never from
 *  two at once. Must not call shiftconv_set_log. */
typedef void (*shiftconv_log_callback_t)(shiftconv_log_level_t level, const char* message, void* user);

/** Sends messages up to `level` to `callback` (NULL: lines on stderr, the initial state). `user` is handed through.
 *  The environment variable SHIFTCONV_LOG (off, error, warning, info, debug) sets the initial level; any other value of it
 *  is ignored with a warning. */
SHIFTCONV_API shiftconv_status_t shiftconv_set_log(shiftconv_log_callback_t callback, void* user, shiftconv_log_level_t level);

/* ------------------------------------------------------------------------------------------------------- devices */

/** A device with everything the library keeps on it (loaded kernels, options, counters). */
typedef struct shiftconv_device* shiftconv_device_t;

/** A stream of a device. On CUDA devices it is a CUstream (cudaStream_t), so streams of the application can be used;
 *  NULL is the default stream. */
typedef void* shiftconv_stream_t;

typedef enum shiftconv_device_kind {
  SHIFTCONV_DEVICE_AUTO = 0,     /**< what SHIFTCONV_DEVICE names, else the first GPU that the library supports */
  SHIFTCONV_DEVICE_CUDA = 1,     /**< a GPU through the CUDA driver */
  SHIFTCONV_DEVICE_EMULATED = 2, /**< the PTX emulator on the host */
  SHIFTCONV_DEVICE_FORCE_INT = 0x7fffffff /**< not a value: makes every int representable, so that wrong ones can be refused */
} shiftconv_device_kind_t;

/** What a plan needs to know of a device. Set `size` to sizeof(shiftconv_device_properties_t) before a call fills it
 *  (SHIFTCONV_DEVICE_PROPERTIES_INIT does). */
typedef struct shiftconv_device_properties {
  size_t size;           /**< sizeof of this structure as the caller compiled it */
  int32_t kind;          /**< shiftconv_device_kind_t, never AUTO */
  int32_t compute_major; /**< 10 and 0 on a B200 */
  int32_t compute_minor;
  uint32_t multiprocessors;
  uint32_t shared_bytes_per_block; /**< the largest a kernel may opt in to */
  uint32_t reserved;               /**< 0 */
  uint64_t l2_bytes;
  uint64_t global_bytes; /**< device memory in total */
  char name[128];        /**< "NVIDIA B200", "emulated sm_100a" */
} shiftconv_device_properties_t;

#define SHIFTCONV_DEVICE_PROPERTIES_INIT                                 \
  {                                                                      \
    sizeof(shiftconv_device_properties_t), 0, 0, 0, 0, 0, 0, 0, 0, { 0 } \
  }
#define SHIFTCONV_DEVICE_PROPERTIES_SIZE_0_2 176

/** Number of devices: the GPUs that the CUDA driver shows, in its order, and behind them the emulated devices. At least 2. */
SHIFTCONV_API shiftconv_status_t shiftconv_device_count(int* count);

/** Properties of device `index`, 0 <= index < shiftconv_device_count, without opening it. */
SHIFTCONV_API shiftconv_status_t shiftconv_device_enumerate(int index, shiftconv_device_properties_t* properties);

/** Properties of a known device by name, for planning without it: "B200", "B300", "Thor", "H200", "emulated",
 *  "emulated_sm_90a" (upper and lower case are the same). SHIFTCONV_STATUS_NOT_FOUND lists the names. */
SHIFTCONV_API shiftconv_status_t shiftconv_device_preset(const char* name, shiftconv_device_properties_t* properties);

/** Opens a device.
 *  @param kind   AUTO: what the environment variable SHIFTCONV_DEVICE names, in the notation of shiftconv_device_open_named; where it
 *                is not set, empty or "auto", the first GPU of compute capability 9.0, 10.0, 10.3 or 11.0. Without one the call fails
 *                with SHIFTCONV_STATUS_NOT_FOUND and says what there is: the emulated device is opened only where it is named.
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

/** Allocates device memory, aligned to 256 bytes. `bytes` must be positive. Contents are undefined.
 *  On CUDA devices memory from cudaMalloc or cuMemAlloc can be given to shiftconv_run as well. Addresses of the emulated
 *  device may only be used through this API. */
SHIFTCONV_API shiftconv_status_t shiftconv_device_allocate(shiftconv_device_t device, size_t bytes, void** memory);

/** Frees memory from shiftconv_device_allocate. Work that uses it must have ended. NULL is allowed. */
SHIFTCONV_API shiftconv_status_t shiftconv_device_free(shiftconv_device_t device, void* memory);

/** Copies `bytes` bytes from host memory to device memory in the order of `stream`. The host memory must stay valid
 *  until the stream reached this point (pageable host memory: it may be reused when the call returns). */
SHIFTCONV_API shiftconv_status_t shiftconv_copy_to_device(shiftconv_device_t device, void* destination, const void* source,
                                                          size_t bytes, shiftconv_stream_t stream);

/** Copies `bytes` bytes from device memory to host memory in the order of `stream`; valid after
 *  shiftconv_stream_synchronize. */
SHIFTCONV_API shiftconv_status_t shiftconv_copy_to_host(shiftconv_device_t device, void* destination, const void* source,
                                                        size_t bytes, shiftconv_stream_t stream);

/** Sets `bytes` bytes of device memory to `value` in the order of `stream`. */
SHIFTCONV_API shiftconv_status_t shiftconv_device_fill(shiftconv_device_t device, void* memory, uint8_t value, size_t bytes,
                                                       shiftconv_stream_t stream);

/** Makes a stream; it does not synchronise with the default stream. The emulated device executes work when it is
 *  enqueued, whatever the stream. */
SHIFTCONV_API shiftconv_status_t shiftconv_stream_create(shiftconv_device_t device, shiftconv_stream_t* stream);

/** Destroys a stream from shiftconv_stream_create. Work in it still completes. NULL is allowed. */
SHIFTCONV_API shiftconv_status_t shiftconv_stream_destroy(shiftconv_device_t device, shiftconv_stream_t stream);

/** Waits until everything enqueued in `stream` (NULL: the default stream) has completed, and reports its errors. */
SHIFTCONV_API shiftconv_status_t shiftconv_stream_synchronize(shiftconv_device_t device, shiftconv_stream_t stream);

/** Sets an option of an emulated device for later runs; SHIFTCONV_STATUS_UNSUPPORTED on CUDA devices.
 *
 *  | name              | values                                    | initially  |
 *  | "schedule"        | "earliest", "latest", "random": when asynchronous operations complete | "earliest" |
 *  | "seed"            | decimal, 0..2^64-1: seed of "random"      | "1"        |
 *  | "numerics"        | "hardware": tensor-core sums bit by bit; "fast": f32 FMA | "hardware" |
 *  | "hazards"         | "off", "warn" (listed in the counters), "error": races and missing fences | "off" |
 *  | "hazards.severity" | which of them, with commas: "race" (a wrong result is possible), "formal" (the PTX ISA asks for it, no
 *  |                   | known target needs it), "unproven" (rests on an open question) | all three |
 *  | "semantics.U<n>"  | number or name of an alternative for the unproven hardware behaviour U<n> | "0" |
 *  | "semantics.file"  | path of a JSON file whose object "semantics" holds such choices, {"U3": 1}; the probe kit writes one | |
 *  | "host_threads"    | decimal, 0..1024; 0: one per host core    | "0"        |
 *  | "instruction_limit" | decimal: warp instructions per launch; 0: no limit | "0" |
 *
 *  Unknown names: SHIFTCONV_STATUS_NOT_FOUND; wrong values: SHIFTCONV_STATUS_INVALID_ARGUMENT. Both list what exists. */
SHIFTCONV_API shiftconv_status_t shiftconv_device_set_option(shiftconv_device_t device, const char* name, const char* value);

typedef enum shiftconv_counters_format {
  SHIFTCONV_COUNTERS_TABLE = 0, /**< a table to read: MMAs, bytes moved per memory and engine, instructions per warp role */
  SHIFTCONV_COUNTERS_JSON = 1,  /**< one JSON object; see shiftconv_device_counters */
  SHIFTCONV_COUNTERS_FORCE_INT = 0x7fffffff /**< not a value: makes every int representable, so that wrong ones can be refused */
} shiftconv_counters_format_t;

/** What the launches on an emulated device did since it was opened or the counters were reset;
 *  SHIFTCONV_STATUS_UNSUPPORTED on CUDA devices.
 *
 *  JSON: {"launches": n, "host_seconds": x, "kernels": [{"kernel": name, "launches": n, "ctas": n, "host_seconds": x,
 *  "mma": {shape: n}, "operations": {instruction: n}, "bytes": {engine: {traffic: n}},
 *  "warps": [{"role": name, "warp_instructions": n, "thread_instructions": n}],
 *  "unproven": {"U3": n}}]}. "unproven" counts the uses of hardware behaviour that no public source settles. */
SHIFTCONV_API shiftconv_status_t shiftconv_device_counters(shiftconv_device_t device, shiftconv_counters_format_t format,
                                                           char* buffer, size_t size, size_t* needed);

/** Sets the counters of an emulated device to zero; SHIFTCONV_STATUS_UNSUPPORTED on CUDA devices. */
SHIFTCONV_API shiftconv_status_t shiftconv_device_reset_counters(shiftconv_device_t device);

/* ------------------------------------------------------------------------------------------------------ problems */

/** Element types. Types of less than 8 bits are packed densely, the first element in the low bits. */
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
  SHIFTCONV_COMPUTE_TF32 = 1,    /**< f32 operands lose their 13 low bits first */
  SHIFTCONV_COMPUTE_F16 = 2      /**< summed in f16 */
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

typedef enum shiftconv_scale_order {
  SHIFTCONV_SCALE_ORDER_PLAIN = 0,      /**< [rows][ceil(channels / block_size)] */
  SHIFTCONV_SCALE_ORDER_INTERLEAVED = 1 /**< tiles of 128 rows x 4 blocks, as cuBLAS and cuDNN take them */
} shiftconv_scale_order_t;

/** Scale factors of a tensor: one for each run of block_size channels of a pixel (filter: of a tap). The rows of the factors are
 *  the pixels, or K*T*R*S taps. All zero: the tensor has none. */
typedef struct shiftconv_block_scale {
  int64_t block_size; /**< 0: none */
  int32_t type;       /**< shiftconv_type_t: UE8M0 or UE4M3 */
  int32_t order;      /**< shiftconv_scale_order_t */
} shiftconv_block_scale_t;

/** A forward convolution (cross-correlation, as in cuDNN and PyTorch) in up to three dimensions. All tensors are dense except for
 *  the pixel pitches. For 2-D leave d, t, pad_front, pad_back, stride_d and dilation_d as SHIFTCONV_PROBLEM_INIT sets them.
 *
 *    sum    = sum over t,r,s,c of
 *             (input[n, z*stride_d + t*dilation_d - pad_front, p*stride_h + r*dilation_h - pad_top,
 *                    q*stride_w + s*dilation_w - pad_left, g*C/groups + c] - input_zero_point)
 *             * (filter[k,t,r,s,c] - filter_zero_point)                              with g = k / (K/groups)
 *    v      = act(alpha * channel_scale[k] * sum + bias[k] + beta * residual[n,z,p,q,k])
 *    output = convert(v * out_scale) + output_zero_point;  amax = max |v|
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
 *  with P = (H + pad_top + pad_bottom - dilation_h*(R-1) - 1) / stride_h + 1, Z and Q likewise, all rounded down. Between the
 *  channels of neighbouring output pixels (output_pixel_pitch > K) nothing is written. Taps outside the image
 *  contribute exactly 0. Under an infinite or NaN weight that holds with shift_window, which skips them; shift_stream multiplies
 *  them by zero, as im2col does, which gives NaN. Products are summed with the rounding of the tensor
 *  core; everything behind the sum is f32; the conversion to output_type rounds to nearest, ties to even, and saturates
 *  except to f32, f16 and bf16.
 *
 *  Most combinations of these fields are beyond every algorithm of this version; shiftconv_support names the field.
 *
 *  Lengths are counted in elements. A field that has no meaning in a problem (the type of a residual that there is not) must
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
  int64_t input_pixel_pitch;                        /**< from one pixel to the next, >= c; 0 means c */
  int64_t output_pixel_pitch;                       /**< from one output pixel to the next, >= k; 0 means k */
  int64_t residual_pixel_pitch;                     /**< likewise, of the residual */
  int32_t input_type, filter_type, output_type;     /**< shiftconv_type_t */
  int32_t bias_type;                                /**< F32, F16 or BF16 */
  int32_t residual_type;                            /**< shiftconv_type_t */
  int32_t compute;                                  /**< shiftconv_compute_t */
  shiftconv_block_scale_t input_block_scale, filter_block_scale, output_block_scale;
  int32_t input_zero_point, filter_zero_point, output_zero_point; /**< of S8 and U8 tensors */
  int32_t has_bias;                                               /**< 1: there is a tensor bias */
  int32_t has_channel_scale;                                      /**< 1: there is a tensor channel_scale */
  int32_t has_amax;                                               /**< 1: there is a tensor amax */
  float alpha;                                                    /**< scales the sum */
  float beta;                                                     /**< scales the residual; 0: there is none */
  float out_scale;                                                /**< scales the output */
  int32_t activation;                                             /**< shiftconv_activation_t */
  float activation_a, activation_b;                               /**< its parameters; 0 where it has none */
} shiftconv_problem_t;

#define SHIFTCONV_PROBLEM_INIT                                                                                                  \
  {                                                                                                                             \
    sizeof(shiftconv_problem_t), 0, 1, 0, 0, 0, 0, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 0, 0, 0, SHIFTCONV_TYPE_F16, \
        SHIFTCONV_TYPE_F16, SHIFTCONV_TYPE_F16, SHIFTCONV_TYPE_F32, SHIFTCONV_TYPE_F16, SHIFTCONV_COMPUTE_DEFAULT, {0, 0, 0},   \
        {0, 0, 0}, {0, 0, 0}, 0, 0, 0, 0, 0, 0, 1.0f, 0.0f, 1.0f, SHIFTCONV_ACTIVATION_NONE, 0.0f, 0.0f                         \
  }
#define SHIFTCONV_PROBLEM_SIZE_0_2 328

/** Checks a problem in itself: every field in range, a non-empty output, sizes that can be addressed. Whether an
 *  algorithm can compute it is the question of shiftconv_support. The sentence names the field. */
SHIFTCONV_API shiftconv_status_t shiftconv_problem_validate(const shiftconv_problem_t* problem);

/** Z, P and Q of a valid problem. Any of the pointers may be NULL. */
SHIFTCONV_API shiftconv_status_t shiftconv_problem_output_size(const shiftconv_problem_t* problem, int64_t* z, int64_t* p,
                                                               int64_t* q);

/** Bytes of the tensors of a problem; 0 where it has none. */
typedef struct shiftconv_tensor_bytes {
  size_t size; /**< sizeof of this structure as the caller compiled it */
  size_t input, filter, bias, residual, channel_scale, input_scale, filter_scale, output, output_scale, amax;
} shiftconv_tensor_bytes_t;

#define SHIFTCONV_TENSOR_BYTES_INIT \
  { sizeof(shiftconv_tensor_bytes_t), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }
#define SHIFTCONV_TENSOR_BYTES_SIZE_0_2 88

/** Bytes that the tensors of a valid problem span in memory, up to the last element (the gap after the last pixel is not
 *  counted). */
SHIFTCONV_API shiftconv_status_t shiftconv_problem_tensor_bytes(const shiftconv_problem_t* problem,
                                                                shiftconv_tensor_bytes_t* bytes);

/** One line for logs and files: "1x56x56x64 f16 * 64x3x3x64 pad 1,1,1,1 -> 1x56x56x64 f16 bias relu". */
SHIFTCONV_API shiftconv_status_t shiftconv_problem_describe(const shiftconv_problem_t* problem, char* buffer, size_t size,
                                                            size_t* needed);

/** Reads such a line: the problem that shiftconv_problem_describe was given, field by field. The output's shape may be left out
 *  ("1x56x56x64 f16 * 64x3x3x64 pad 1,1,1,1 -> f16"); everything else that is left out has its usual value. Input, filter and
 *  output may each be followed by, in any order:
 *    input   pitch N, zero N, scale TYPE/BLOCK or TYPE/BLOCK/interleaved
 *    filter  a type (else the input's), groups N, pad top,bottom,left,right, stride h,w, dilation h,w, compute tf32 or f16,
 *            zero N, scale TYPE/BLOCK
 *    output  pitch N, alpha X, channel_scale, bias [TYPE], residual BETA, residual_type TYPE, residual_pitch N, an activation
 *            with its parameters (leaky_relu A, clamp A,B), amax, out_scale X, zero N, scale TYPE/BLOCK
 *  In 3-D shapes have five extents, pads six numbers (front, back first), strides and dilations three.
 *  @param problem its `size` must be set; the problem is valid on success. */
SHIFTCONV_API shiftconv_status_t shiftconv_problem_parse(const char* text, shiftconv_problem_t* problem);

/* ------------------------------------------------------------------------------------------------------- support */

/** Number of algorithms in this library. */
SHIFTCONV_API int shiftconv_algorithm_count(void);

/** Name of algorithm `index`: "shift_window". NULL for an index outside 0 <= index < shiftconv_algorithm_count(). */
SHIFTCONV_API const char* shiftconv_algorithm_name(int index);

/** The options of an algorithm, a line for each: name, values, meaning. */
SHIFTCONV_API shiftconv_status_t shiftconv_algorithm_options(const char* algorithm, char* buffer, size_t size, size_t* needed);

/** Asks whether `algorithm` can run a problem on a device with these properties.
 *  Yes: SHIFTCONV_STATUS_SUCCESS and an empty reason. No: SHIFTCONV_STATUS_UNSUPPORTED and one sentence in `reason`.
 *  Invalid problem: SHIFTCONV_STATUS_INVALID_ARGUMENT; no such algorithm: SHIFTCONV_STATUS_NOT_FOUND; the sentence is in
 *  `reason` then too. */
SHIFTCONV_API shiftconv_status_t shiftconv_support(const shiftconv_problem_t* problem,
                                                   const shiftconv_device_properties_t* properties, const char* algorithm,
                                                   char* reason, size_t size, size_t* needed);

/* --------------------------------------------------------------------------------------------------------- plans */

/** How a problem is computed on a kind of device. Immutable; needs no device and holds no device memory; may be used on
 *  any number of devices, streams and host threads at once. */
typedef struct shiftconv_plan* shiftconv_plan_t;

/** Choices that are left to the planner unless set. Start from SHIFTCONV_PLAN_OPTIONS_INIT. */
typedef struct shiftconv_plan_options {
  size_t size;           /**< sizeof of this structure as the caller compiled it */
  const char* algorithm; /**< name of an algorithm; NULL: the one with the best candidate */
  const char* options;   /**< of that algorithm, "tile_n=64,producer=register_store"; NULL: none. See shiftconv_algorithm_options */
} shiftconv_plan_options_t;

#define SHIFTCONV_PLAN_OPTIONS_INIT \
  { sizeof(shiftconv_plan_options_t), NULL, NULL }
#define SHIFTCONV_PLAN_OPTIONS_SIZE_0_2 24

/** Makes a plan: deterministic, in microseconds, without touching a device. Every algorithm that supports the problem offers
 *  candidates with an estimate from one cost model; the shortest time wins, and within one percent the candidate that relies on
 *  the fewest unproven behaviours of the hardware.
 *  @param properties from shiftconv_device_get_properties, shiftconv_device_enumerate or shiftconv_device_preset.
 *  @param options    NULL: every choice is the planner's.
 *  @param plan       receives the handle; destroy it with shiftconv_plan_destroy.
 *  SHIFTCONV_STATUS_UNSUPPORTED when no algorithm (or not the one asked for) can do it; the sentence gives each reason. */
SHIFTCONV_API shiftconv_status_t shiftconv_plan_create(const shiftconv_problem_t* problem,
                                                       const shiftconv_device_properties_t* properties,
                                                       const shiftconv_plan_options_t* options, shiftconv_plan_t* plan);

/** How shiftconv_plan_autotune measures. Start from SHIFTCONV_AUTOTUNE_INIT. */
typedef struct shiftconv_autotune {
  size_t size;         /**< sizeof of this structure as the caller compiled it */
  const char* cache;   /**< path of a file that remembers choices; "": none does; NULL: the environment variable
                            SHIFTCONV_AUTOTUNE_CACHE, and none where it is not set */
  double seconds;      /**< no candidate is begun after so many of them, but for the planner's own choice; positive, at most 3600 */
  uint32_t candidates; /**< measure so many, in the order of the cost model; 0: all */
  uint32_t reserved;   /**< 0 */
} shiftconv_autotune_t;

#define SHIFTCONV_AUTOTUNE_INIT \
  { sizeof(shiftconv_autotune_t), NULL, 1.0, 0, 0 }
#define SHIFTCONV_AUTOTUNE_SIZE_0_2 32

/** Makes a plan by measurement: runs the candidates of shiftconv_plan_create on an open device and takes the fastest. The planner's
 *  choice stays unless another one is more than one percent faster. shiftconv_plan_candidates of the plan lists what was measured.
 *
 *  The call runs kernels in a stream of its own and waits for them. While it does, it holds device memory for all tensors of the
 *  problem (shiftconv_problem_tensor_bytes) and the largest workspace of a candidate; it frees all of it before it returns, and
 *  shiftconv_plan_workspace_size says what runs of the plan need. Let nothing else run on the device meanwhile. On an emulated
 *  device times are those of the host, and say which plan is emulated soonest.
 *
 *  With a cache, a choice is looked up by problem, the caller's options, the device's name, compute capability and
 *  multiprocessors, driver and library version; when it is there, nothing is allocated or run. Otherwise the new choice is added:
 *  the file is replaced as a whole, so that processes may share it; writers wait for each other through a file beside it, whose name
 *  ends in ".lock", at most 10 s. The path must lead to a regular file of at most 16 MiB, or to none in a folder that exists; symbolic
 *  links stay, and what they lead to is replaced. Anything else (a device such as /dev/null, a FIFO, a socket, a folder, a file that is
 *  no such cache) is neither waited for nor touched. That, damaged lines, a file that cannot be written, candidates that fail, and a
 *  time limit that was reached are warnings in the log, not errors.
 *  @param device   where to measure; the plan is as good for others of the same kind.
 *  @param options  NULL: every choice is left to the measurement.
 *  @param autotune NULL: SHIFTCONV_AUTOTUNE_INIT.
 *  @param plan     receives the handle, as in shiftconv_plan_create.
 *  Errors: those of shiftconv_plan_create; SHIFTCONV_STATUS_OUT_OF_MEMORY for the tensors; whatever a run of the planner's choice
 *  reports. */
SHIFTCONV_API shiftconv_status_t shiftconv_plan_autotune(const shiftconv_problem_t* problem, shiftconv_device_t device,
                                                         const shiftconv_plan_options_t* options,
                                                         const shiftconv_autotune_t* autotune, shiftconv_plan_t* plan);

/** Destroys a plan. Work that was enqueued with it may still be running. NULL is allowed. */
SHIFTCONV_API shiftconv_status_t shiftconv_plan_destroy(shiftconv_plan_t plan);

/** Several lines to read: problem, algorithm, launches, tile, stages, Tensor Memory, shared memory, modelled traffic. */
SHIFTCONV_API shiftconv_status_t shiftconv_plan_describe(shiftconv_plan_t plan, char* buffer, size_t size, size_t* needed);

/** How the plan was chosen, a line each: the candidate chosen, the others by their estimates, and the algorithms that refused. */
SHIFTCONV_API shiftconv_status_t shiftconv_plan_candidates(shiftconv_plan_t plan, char* buffer, size_t size, size_t* needed);

/** What the cost model says of a plan. Modelled, not measured. */
typedef struct shiftconv_estimate {
  size_t size;       /**< sizeof of this structure as the caller compiled it */
  double seconds;    /**< of a run */
  double flops;      /**< two for every product */
  double bytes;      /**< every tensor once: what device memory moves at least */
  const char* bound; /**< the resource that decides, "L2 to shared memory"; a string of the library */
} shiftconv_estimate_t;

#define SHIFTCONV_ESTIMATE_INIT \
  { sizeof(shiftconv_estimate_t), 0, 0, 0, NULL }
#define SHIFTCONV_ESTIMATE_SIZE_0_2 40

SHIFTCONV_API shiftconv_status_t shiftconv_plan_estimate(shiftconv_plan_t plan, shiftconv_estimate_t* estimate);

/** Name of the plan's algorithm; NULL when `plan` is no live plan. Valid as long as the plan. */
SHIFTCONV_API const char* shiftconv_plan_algorithm(shiftconv_plan_t plan);

/** Options that make this plan again, all of them set; NULL when `plan` is no live plan. Valid as long as the plan. */
SHIFTCONV_API const char* shiftconv_plan_options(shiftconv_plan_t plan);

/** Name of the kernel that multiplies, as profilers show it: engine, types and tile; NULL when `plan` is no live plan. Valid as
 *  long as the plan. */
SHIFTCONV_API const char* shiftconv_plan_kernel_name(shiftconv_plan_t plan);

/** Device memory that a run needs as workspace, in bytes; 0 but for zero points of input or filter, whose corrections lie there.
 *  Runs that may overlap in time need a workspace each. */
SHIFTCONV_API shiftconv_status_t shiftconv_plan_workspace_size(shiftconv_plan_t plan, size_t* bytes);

/** Loads the plan's kernels on a device. Optional: the first binding does it otherwise. */
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
  void* output_scale; /**< written, with output_block_scale */
  void* amax;         /**< with has_amax: raised to max |v|, so 0 before, or an earlier maximum */
  void* workspace;    /**< shiftconv_plan_workspace_size bytes */
} shiftconv_tensors_t;

#define SHIFTCONV_TENSORS_INIT \
  { sizeof(shiftconv_tensors_t), NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL }
#define SHIFTCONV_TENSORS_SIZE_0_2 96

/** A plan with its tensors on a device. Immutable; may run on any number of streams and host threads at once. */
typedef struct shiftconv_binding* shiftconv_binding_t;

/** Binds a plan to tensors: checks them, loads the kernels, encodes the tensor maps.
 *  @param device  of the compute capability that the plan was made for.
 *  @param binding receives the handle; destroy it with shiftconv_binding_destroy. The plan may be destroyed before it. */
SHIFTCONV_API shiftconv_status_t shiftconv_bind(shiftconv_plan_t plan, shiftconv_device_t device,
                                                const shiftconv_tensors_t* tensors, shiftconv_binding_t* binding);

/** Destroys a binding. Work that was enqueued with it may still be running. NULL is allowed. */
SHIFTCONV_API shiftconv_status_t shiftconv_binding_destroy(shiftconv_binding_t binding);

/** Enqueues the convolution of a binding.
 *  @param stream of the device; NULL: the default stream.
 *
 *  Tensors must stay valid until the stream has reached this point. On a CUDA device the call enqueues the launches and does
 *  nothing else: it neither allocates nor synchronises, and can be captured in a CUDA graph. Whatever fails is reported by the
 *  call itself when it is about the launch; errors of a kernel that is already running appear in shiftconv_stream_synchronize
 *  (CUDA devices). The emulated device has completed the work when the call returns; it checks every memory access, and
 *  reports a tensor that is too small as SHIFTCONV_STATUS_DEVICE_ERROR with address, instruction and source line. */
SHIFTCONV_API shiftconv_status_t shiftconv_binding_run(shiftconv_binding_t binding, shiftconv_stream_t stream);

/** shiftconv_bind, shiftconv_binding_run and shiftconv_binding_destroy in one. It allocates host memory. */
SHIFTCONV_API shiftconv_status_t shiftconv_run(shiftconv_plan_t plan, shiftconv_device_t device, const shiftconv_tensors_t* tensors,
                                               shiftconv_stream_t stream);

#ifdef __cplusplus
}
#endif

#endif /* SHIFTCONV_SHIFTCONV_H */
