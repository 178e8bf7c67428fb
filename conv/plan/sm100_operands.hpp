// What the algorithms of sm_100 over common/gemm have in common: operands as matrix instructions see them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/device/device.hpp"
#include "common/gemm/shape.hpp"
#include "common/gemm/sm100/filter_params.hpp"
#include "common/gemm/sm100/gemm_params.hpp"
#include "common/layout/tensor_map.hpp"
#include "conv/plan/epilogue.hpp"
#include "conv/plan/options.hpp"
#include "conv/plan/plan.hpp"
#include "conv/problem/problem.hpp"

namespace shiftconv::plan {

/// f32 tensors become tf32 operands where the problem asks for it.
numerics::NumberType operandType(const Problem& problem, DataType type);
bool isScaled(const Problem& problem);
/// Types, block scales and accumulator of the GEMM that the convolution is; no extents.
gemm::GemmProblem gemmTypes(const Problem& problem);
std::optional<layout::MmaKind> kindOf(const Problem& problem, std::string& why);

/// Of a problem that operandRefusal accepts.
std::optional<layout::MmaKind> kindOf(const Problem& problem);

/// Widths of tiles are multiples of it: N of an M = 128 or M = 256 tcgen05.mma (PTX ISA table 39; a pair takes kind::i8 in steps of
/// 32). Where the scale factors of B lie for other N than multiples of 32 is not written down. Outputs that share a scale factor
/// lie in one tile.
int64_t tileNStep(const Problem& problem, layout::MmaKind kind);

/// How C is cut: chunks of 128 bytes in shared memory, which are four slices.
struct Channels {
  layout::MmaKind kind;
  int64_t chunk;  ///< elements
  int64_t chunks, lastChunkSlices;

  Channels(const Problem& problem, layout::MmaKind mmaKind);
  int64_t slices() const { return (chunks - 1) * gemm::sm100::kChunkSlices + lastChunkSlices; }
};

/// Elements as tensor maps count them: kinds that pack two into a byte load bytes.
int64_t mapElements(layout::MmaKind kind, int64_t elements);
/// The filter as [K][taps][C], with boxes of a chunk of one tap for `channelsOfBox` output channels.
layout::TiledMap filterMap(const Problem& problem, const Channels& channels, int64_t channelsOfBox);
/// From one pixel of the output to the next.
int64_t outputPixelBytes(const Problem& problem);
/// The channels of an output that leaves staging tiles by tensor stores: gemm::sm100::stagedRowsMap. Rank 0 where it cannot, or
/// where the kRowColumns channels of a box may be another pass's.
layout::TiledMap stagedOutputMap(const Problem& problem, int64_t passes, int64_t tileN);
/// Its stages in a CTA that loads `channelsOfBox` output channels of a pass.
gemm::sm100::FilterParams filterParams(const Problem& problem, const Channels& channels, int64_t channelsOfBox, int64_t stages,
                                       bool resident);

/// The option of algorithms that take a CTA or a pair.
inline constexpr OptionDescription kGroupOption{"group", "single, pair", "CTAs that multiply together: tcgen05 cta_group 1 or 2"};
std::string_view groupName(bool pair);
/// Leaves `pair` alone when the option is not set.
Status readGroup(const OptionValues& values, std::optional<bool>& pair);

/// Of 128 rows in each of `ctas` CTAs and `tileN` columns.
uint32_t instructionDescriptorOf(const Problem& problem, layout::MmaKind kind, int64_t ctas, int64_t tileN);

/// Has the pointer to an operand's scale factors filled in; `offset`: of the ScaleParams in the parameter.
void bindScales(Parameter& parameter, size_t offset, TensorName tensor, ScaleOrder order);

/// Empty, or one sentence, beginning with the algorithm's name: device, groups, scales, zero points, bias, types, and whether rows
/// of channels have whole 16 bytes.
std::string operandRefusal(std::string_view algorithm, const Problem& problem, const device::Properties& properties,
                           bool takesGroups = false);

bool hasSixBitElements(DataType type);
/// Open questions that products of such operands ask, whoever loads them: high halves of f16 accumulators (U9), overflow of
/// integers (U13), and sums of pairs, 6-bit floats and integers (U14).
std::vector<std::string_view> questionsOfProducts(const Problem& problem, bool pair);

/// Bytes of a pixel's channels, or of a filter tap's, in memory.
int64_t channelBytes(const Problem& problem, DataType type);

}  // namespace shiftconv::plan
