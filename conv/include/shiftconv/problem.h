/* The convolution asked for, field by field, and as text. Part of shiftconv.h, whose rules hold here. */
#ifndef SHIFTCONV_PROBLEM_H
#define SHIFTCONV_PROBLEM_H

#include "status.h"

#ifdef __cplusplus
extern "C" {
#endif

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

/** A forward convolution (cross-correlation, CUDNN_CROSS_CORRELATION of cuDNN, as in PyTorch) in up to three dimensions. Start from
 *  SHIFTCONV_PROBLEM_INIT. For 2-D, leave d, t, pad_front, pad_back, stride_d and dilation_d as it sets them. All tensors are
 *  dense, except that a pixel of input, output and residual may be followed by a gap (the pixel pitches).
 *
 *    sum    = sum over t,r,s,c of
 *             (input[n, z*stride_d + t*dilation_d - pad_front, p*stride_h + r*dilation_h - pad_top,
 *                    q*stride_w + s*dilation_w - pad_left, g*C/groups + c] - input_zero_point)
 *             * (filter[k,t,r,s,c] - filter_zero_point)                              with g = k / (K/groups)
 *    v      = act(alpha * channel_scale[k] * sum + bias[k] + beta * residual[n,z,p,q,k])
 *             or, with residual_last = 1, act(alpha * channel_scale[k] * sum + bias[k]) + beta * residual[n,z,p,q,k]
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
 *  it is rounded to output_type as alpha * sum, and again after each of these that the problem has: * channel_scale, + bias,
 *  + beta * residual (a fused multiply-add), the activation; with residual_last the activation, then + beta * residual. Each
 *  step is f32 inside.
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
 *  The filter's layout stays [K, T, R, S, C/groups], K being the channels of the output.
 *  Such plans need a workspace.
 *
 *  With filter_flipped = 1 the filter lies in memory with its taps in reverse order along each axis, as a convolution in the
 *  mathematical sense has them (CUDNN_CONVOLUTION): in all formulas filter[k,t,r,s,c], and its block-scale factor, is the element
 * at (k, T-1-t, R-1-r, S-1-s, c) of the tensor. The same holds with transposed = 1. Where the filter has more than one tap, the
 * plan writes them in order into its workspace before the convolution, or once for many runs (packing.h).
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
  int64_t input_pixel_pitch;                    /**< elements from one pixel to the next, >= c (with split_c: that); 0: as many */
  int64_t output_pixel_pitch;                   /**< elements from one output pixel to the next, >= k; 0 means k */
  int64_t residual_pixel_pitch;                 /**< elements from one residual pixel to the next, >= k; 0 means k */
  int32_t input_type, filter_type, output_type; /**< shiftconv_type_t */
  int32_t bias_type;                            /**< F32, F16 or BF16 */
  int32_t residual_type;                        /**< shiftconv_type_t */
  int32_t compute;                              /**< shiftconv_compute_t */
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
  int32_t filter_flipped;                                         /**< 1: the filter's taps lie in reverse order, see above */
  int32_t residual_last;                                          /**< 1: the residual is added after the activation; 0: before */
} shiftconv_problem_t;

#define SHIFTCONV_PROBLEM_INIT                                                                                                   \
  {                                                                                                                              \
    sizeof(shiftconv_problem_t), 0, 1, 0, 0, 0, 0, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 0, 0, 0, SHIFTCONV_TYPE_F16,  \
        SHIFTCONV_TYPE_F16, SHIFTCONV_TYPE_F16, SHIFTCONV_TYPE_F32, SHIFTCONV_TYPE_F16, SHIFTCONV_COMPUTE_DEFAULT, {0, 0, 0},    \
        {0, 0, 0}, {0, 0, 0}, 0, 0, 0, 0, 0, 0, 1.0f, 0.0f, 1.0f, SHIFTCONV_ACTIVATION_NONE, 0.0f, 0.0f, 0, 0, 0, 0, 0, 1, 1, 1, \
        0, 0, 0, 0, 0, 0, 0                                                                                                      \
  }
#define SHIFTCONV_PROBLEM_SIZE_0_2 328

/** Makes a problem the product of two matrices,
 *
 *    D[m][n] = act(alpha * channel_scale[n] * sum over k of A[m][k] * B[n][k] + bias[n] + beta * residual[m][n])
 *
 *  which is a convolution whose input is A, an image of one row with M pixels of K channels; whose filter is B, N filters of one
 * tap with K channels; and whose output is D. Everything that holds for a convolution holds for it: plans, bindings, epilogue,
 * block scales. On Blackwell the algorithm "gemm" is made for it; on Hopper it is planned as a 1x1 convolution.
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
 *            output_padding h,w, flipped, compute tf32 or f16, zero N, scale as above
 *    output  pitch N, alpha X, channel_scale, bias [TYPE], residual BETA, residual_type TYPE, residual_pitch N, an activation
 *    with its
 *            parameters (leaky_relu A, clamp A,B), amax, rounding separate, nchw, out_scale X, zero N, scale as above
 *  In 3-D, shapes have five extents, pads six numbers (front and back first), strides, dilations, output paddings and upsample
 * three.
 *  @param problem its `size` must be set. On success the problem is valid. */
SHIFTCONV_API shiftconv_status_t shiftconv_problem_parse(const char* text, shiftconv_problem_t* problem);

#ifdef __cplusplus
}
#endif

#endif /* SHIFTCONV_PROBLEM_H */
