/* Small operations between convolutions. Part of shiftconv.h, whose rules hold here. */
#ifndef SHIFTCONV_HELPERS_H
#define SHIFTCONV_HELPERS_H

#include "device.h"
#include "problem.h"

#ifdef __cplusplus
extern "C" {
#endif

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

#endif /* SHIFTCONV_HELPERS_H */
