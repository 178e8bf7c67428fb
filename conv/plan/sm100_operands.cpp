#include "conv/plan/sm100_operands.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <tuple>

#include "common/gemm/sm100/operand_plan.hpp"
#include "common/numerics/codec.hpp"
#include "conv/plan/preparation.hpp"
#include "conv/plan/targets.hpp"

namespace shiftconv::plan {

numerics::NumberType operandType(const Problem& p, DataType type) {
  return type == DataType::F32 && p.compute == Compute::TF32 ? numerics::NumberType::TF32 : numberType(type);
}

bool isScaled(const Problem& p) { return p.inputScale.blockSize != 0; }

gemm::GemmProblem gemmTypes(const Problem& p) {
  gemm::GemmProblem gemm;
  gemm.a.type = operandType(p, p.inputType);
  gemm.b.type = operandType(p, p.filterType);
  gemm.accumulator = accumulatorType(p);
  gemm.blockSize = static_cast<int32_t>(p.inputScale.blockSize);
  if (isScaled(p)) gemm.scale = numberType(p.inputScale.type);
  gemm.a.scaleLayout = layoutOf(p.inputScale.order);
  gemm.b.scaleLayout = layoutOf(p.filterScale.order);
  gemm.output = numberType(p.outputType);
  gemm.outputBlock = static_cast<int32_t>(p.outputScale.blockSize);
  gemm.outputPitch = numerics::packedBytes(gemm.output, p.outputPitch());
  return gemm;
}

std::optional<layout::MmaKind> kindOf(const Problem& p, std::string& why) { return gemm::kindOf(gemmTypes(p), why); }

std::optional<layout::MmaKind> kindOf(const Problem& p) {
  std::string why;
  return kindOf(p, why);
}

int64_t tileNStep(const Problem& p, layout::MmaKind kind) {
  const int64_t ofProducts = layout::isBlockScaled(kind) || kind == layout::MmaKind::I8 ? 32 : 16;
  return std::max<int64_t>(ofProducts, gemm::rowStoreStep(static_cast<int32_t>(p.outputScale.blockSize)));
}

Channels::Channels(const Problem& p, layout::MmaKind mmaKind)
    : kind(mmaKind),
      chunk(gemm::sm100::chunkElements(kind)),
      chunks((p.c + chunk - 1) / chunk),
      lastChunkSlices(((p.c - (chunks - 1) * chunk) * gemm::sm100::kChunkSlices + chunk - 1) / chunk) {}

int64_t mapElements(layout::MmaKind kind, int64_t elements) {
  return gemm::sm100::isPackedInShared(kind) ? elements / 2 : elements;
}

layout::TiledMap filterMap(const Problem& p, const Channels& channels, int64_t channelsOfBox) {
  const auto u = [](int64_t value) { return static_cast<uint64_t>(value); };
  const auto type = operandType(p, p.filterType);
  layout::TiledMap map;
  map.type = gemm::sm100::mapType(channels.kind, type);
  map.rank = 3;
  const int64_t taps = p.t * p.r * p.s;
  map.dims = {u(mapElements(channels.kind, p.c)), u(taps), u(p.k)};
  const uint64_t tapBytes = u(numerics::packedBytes(type, p.c));
  map.strides = {tapBytes, tapBytes * u(taps)};
  map.box = {static_cast<uint32_t>(mapElements(channels.kind, channels.chunk)), 1, static_cast<uint32_t>(channelsOfBox)};
  map.swizzle = layout::MapSwizzle::B128;
  return map;
}

int64_t outputPixelBytes(const Problem& p) { return numerics::packedBytes(numberType(p.outputType), p.outputPitch()); }

layout::TiledMap stagedOutputMap(const Problem& p, int64_t passes, int64_t tileN) {
  if (passes != 1 && tileN % gemm::sm100::kRowColumns != 0) return {};
  const layout::TiledMap map = gemm::sm100::stagedRowsMap(numberType(p.outputType), p.k, outputPixelBytes(p));
  return map.rank == 0 ? layout::TiledMap{} : map;
}

gemm::sm100::FilterParams filterParams(const Problem& p, const Channels& channels, int64_t channelsOfBox, int64_t stages,
                                       bool resident) {
  gemm::sm100::FilterParams filter;
  filter.resident = resident;
  filter.stages = static_cast<int32_t>(stages);
  filter.stageBytes = static_cast<uint32_t>(channelsOfBox) * layout::kSwizzle128RowBytes;
  filter.countedBytes =
      static_cast<uint32_t>(channelsOfBox) * gemm::sm100::countedRowBytes(channels.kind, operandType(p, p.filterType));
  filter.chunkElements = static_cast<int32_t>(mapElements(channels.kind, channels.chunk));
  filter.taps = static_cast<int32_t>(p.r * p.s);
  filter.shareRows = static_cast<int32_t>(channelsOfBox);
  return filter;
}

constexpr std::array<std::string_view, 2> kGroupNames{"single", "pair"};

std::string_view groupName(bool pair) { return kGroupNames[pair ? 1 : 0]; }

Status readGroup(const OptionValues& values, std::optional<bool>& pair) {
  std::optional<size_t> group;
  if (Status status = values.choice(kGroupOption.name, kGroupNames, group); !status.ok()) return status;
  if (group) pair = *group == 1;
  return {};
}

uint32_t instructionDescriptorOf(const Problem& p, layout::MmaKind kind, int64_t ctas, int64_t tileN) {
  layout::MmaTypes types;
  types.kind = kind;
  types.a = operandType(p, p.inputType);
  types.b = operandType(p, p.filterType);
  if (isScaled(p)) types.scale = numberType(p.inputScale.type);
  types.accumulator = kind == layout::MmaKind::I8 ? layout::MmaAccumulator::S32
                      : p.compute == Compute::F16 ? layout::MmaAccumulator::F16
                                                  : layout::MmaAccumulator::F32;
  return layout::instructionDescriptor(types, static_cast<uint32_t>(gemm::sm100::kTileRows * ctas), static_cast<uint32_t>(tileN));
}

void bindScales(Parameter& parameter, size_t offset, TensorName tensor, ScaleOrder order) {
  using gemm::sm100::ScaleParams;
  parameter.address(offset + (order == ScaleOrder::Plain ? offsetof(ScaleParams, rowMajor) : offsetof(ScaleParams, tiles)),
                    {tensor});
}

std::string operandRefusal(std::string_view algorithm, const Problem& p, const device::Properties& properties, bool takesGroups) {
  if (!isBlackwell(properties))
    return fmt::format("{} needs tcgen05 (compute capability 10.0, 10.3 or 11.0), but {} has {}.{}", algorithm, properties.name,
                       properties.computeMajor, properties.computeMinor);
  if (p.groups != 1 && !takesGroups) return fmt::format("{} needs groups = 1, but it is {}", algorithm, p.groups);
  if (p.inputScale.blockSize != p.filterScale.blockSize || p.inputScale.type != p.filterScale.type)
    return fmt::format("{} needs input_block_scale and filter_block_scale of one block_size and type", algorithm);
  if (std::string why = zeroPointRefusal(algorithm, p); !why.empty()) return why;
  std::string why;
  const auto kind = kindOf(p, why);
  if (!kind) return fmt::format("{}: {}", algorithm, why);
  if (*kind == layout::MmaKind::I8 && properties.computeMinor == 3)
    return fmt::format("{} needs kind::i8 for {}, which compute capability 10.3 does not have", algorithm, nameOf(p.inputType));
  if (isScaled(p) && p.c % p.inputScale.blockSize != 0)
    return fmt::format("{} needs C to be a multiple of the {} channels that share a scale factor, but C is {}", algorithm,
                       p.inputScale.blockSize, p.c);
  for (const auto& [name, type, elements] : {std::tuple("C", p.inputType, p.c), std::tuple("C", p.filterType, p.c),
                                             std::tuple("input_pixel_pitch", p.inputType, p.inputPitch())}) {
    const int bits = bitsOf(type);
    // Tensor maps of packed elements that become bytes count in 128 (cuTensorMapEncodeTiled).
    const bool isUnpacked = bits < 8 && !gemm::sm100::isPackedInShared(*kind);
    const int64_t step = isUnpacked ? 128 : 128 / bits;
    if (elements % step != 0)
      return fmt::format("{} needs {} to be a multiple of {} for {} ({}), but it is {}", algorithm, name, step, nameOf(type),
                         isUnpacked ? "tensor maps that unpack need it" : "16-byte rows", elements);
  }
  return {};
}

int64_t channelBytes(const Problem& p, DataType type) { return numerics::packedBytes(operandType(p, type), p.c); }

bool hasSixBitElements(DataType type) { return type == DataType::E3M2 || type == DataType::E2M3; }

std::vector<std::string_view> questionsOfProducts(const Problem& problem, bool pair) {
  const bool integers = problem.inputType == DataType::S8 || problem.inputType == DataType::U8;
  std::vector<std::string_view> questions;
  questions.reserve(4);  // algorithms add theirs
  if (accumulatorType(problem) == numerics::NumberType::F16) questions.push_back("U9");
  if (integers) questions.push_back("U13");
  if (pair || integers || hasSixBitElements(problem.inputType) || hasSixBitElements(problem.filterType)) questions.push_back("U14");
  return questions;
}

}  // namespace shiftconv::plan
