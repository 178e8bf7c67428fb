// The kernels of channelwise: one line each, from which the module makes them and the planner chooses. A line is only here because
// some problem takes it.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace shiftconv::kernels::channelwise {

enum class Form : uint8_t {
  Few,      ///< a thread has neighbouring outputs of one row, and loads everything that they need at once
  Batch,    ///< a thread walks down several rows of outputs, the next input row on its way
  Stream,   ///< likewise, of rows that the copy engine brings to shared memory
  General,  ///< any filter, one to three dimensions, dilation: a loop over the taps
  Long,     ///< rows of many taps that a window slides along, and words that a CTA makes of its filters
};
inline constexpr std::array<std::string_view, 5> kFormNames{"few", "batch", "stream", "general", "long"};

enum class Finish : uint8_t {
  Plain,  ///< of 16 bits isPlainSegment, of 8 isPlainBytes or isPlainHalves (conv/plan/plain_segment.hpp)
  Full,   ///< gemm::EpilogueParams
};

/// A thread has `channels` neighbouring channels of `columns` neighbouring outputs of a row.
struct Kind {
  std::string_view name;
  Form form;
  int32_t filter;  ///< height and width; 0: any
  int32_t stride;  ///< of the width, for Batch and Stream of the height too; 0: any
  int32_t channels, columns;
  int32_t ctas;  ///< of kMostThreads that a multiprocessor can hold, by registers
  Finish finish;
  int32_t elementBytes = 2;
  bool isInteger = false;  ///< of 8-bit integers alone
  bool isDilated = false;
  bool isDeep = false;  ///< filters with depth; height and width are those of `filter`
};

// KIND(name of the kernel, form, filter, stride, channels, columns, ctas, finish)
#define SHIFTCONV_CHANNELWISE_KINDS(KIND)                            \
  KIND(channelwise_few_1_s1_c2_q1, Few, 1, 1, 2, 1, 8, Plain)        \
  KIND(channelwise_few_1_s1_c2_q4, Few, 1, 1, 2, 4, 8, Plain)        \
  KIND(channelwise_few_1_s1_c4_q2, Few, 1, 1, 4, 2, 8, Plain)        \
  KIND(channelwise_few_1_s1_c4_q4, Few, 1, 1, 4, 4, 8, Plain)        \
  KIND(channelwise_few_1_s1_c4_q8, Few, 1, 1, 4, 8, 6, Plain)        \
  KIND(channelwise_few_3_s1_c2_q1, Few, 3, 1, 2, 1, 8, Plain)        \
  KIND(channelwise_few_3_s1_c2_q2, Few, 3, 1, 2, 2, 8, Plain)        \
  KIND(channelwise_few_3_s1_c2_q4, Few, 3, 1, 2, 4, 8, Plain)        \
  KIND(channelwise_few_3_s1_c2_q7, Few, 3, 1, 2, 7, 6, Plain)        \
  KIND(channelwise_few_3_s1_c4_q2, Few, 3, 1, 4, 2, 6, Plain)        \
  KIND(channelwise_few_3_s1_c4_q4, Few, 3, 1, 4, 4, 5, Plain)        \
  KIND(channelwise_few_3_s2_c2_q1, Few, 3, 2, 2, 1, 8, Plain)        \
  KIND(channelwise_few_3_s2_c2_q2, Few, 3, 2, 2, 2, 8, Plain)        \
  KIND(channelwise_few_3_s2_c2_q4, Few, 3, 2, 2, 4, 6, Plain)        \
  KIND(channelwise_few_3_s2_c4_q2, Few, 3, 2, 4, 2, 6, Plain)        \
  KIND(channelwise_few_3_s2_c4_q4, Few, 3, 2, 4, 4, 4, Plain)        \
  KIND(channelwise_few_5_s1_c2_q2, Few, 5, 1, 2, 2, 6, Plain)        \
  KIND(channelwise_few_5_s1_c2_q4, Few, 5, 1, 2, 4, 5, Plain)        \
  KIND(channelwise_few_5_s1_c2_q7, Few, 5, 1, 2, 7, 4, Plain)        \
  KIND(channelwise_few_5_s2_c2_q2, Few, 5, 2, 2, 2, 6, Plain)        \
  KIND(channelwise_few_5_s2_c2_q4, Few, 5, 2, 2, 4, 4, Plain)        \
  KIND(channelwise_few_5_s2_c4_q1, Few, 5, 2, 4, 1, 4, Plain)        \
  KIND(channelwise_few_5_s2_c4_q2, Few, 5, 2, 4, 2, 3, Plain)        \
  KIND(channelwise_few_7_s1_c2_q2, Few, 7, 1, 2, 2, 4, Plain)        \
  KIND(channelwise_few_7_s1_c2_q4, Few, 7, 1, 2, 4, 3, Plain)        \
  KIND(channelwise_few_7_s1_c2_q7, Few, 7, 1, 2, 7, 2, Plain)        \
  KIND(channelwise_few_7_s2_c2_q2, Few, 7, 2, 2, 2, 3, Plain)        \
  KIND(channelwise_batch_3_s1_c2_q7, Batch, 3, 1, 2, 7, 4, Plain)    \
  KIND(channelwise_batch_3_s1_c4_q4, Batch, 3, 1, 4, 4, 3, Plain)    \
  KIND(channelwise_batch_3_s2_c2_q4, Batch, 3, 2, 2, 4, 4, Plain)    \
  KIND(channelwise_batch_3_s2_c4_q2, Batch, 3, 2, 4, 2, 3, Plain)    \
  KIND(channelwise_batch_5_s1_c2_q7, Batch, 5, 1, 2, 7, 2, Plain)    \
  KIND(channelwise_batch_5_s2_c2_q4, Batch, 5, 2, 2, 4, 3, Plain)    \
  KIND(channelwise_batch_7_s1_c2_q4, Batch, 7, 1, 2, 4, 2, Plain)    \
  KIND(channelwise_batch_7_s2_c2_q4, Batch, 7, 2, 2, 4, 2, Plain)    \
  KIND(channelwise_general_c1_q4, General, 0, 0, 1, 4, 8, Plain)     \
  KIND(channelwise_general_c2_q4, General, 0, 0, 2, 4, 7, Plain)     \
  KIND(channelwise_general_c4_q4, General, 0, 0, 4, 4, 4, Plain)     \
  KIND(channelwise_long_c2_q8, Long, 0, 0, 2, 8, 4, Plain)           \
  KIND(channelwise_long_c4_q8, Long, 0, 0, 4, 8, 3, Plain)           \
  KIND(channelwise_general_c1_q4_full, General, 0, 0, 1, 4, 8, Full) \
  KIND(channelwise_general_c2_q4_full, General, 0, 0, 2, 4, 7, Full)

// Of e4m3: KIND(name, form, filter, stride, channels, columns, ctas), all Plain.
#define SHIFTCONV_CHANNELWISE_BYTES_KINDS(KIND)                  \
  KIND(channelwise_bytes_few_1_s1_c4_q1, Few, 1, 1, 4, 1, 8)     \
  KIND(channelwise_bytes_few_1_s1_c4_q4, Few, 1, 1, 4, 4, 8)     \
  KIND(channelwise_bytes_few_1_s1_c4_q8, Few, 1, 1, 4, 8, 8)     \
  KIND(channelwise_bytes_few_3_s1_c2_q2, Few, 3, 1, 2, 2, 8)     \
  KIND(channelwise_bytes_few_3_s1_c2_q4, Few, 3, 1, 2, 4, 7)     \
  KIND(channelwise_bytes_few_3_s1_c2_q7, Few, 3, 1, 2, 7, 6)     \
  KIND(channelwise_bytes_few_3_s1_c4_q1, Few, 3, 1, 4, 1, 8)     \
  KIND(channelwise_bytes_few_3_s1_c4_q2, Few, 3, 1, 4, 2, 7)     \
  KIND(channelwise_bytes_few_3_s1_c4_q4, Few, 3, 1, 4, 4, 7)     \
  KIND(channelwise_bytes_few_3_s1_c4_q7, Few, 3, 1, 4, 7, 4)     \
  KIND(channelwise_bytes_few_3_s2_c2_q2, Few, 3, 2, 2, 2, 7)     \
  KIND(channelwise_bytes_few_3_s2_c2_q4, Few, 3, 2, 2, 4, 6)     \
  KIND(channelwise_bytes_few_3_s2_c4_q1, Few, 3, 2, 4, 1, 8)     \
  KIND(channelwise_bytes_few_3_s2_c4_q2, Few, 3, 2, 4, 2, 8)     \
  KIND(channelwise_bytes_few_3_s2_c4_q4, Few, 3, 2, 4, 4, 5)     \
  KIND(channelwise_bytes_few_5_s1_c2_q2, Few, 5, 1, 2, 2, 6)     \
  KIND(channelwise_bytes_few_5_s1_c2_q4, Few, 5, 1, 2, 4, 5)     \
  KIND(channelwise_bytes_few_5_s1_c2_q7, Few, 5, 1, 2, 7, 4)     \
  KIND(channelwise_bytes_few_5_s1_c4_q1, Few, 5, 1, 4, 1, 6)     \
  KIND(channelwise_bytes_few_5_s1_c4_q2, Few, 5, 1, 4, 2, 5)     \
  KIND(channelwise_bytes_few_5_s1_c4_q4, Few, 5, 1, 4, 4, 4)     \
  KIND(channelwise_bytes_few_5_s2_c2_q2, Few, 5, 2, 2, 2, 5)     \
  KIND(channelwise_bytes_few_5_s2_c2_q4, Few, 5, 2, 2, 4, 4)     \
  KIND(channelwise_bytes_few_5_s2_c4_q1, Few, 5, 2, 4, 1, 6)     \
  KIND(channelwise_bytes_few_5_s2_c4_q2, Few, 5, 2, 4, 2, 5)     \
  KIND(channelwise_bytes_few_7_s1_c2_q2, Few, 7, 1, 2, 2, 4)     \
  KIND(channelwise_bytes_few_7_s1_c2_q4, Few, 7, 1, 2, 4, 3)     \
  KIND(channelwise_bytes_few_7_s1_c2_q7, Few, 7, 1, 2, 7, 3)     \
  KIND(channelwise_bytes_few_7_s2_c2_q2, Few, 7, 2, 2, 2, 4)     \
  KIND(channelwise_bytes_batch_3_s1_c2_q7, Batch, 3, 1, 2, 7, 4) \
  KIND(channelwise_bytes_batch_3_s1_c4_q4, Batch, 3, 1, 4, 4, 3) \
  KIND(channelwise_bytes_batch_3_s2_c2_q4, Batch, 3, 2, 2, 4, 4) \
  KIND(channelwise_bytes_batch_3_s2_c4_q2, Batch, 3, 2, 4, 2, 3) \
  KIND(channelwise_bytes_batch_5_s1_c2_q7, Batch, 5, 1, 2, 7, 2) \
  KIND(channelwise_bytes_batch_5_s2_c2_q4, Batch, 5, 2, 2, 4, 3) \
  KIND(channelwise_bytes_batch_7_s1_c2_q4, Batch, 7, 1, 2, 4, 2) \
  KIND(channelwise_bytes_batch_7_s2_c2_q4, Batch, 7, 2, 2, 4, 2) \
  KIND(channelwise_bytes_general_c1_q4, General, 0, 0, 1, 4, 8)  \
  KIND(channelwise_bytes_general_c2_q4, General, 0, 0, 2, 4, 7)  \
  KIND(channelwise_bytes_general_c4_q4, General, 0, 0, 4, 4, 4)  \
  KIND(channelwise_bytes_long_c2_q8, Long, 0, 0, 2, 8, 4)        \
  KIND(channelwise_bytes_long_c4_q8, Long, 0, 0, 4, 8, 3)

// Of 8-bit integers: KIND(name, form, filter, stride, channels, columns, ctas), all Plain.
#define SHIFTCONV_CHANNELWISE_INTEGERS_KINDS(KIND)                  \
  KIND(channelwise_integers_few_1_s1_c4_q1, Few, 1, 1, 4, 1, 8)     \
  KIND(channelwise_integers_few_1_s1_c4_q4, Few, 1, 1, 4, 4, 8)     \
  KIND(channelwise_integers_few_1_s1_c8_q4, Few, 1, 1, 8, 4, 8)     \
  KIND(channelwise_integers_few_3_s1_c4_q1, Few, 3, 1, 4, 1, 8)     \
  KIND(channelwise_integers_few_3_s1_c4_q2, Few, 3, 1, 4, 2, 7)     \
  KIND(channelwise_integers_few_3_s1_c4_q4, Few, 3, 1, 4, 4, 7)     \
  KIND(channelwise_integers_few_3_s1_c4_q7, Few, 3, 1, 4, 7, 5)     \
  KIND(channelwise_integers_few_3_s1_c8_q4, Few, 3, 1, 8, 4, 4)     \
  KIND(channelwise_integers_few_3_s1_c2_q2, Few, 3, 1, 2, 2, 8)     \
  KIND(channelwise_integers_few_3_s1_c2_q4, Few, 3, 1, 2, 4, 7)     \
  KIND(channelwise_integers_few_3_s1_c2_q7, Few, 3, 1, 2, 7, 6)     \
  KIND(channelwise_integers_few_3_s2_c4_q1, Few, 3, 2, 4, 1, 8)     \
  KIND(channelwise_integers_few_3_s2_c4_q2, Few, 3, 2, 4, 2, 8)     \
  KIND(channelwise_integers_few_3_s2_c4_q4, Few, 3, 2, 4, 4, 5)     \
  KIND(channelwise_integers_few_3_s2_c8_q2, Few, 3, 2, 8, 2, 5)     \
  KIND(channelwise_integers_few_3_s2_c2_q4, Few, 3, 2, 2, 4, 6)     \
  KIND(channelwise_integers_few_5_s1_c4_q1, Few, 5, 1, 4, 1, 5)     \
  KIND(channelwise_integers_few_5_s1_c4_q2, Few, 5, 1, 4, 2, 5)     \
  KIND(channelwise_integers_few_5_s1_c4_q4, Few, 5, 1, 4, 4, 4)     \
  KIND(channelwise_integers_few_5_s1_c4_q7, Few, 5, 1, 4, 7, 3)     \
  KIND(channelwise_integers_few_5_s1_c2_q4, Few, 5, 1, 2, 4, 5)     \
  KIND(channelwise_integers_few_5_s2_c4_q1, Few, 5, 2, 4, 1, 5)     \
  KIND(channelwise_integers_few_5_s2_c4_q2, Few, 5, 2, 4, 2, 4)     \
  KIND(channelwise_integers_few_5_s2_c4_q4, Few, 5, 2, 4, 4, 3)     \
  KIND(channelwise_integers_few_5_s2_c2_q4, Few, 5, 2, 2, 4, 4)     \
  KIND(channelwise_integers_few_7_s1_c4_q1, Few, 7, 1, 4, 1, 3)     \
  KIND(channelwise_integers_few_7_s1_c4_q2, Few, 7, 1, 4, 2, 3)     \
  KIND(channelwise_integers_few_7_s1_c4_q4, Few, 7, 1, 4, 4, 2)     \
  KIND(channelwise_integers_few_7_s1_c4_q7, Few, 7, 1, 4, 7, 2)     \
  KIND(channelwise_integers_few_7_s1_c2_q4, Few, 7, 1, 2, 4, 3)     \
  KIND(channelwise_integers_few_7_s2_c4_q1, Few, 7, 2, 4, 1, 3)     \
  KIND(channelwise_integers_few_7_s2_c4_q2, Few, 7, 2, 4, 2, 2)     \
  KIND(channelwise_integers_few_7_s2_c2_q2, Few, 7, 2, 2, 2, 4)     \
  KIND(channelwise_integers_batch_3_s1_c4_q2, Batch, 3, 1, 4, 2, 4) \
  KIND(channelwise_integers_batch_3_s1_c4_q4, Batch, 3, 1, 4, 4, 4) \
  KIND(channelwise_integers_batch_3_s1_c8_q4, Batch, 3, 1, 8, 4, 2) \
  KIND(channelwise_integers_batch_3_s1_c2_q7, Batch, 3, 1, 2, 7, 4) \
  KIND(channelwise_integers_batch_3_s2_c4_q2, Batch, 3, 2, 4, 2, 5) \
  KIND(channelwise_integers_batch_3_s2_c4_q4, Batch, 3, 2, 4, 4, 3) \
  KIND(channelwise_integers_batch_3_s2_c8_q2, Batch, 3, 2, 8, 2, 2) \
  KIND(channelwise_integers_batch_3_s2_c2_q4, Batch, 3, 2, 2, 4, 5) \
  KIND(channelwise_integers_batch_5_s1_c4_q4, Batch, 5, 1, 4, 4, 2) \
  KIND(channelwise_integers_batch_5_s1_c2_q7, Batch, 5, 1, 2, 7, 3) \
  KIND(channelwise_integers_batch_5_s2_c4_q2, Batch, 5, 2, 4, 2, 3) \
  KIND(channelwise_integers_batch_5_s2_c4_q4, Batch, 5, 2, 4, 4, 2) \
  KIND(channelwise_integers_batch_5_s2_c2_q4, Batch, 5, 2, 2, 4, 4) \
  KIND(channelwise_integers_batch_7_s1_c4_q2, Batch, 7, 1, 4, 2, 2) \
  KIND(channelwise_integers_batch_7_s1_c2_q4, Batch, 7, 1, 2, 4, 3) \
  KIND(channelwise_integers_batch_7_s2_c4_q2, Batch, 7, 2, 4, 2, 2) \
  KIND(channelwise_integers_general_c1_q4, General, 0, 0, 1, 4, 8)  \
  KIND(channelwise_integers_general_c2_q4, General, 0, 0, 2, 4, 7)  \
  KIND(channelwise_integers_general_c4_q4, General, 0, 0, 4, 4, 5)  \
  KIND(channelwise_integers_long_c2_q4, Long, 0, 0, 2, 4, 6)        \
  KIND(channelwise_integers_long_c4_q4, Long, 0, 0, 4, 4, 5)

// With dilation: KIND(name, form, filter, stride, channels, columns, ctas), all Plain. Of f16 and bf16, of e4m3, and of 8-bit
// integers.
#define SHIFTCONV_CHANNELWISE_DILATED_KINDS(KIND)                  \
  KIND(channelwise_dilated_few_3_s1_c2_q4, Few, 3, 1, 2, 4, 8)     \
  KIND(channelwise_dilated_few_5_s1_c2_q2, Few, 5, 1, 2, 2, 6)     \
  KIND(channelwise_dilated_few_5_s1_c2_q4, Few, 5, 1, 2, 4, 5)     \
  KIND(channelwise_dilated_few_7_s1_c2_q1, Few, 7, 1, 2, 1, 4)     \
  KIND(channelwise_dilated_few_7_s1_c2_q4, Few, 7, 1, 2, 4, 3)     \
  KIND(channelwise_dilated_batch_3_s1_c2_q7, Batch, 3, 1, 2, 7, 4) \
  KIND(channelwise_dilated_batch_3_s1_c4_q4, Batch, 3, 1, 4, 4, 3) \
  KIND(channelwise_dilated_batch_5_s1_c2_q7, Batch, 5, 1, 2, 7, 2) \
  KIND(channelwise_dilated_batch_7_s1_c2_q4, Batch, 7, 1, 2, 4, 2)

#define SHIFTCONV_CHANNELWISE_DILATED_BYTES_KINDS(KIND)                  \
  KIND(channelwise_dilated_bytes_few_3_s1_c2_q4, Few, 3, 1, 2, 4, 7)     \
  KIND(channelwise_dilated_bytes_few_3_s1_c4_q4, Few, 3, 1, 4, 4, 7)     \
  KIND(channelwise_dilated_bytes_few_5_s1_c2_q4, Few, 5, 1, 2, 4, 5)     \
  KIND(channelwise_dilated_bytes_few_7_s1_c2_q4, Few, 7, 1, 2, 4, 3)     \
  KIND(channelwise_dilated_bytes_batch_3_s1_c4_q4, Batch, 3, 1, 4, 4, 3) \
  KIND(channelwise_dilated_bytes_batch_5_s1_c2_q7, Batch, 5, 1, 2, 7, 2) \
  KIND(channelwise_dilated_bytes_batch_7_s1_c2_q4, Batch, 7, 1, 2, 4, 2)

#define SHIFTCONV_CHANNELWISE_DILATED_INTEGERS_KINDS(KIND)                  \
  KIND(channelwise_dilated_integers_few_3_s1_c4_q4, Few, 3, 1, 4, 4, 7)     \
  KIND(channelwise_dilated_integers_few_3_s1_c2_q4, Few, 3, 1, 2, 4, 7)     \
  KIND(channelwise_dilated_integers_few_5_s1_c4_q4, Few, 5, 1, 4, 4, 4)     \
  KIND(channelwise_dilated_integers_few_5_s1_c2_q4, Few, 5, 1, 2, 4, 5)     \
  KIND(channelwise_dilated_integers_few_7_s1_c4_q4, Few, 7, 1, 4, 4, 2)     \
  KIND(channelwise_dilated_integers_few_7_s1_c2_q4, Few, 7, 1, 2, 4, 3)     \
  KIND(channelwise_dilated_integers_batch_3_s1_c4_q4, Batch, 3, 1, 4, 4, 3) \
  KIND(channelwise_dilated_integers_batch_5_s1_c4_q4, Batch, 5, 1, 4, 4, 2) \
  KIND(channelwise_dilated_integers_batch_5_s1_c2_q7, Batch, 5, 1, 2, 7, 2)

// Of filters with depth: KIND(name, what it multiplies, form, filter, stride, channels, columns, ctas, finish). Their weights are
// always staged.
#define SHIFTCONV_CHANNELWISE_DEEP_KINDS(KIND)                                                  \
  KIND(channelwise_deep_few_3_s1_c2_q4, Halves, Few, 3, 1, 2, 4, 4, Plain)                      \
  KIND(channelwise_deep_few_3_s1_c2_q7, Halves, Few, 3, 1, 2, 7, 2, Plain)                      \
  KIND(channelwise_deep_few_3_s1_c4_q4, Halves, Few, 3, 1, 4, 4, 2, Plain)                      \
  KIND(channelwise_deep_few_3_s2_c2_q2, Halves, Few, 3, 2, 2, 2, 4, Plain)                      \
  KIND(channelwise_deep_few_3_s2_c4_q2, Halves, Few, 3, 2, 4, 2, 4, Plain)                      \
  KIND(channelwise_deep_few_5_s1_c2_q4, Halves, Few, 5, 1, 2, 4, 2, Plain)                      \
  KIND(channelwise_deep_batch_3_s1_c2_q7, Halves, Batch, 3, 1, 2, 7, 3, Plain)                  \
  KIND(channelwise_deep_batch_3_s1_c4_q4, Halves, Batch, 3, 1, 4, 4, 3, Plain)                  \
  KIND(channelwise_deep_batch_3_s2_c2_q4, Halves, Batch, 3, 2, 2, 4, 4, Plain)                  \
  KIND(channelwise_deep_batch_3_s2_c4_q4, Halves, Batch, 3, 2, 4, 4, 2, Plain)                  \
  KIND(channelwise_deep_batch_5_s1_c2_q4, Halves, Batch, 5, 1, 2, 4, 3, Plain)                  \
  KIND(channelwise_deep_batch_5_s1_c2_q7, Halves, Batch, 5, 1, 2, 7, 2, Plain)                  \
  KIND(channelwise_deep_batch_5_s2_c2_q4, Halves, Batch, 5, 2, 2, 4, 2, Plain)                  \
  KIND(channelwise_deep_batch_7_s1_c2_q4, Halves, Batch, 7, 1, 2, 4, 2, Plain)                  \
  KIND(channelwise_deep_few_3_s1_c2_q2_full, Halves, Few, 3, 1, 2, 2, 5, Full)                  \
  KIND(channelwise_deep_few_3_s2_c2_q2_full, Halves, Few, 3, 2, 2, 2, 4, Full)                  \
  KIND(channelwise_deep_bytes_few_3_s1_c4_q4, Bytes, Few, 3, 1, 4, 4, 3, Plain)                 \
  KIND(channelwise_deep_bytes_few_3_s2_c4_q2, Bytes, Few, 3, 2, 4, 2, 4, Plain)                 \
  KIND(channelwise_deep_bytes_few_5_s1_c2_q4, Bytes, Few, 5, 1, 2, 4, 2, Plain)                 \
  KIND(channelwise_deep_bytes_batch_3_s1_c4_q4, Bytes, Batch, 3, 1, 4, 4, 3, Plain)             \
  KIND(channelwise_deep_bytes_batch_3_s1_c2_q7, Bytes, Batch, 3, 1, 2, 7, 4, Plain)             \
  KIND(channelwise_deep_bytes_batch_3_s2_c4_q4, Bytes, Batch, 3, 2, 4, 4, 2, Plain)             \
  KIND(channelwise_deep_bytes_batch_3_s2_c2_q4, Bytes, Batch, 3, 2, 2, 4, 3, Plain)             \
  KIND(channelwise_deep_bytes_batch_5_s1_c2_q7, Bytes, Batch, 5, 1, 2, 7, 2, Plain)             \
  KIND(channelwise_deep_bytes_batch_5_s2_c2_q4, Bytes, Batch, 5, 2, 2, 4, 2, Plain)             \
  KIND(channelwise_deep_bytes_batch_7_s1_c2_q4, Bytes, Batch, 7, 1, 2, 4, 2, Plain)             \
  KIND(channelwise_deep_integers_few_3_s1_c4_q4, EitherIntegers, Few, 3, 1, 4, 4, 3, Plain)     \
  KIND(channelwise_deep_integers_few_3_s2_c4_q4, EitherIntegers, Few, 3, 2, 4, 4, 2, Plain)     \
  KIND(channelwise_deep_integers_few_5_s1_c4_q4, EitherIntegers, Few, 5, 1, 4, 4, 2, Plain)     \
  KIND(channelwise_deep_integers_batch_3_s1_c4_q4, EitherIntegers, Batch, 3, 1, 4, 4, 3, Plain) \
  KIND(channelwise_deep_integers_batch_3_s1_c2_q7, EitherIntegers, Batch, 3, 1, 2, 7, 4, Plain) \
  KIND(channelwise_deep_integers_batch_3_s2_c4_q4, EitherIntegers, Batch, 3, 2, 4, 4, 3, Plain) \
  KIND(channelwise_deep_integers_batch_3_s2_c2_q4, EitherIntegers, Batch, 3, 2, 2, 4, 4, Plain) \
  KIND(channelwise_deep_integers_batch_5_s1_c4_q4, EitherIntegers, Batch, 5, 1, 4, 4, 2, Plain) \
  KIND(channelwise_deep_integers_batch_5_s2_c4_q4, EitherIntegers, Batch, 5, 2, 4, 4, 2, Plain) \
  KIND(channelwise_deep_integers_batch_7_s1_c4_q2, EitherIntegers, Batch, 7, 1, 4, 2, 2, Plain)

// Of rows from the copy engine: KIND(name, what it multiplies, filter, channels, columns, ctas), all Stream, Plain and without
// stride.
#define SHIFTCONV_CHANNELWISE_STREAM_KINDS(KIND)            \
  KIND(channelwise_stream_3_c2_q7, Halves, 3, 2, 7, 5)      \
  KIND(channelwise_stream_3_c4_q4, Halves, 3, 4, 4, 4)      \
  KIND(channelwise_stream_3_c4_q7, Halves, 3, 4, 7, 3)      \
  KIND(channelwise_stream_5_c2_q4, Halves, 5, 2, 4, 4)      \
  KIND(channelwise_stream_5_c2_q7, Halves, 5, 2, 7, 3)      \
  KIND(channelwise_stream_bytes_3_c4_q4, Bytes, 3, 4, 4, 4) \
  KIND(channelwise_stream_bytes_3_c4_q7, Bytes, 3, 4, 7, 3)

// Of a few filters, with the whole epilogue: KIND(name, what it multiplies, form, filter, stride, channels, columns, ctas), all
// Full.
#define SHIFTCONV_CHANNELWISE_WHOLE_KINDS(KIND)                                          \
  KIND(channelwise_few_3_s1_c2_q2_full, Halves, Few, 3, 1, 2, 2, 8)                      \
  KIND(channelwise_few_3_s1_c2_q4_full, Halves, Few, 3, 1, 2, 4, 7)                      \
  KIND(channelwise_few_3_s1_c4_q4_full, Halves, Few, 3, 1, 4, 4, 4)                      \
  KIND(channelwise_few_3_s2_c2_q2_full, Halves, Few, 3, 2, 2, 2, 8)                      \
  KIND(channelwise_few_3_s2_c4_q2_full, Halves, Few, 3, 2, 4, 2, 5)                      \
  KIND(channelwise_few_5_s1_c2_q2_full, Halves, Few, 5, 1, 2, 2, 6)                      \
  KIND(channelwise_few_5_s1_c2_q4_full, Halves, Few, 5, 1, 2, 4, 4)                      \
  KIND(channelwise_few_5_s2_c2_q2_full, Halves, Few, 5, 2, 2, 2, 5)                      \
  KIND(channelwise_few_5_s2_c2_q4_full, Halves, Few, 5, 2, 2, 4, 4)                      \
  KIND(channelwise_few_7_s1_c2_q2_full, Halves, Few, 7, 1, 2, 2, 4)                      \
  KIND(channelwise_few_7_s1_c2_q4_full, Halves, Few, 7, 1, 2, 4, 3)                      \
  KIND(channelwise_few_7_s2_c2_q2_full, Halves, Few, 7, 2, 2, 2, 3)                      \
  KIND(channelwise_batch_3_s1_c4_q4_full, Halves, Batch, 3, 1, 4, 4, 2)                  \
  KIND(channelwise_batch_3_s2_c4_q2_full, Halves, Batch, 3, 2, 4, 2, 3)                  \
  KIND(channelwise_batch_5_s1_c2_q7_full, Halves, Batch, 5, 1, 2, 7, 2)                  \
  KIND(channelwise_batch_5_s2_c2_q4_full, Halves, Batch, 5, 2, 2, 4, 2)                  \
  KIND(channelwise_batch_7_s1_c2_q4_full, Halves, Batch, 7, 1, 2, 4, 2)                  \
  KIND(channelwise_bytes_few_3_s1_c4_q1_full, Bytes, Few, 3, 1, 4, 1, 7)                 \
  KIND(channelwise_bytes_few_3_s1_c4_q4_full, Bytes, Few, 3, 1, 4, 4, 5)                 \
  KIND(channelwise_bytes_few_3_s2_c4_q2_full, Bytes, Few, 3, 2, 4, 2, 5)                 \
  KIND(channelwise_bytes_few_5_s1_c4_q1_full, Bytes, Few, 5, 1, 4, 1, 5)                 \
  KIND(channelwise_bytes_few_5_s1_c4_q2_full, Bytes, Few, 5, 1, 4, 2, 4)                 \
  KIND(channelwise_bytes_few_5_s2_c4_q1_full, Bytes, Few, 5, 2, 4, 1, 4)                 \
  KIND(channelwise_bytes_few_5_s2_c4_q2_full, Bytes, Few, 5, 2, 4, 2, 4)                 \
  KIND(channelwise_bytes_few_7_s1_c2_q4_full, Bytes, Few, 7, 1, 2, 4, 3)                 \
  KIND(channelwise_bytes_few_7_s2_c2_q2_full, Bytes, Few, 7, 2, 2, 2, 3)                 \
  KIND(channelwise_bytes_batch_3_s1_c4_q4_full, Bytes, Batch, 3, 1, 4, 4, 2)             \
  KIND(channelwise_bytes_batch_3_s2_c4_q2_full, Bytes, Batch, 3, 2, 4, 2, 3)             \
  KIND(channelwise_bytes_batch_5_s1_c2_q7_full, Bytes, Batch, 5, 1, 2, 7, 2)             \
  KIND(channelwise_bytes_batch_5_s2_c2_q4_full, Bytes, Batch, 5, 2, 2, 4, 2)             \
  KIND(channelwise_bytes_batch_7_s1_c2_q4_full, Bytes, Batch, 7, 1, 2, 4, 2)             \
  KIND(channelwise_integers_few_3_s1_c4_q1_full, EitherIntegers, Few, 3, 1, 4, 1, 7)     \
  KIND(channelwise_integers_few_3_s1_c4_q4_full, EitherIntegers, Few, 3, 1, 4, 4, 5)     \
  KIND(channelwise_integers_few_3_s2_c4_q1_full, EitherIntegers, Few, 3, 2, 4, 1, 7)     \
  KIND(channelwise_integers_few_3_s2_c4_q4_full, EitherIntegers, Few, 3, 2, 4, 4, 4)     \
  KIND(channelwise_integers_few_5_s1_c4_q1_full, EitherIntegers, Few, 5, 1, 4, 1, 4)     \
  KIND(channelwise_integers_few_5_s1_c4_q4_full, EitherIntegers, Few, 5, 1, 4, 4, 3)     \
  KIND(channelwise_integers_few_5_s2_c4_q2_full, EitherIntegers, Few, 5, 2, 4, 2, 3)     \
  KIND(channelwise_integers_few_7_s1_c4_q2_full, EitherIntegers, Few, 7, 1, 4, 2, 3)     \
  KIND(channelwise_integers_few_7_s2_c4_q2_full, EitherIntegers, Few, 7, 2, 4, 2, 2)     \
  KIND(channelwise_integers_batch_3_s1_c4_q4_full, EitherIntegers, Batch, 3, 1, 4, 4, 3) \
  KIND(channelwise_integers_batch_3_s2_c4_q4_full, EitherIntegers, Batch, 3, 2, 4, 4, 2) \
  KIND(channelwise_integers_batch_5_s1_c4_q4_full, EitherIntegers, Batch, 5, 1, 4, 4, 2) \
  KIND(channelwise_integers_batch_5_s2_c4_q2_full, EitherIntegers, Batch, 5, 2, 4, 2, 3) \
  KIND(channelwise_integers_batch_7_s1_c4_q2_full, EitherIntegers, Batch, 7, 1, 4, 2, 2)

// Of 8-bit floats and integers, and of f32: KIND(name, type of the operands, channels, columns, ctas), all General and Full.
#define SHIFTCONV_CHANNELWISE_NARROW_KINDS(KIND) \
  KIND(channelwise_bytes_c1_q4, Bytes, 1, 4, 5)  \
  KIND(channelwise_bytes_c4_q4, Bytes, 4, 4, 4)  \
  KIND(channelwise_words_c1_q4, Words, 1, 4, 5)  \
  KIND(channelwise_words_c2_q4, Words, 2, 4, 5)

/// What a kernel multiplies. Bytes: e4m3, but with the whole epilogue 8-bit floats and integers.
struct Bytes {
  static constexpr int32_t kBytes = 1;
  static constexpr bool kIsInteger = false;
};
template <bool kHasSigns>
struct Integers {
  static constexpr int32_t kBytes = 1;
  static constexpr bool kIsInteger = true, kSignedFilter = kHasSigns;
};
/// Integers<false> and Integers<true>, the same choice for a whole launch.
struct EitherIntegers {
  static constexpr int32_t kBytes = 1;
  static constexpr bool kIsInteger = true;
};
struct Halves {
  static constexpr int32_t kBytes = 2;
  static constexpr bool kIsInteger = false;
};
struct Words {
  static constexpr int32_t kBytes = 4;
  static constexpr bool kIsInteger = false;
};

inline constexpr std::array kKinds{
#define SHIFTCONV_CHANNELWISE_KIND(NAME, FORM, FILTER, STRIDE, CHANNELS, COLUMNS, CTAS, FINISH) \
  Kind{#NAME, Form::FORM, FILTER, STRIDE, CHANNELS, COLUMNS, CTAS, Finish::FINISH},
    SHIFTCONV_CHANNELWISE_KINDS(SHIFTCONV_CHANNELWISE_KIND)
#undef SHIFTCONV_CHANNELWISE_KIND
#define SHIFTCONV_CHANNELWISE_KIND(NAME, FORM, FILTER, STRIDE, CHANNELS, COLUMNS, CTAS) \
  Kind{#NAME, Form::FORM, FILTER, STRIDE, CHANNELS, COLUMNS, CTAS, Finish::Plain, 1},
        SHIFTCONV_CHANNELWISE_BYTES_KINDS(SHIFTCONV_CHANNELWISE_KIND)
#undef SHIFTCONV_CHANNELWISE_KIND
#define SHIFTCONV_CHANNELWISE_KIND(NAME, FORM, FILTER, STRIDE, CHANNELS, COLUMNS, CTAS) \
  Kind{#NAME, Form::FORM, FILTER, STRIDE, CHANNELS, COLUMNS, CTAS, Finish::Plain, 1, true},
            SHIFTCONV_CHANNELWISE_INTEGERS_KINDS(SHIFTCONV_CHANNELWISE_KIND)
#undef SHIFTCONV_CHANNELWISE_KIND
#define SHIFTCONV_CHANNELWISE_KIND(NAME, FORM, FILTER, STRIDE, CHANNELS, COLUMNS, CTAS) \
  Kind{#NAME, Form::FORM, FILTER, STRIDE, CHANNELS, COLUMNS, CTAS, Finish::Plain, 2, false, true},
                SHIFTCONV_CHANNELWISE_DILATED_KINDS(SHIFTCONV_CHANNELWISE_KIND)
#undef SHIFTCONV_CHANNELWISE_KIND
#define SHIFTCONV_CHANNELWISE_KIND(NAME, FORM, FILTER, STRIDE, CHANNELS, COLUMNS, CTAS) \
  Kind{#NAME, Form::FORM, FILTER, STRIDE, CHANNELS, COLUMNS, CTAS, Finish::Plain, 1, false, true},
                    SHIFTCONV_CHANNELWISE_DILATED_BYTES_KINDS(SHIFTCONV_CHANNELWISE_KIND)
#undef SHIFTCONV_CHANNELWISE_KIND
#define SHIFTCONV_CHANNELWISE_KIND(NAME, FORM, FILTER, STRIDE, CHANNELS, COLUMNS, CTAS) \
  Kind{#NAME, Form::FORM, FILTER, STRIDE, CHANNELS, COLUMNS, CTAS, Finish::Plain, 1, true, true},
                        SHIFTCONV_CHANNELWISE_DILATED_INTEGERS_KINDS(SHIFTCONV_CHANNELWISE_KIND)
#undef SHIFTCONV_CHANNELWISE_KIND
#define SHIFTCONV_CHANNELWISE_KIND(NAME, OPERANDS, FORM, FILTER, STRIDE, CHANNELS, COLUMNS, CTAS, FINISH)                  \
  Kind{#NAME, Form::FORM, FILTER, STRIDE, CHANNELS, COLUMNS, CTAS, Finish::FINISH, OPERANDS::kBytes, OPERANDS::kIsInteger, \
       false, true},
                            SHIFTCONV_CHANNELWISE_DEEP_KINDS(SHIFTCONV_CHANNELWISE_KIND)
#undef SHIFTCONV_CHANNELWISE_KIND
#define SHIFTCONV_CHANNELWISE_KIND(NAME, OPERANDS, FILTER, CHANNELS, COLUMNS, CTAS) \
  Kind{#NAME, Form::Stream, FILTER, 1, CHANNELS, COLUMNS, CTAS, Finish::Plain, OPERANDS::kBytes},
                                SHIFTCONV_CHANNELWISE_STREAM_KINDS(SHIFTCONV_CHANNELWISE_KIND)
#undef SHIFTCONV_CHANNELWISE_KIND
#define SHIFTCONV_CHANNELWISE_KIND(NAME, OPERANDS, CHANNELS, COLUMNS, CTAS) \
  Kind{#NAME, Form::General, 0, 0, CHANNELS, COLUMNS, CTAS, Finish::Full, OPERANDS::kBytes},
                                    SHIFTCONV_CHANNELWISE_NARROW_KINDS(SHIFTCONV_CHANNELWISE_KIND)
#undef SHIFTCONV_CHANNELWISE_KIND
#define SHIFTCONV_CHANNELWISE_KIND(NAME, OPERANDS, FORM, FILTER, STRIDE, CHANNELS, COLUMNS, CTAS) \
  Kind{#NAME, Form::FORM, FILTER, STRIDE, CHANNELS, COLUMNS, CTAS, Finish::Full, OPERANDS::kBytes, OPERANDS::kIsInteger},
                                        SHIFTCONV_CHANNELWISE_WHOLE_KINDS(SHIFTCONV_CHANNELWISE_KIND)
#undef SHIFTCONV_CHANNELWISE_KIND
};

}  // namespace shiftconv::kernels::channelwise
