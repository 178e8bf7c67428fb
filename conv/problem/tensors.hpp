// The tensors of a problem by name, with their sizes and alignments.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "common/layout/scale_factor_layout.hpp"
#include "conv/problem/problem.hpp"

namespace shiftconv {

/// What is read, then what is written.
enum class TensorName : uint8_t {
  Input,
  Filter,
  Bias,
  Residual,
  ChannelScale,
  InputScale,
  FilterScale,
  SecondInput,
  Output,
  OutputScale,
  Amax,
  Workspace,
  PackedFilter,
};
inline constexpr size_t kTensors = 13;

/// "input", "channel_scale", ...: the names of shiftconv_tensors_t.
std::string_view nameOf(TensorName tensor);
inline bool isWritten(TensorName tensor) { return tensor >= TensorName::Output; }
/// What the address of a tensor must be a multiple of.
inline uintptr_t alignmentOf(TensorName tensor) { return tensor >= TensorName::Workspace ? 256 : 16; }

inline layout::ScaleFactorLayout layoutOf(ScaleOrder order) {
  return order == ScaleOrder::Plain ? layout::ScaleFactorLayout::RowMajor : layout::ScaleFactorLayout::Interleaved128x4;
}

/// One value for each tensor; 0 where there is none.
template <class Value>
struct PerTensor {
  std::array<Value, kTensors> values{};
  Value& operator[](TensorName tensor) { return values[static_cast<size_t>(tensor)]; }
  const Value& operator[](TensorName tensor) const { return values[static_cast<size_t>(tensor)]; }
};

/// Bytes from the first to the last element of each tensor of a valid problem. Workspace and packed filter belong to a plan, not to
/// a problem: they are 0 here.
PerTensor<size_t> tensorBytes(const Problem& problem);

/// Where a tensor lies.
struct TensorSpan {
  TensorName tensor;
  uint64_t address, bytes;  ///< of tensorBytes()
};
/// Whether two tensors have a byte in common. Slices of the channels of one larger tensor have none where they share no channel.
bool meet(const Problem& problem, const TensorSpan& one, const TensorSpan& other);

}  // namespace shiftconv
