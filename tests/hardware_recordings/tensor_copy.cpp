#include "tests/hardware_recordings/tensor_copy.hpp"

#include <fmt/format.h>

#include "tests/hardware_recordings/program.hpp"

namespace shiftconv::recordings {
namespace {

constexpr uint32_t kGuard = 256;  ///< bytes after a tile that must stay poisoned

uint32_t roundUp(uint32_t value, uint32_t multiple) { return (value + multiple - 1) / multiple * multiple; }

/// Slots with room for the offset, the tile padded to whole pattern rows, and a guard.
std::vector<uint32_t> slotOffsets(const TensorMap& map, const std::vector<CopyStart>& starts) {
  uint32_t rows = tileBytes(map);
  // Should the engine pad rows to the span of the swizzle, the tile is larger.
  if (const uint32_t span = swizzleSpan(map.swizzle)) {
    const uint32_t inner = (map.pixels ? map.pixels->channels : map.box[0]) * elementBytes(map.type);
    if (inner < span) rows = rows / inner * span;
  }
  std::vector<uint32_t> offsets{0};
  for (const CopyStart& start : starts) offsets.push_back(offsets.back() + roundUp(rows + start.shared + kGuard, 1024));
  return offsets;
}

std::string explainLoad(const std::vector<CopyStart>& starts, const std::vector<uint32_t>& slots, size_t byte) {
  if (byte >= slots.back()) return byte < slots.back() + 4 ? "phase completed" : "exact byte count";
  size_t k = 0;
  while (byte >= slots[k + 1]) ++k;
  const auto& c = starts[k].coordinates;
  return fmt::format("copy {} from ({},{},{},{},{}), byte {} behind the slot's 1024-byte boundary", k, c[0], c[1], c[2], c[3], c[4],
                     byte - slots[k]);
}

}  // namespace

uint32_t elementBytes(uint32_t type) {
  constexpr std::array<uint32_t, kMapTypes> bytes{1, 2, 4, 4, 8, 8, 2, 4, 8, 2, 4, 4, 4};
  return bytes.at(type);
}

uint32_t swizzleSpan(uint32_t swizzle) {
  constexpr std::array<uint32_t, 7> span{0, 32, 64, 128, 128, 128, 128};
  return span.at(swizzle);
}

uint32_t tileBytes(const TensorMap& map) {
  if (map.pixels) return map.pixels->channels * map.pixels->pixels * elementBytes(map.type);
  uint32_t bytes = elementBytes(map.type) * map.box[0];
  for (uint32_t i = 1; i < map.rank; ++i) bytes *= (map.box[i] + map.elementStrides[i] - 1) / map.elementStrides[i];
  return bytes;
}

uint64_t tensorBytes(const TensorMap& map) {
  uint64_t bytes = map.byteOffset + map.dims[0] * elementBytes(map.type);
  for (uint32_t i = 1; i < map.rank; ++i) bytes += (map.dims[i] - 1) * map.strides[i - 1];
  return (bytes + 15) / 16 * 16;
}

std::vector<std::byte> tensorContents(uint32_t type, uint64_t bytes, uint64_t seed) {
  constexpr std::array<Kind, kMapTypes> kinds{Kind::I32, Kind::I32, Kind::I32,  Kind::I32, Kind::I64, Kind::I64, Kind::F16,
                                              Kind::F32, Kind::F64, Kind::BF16, Kind::F32, Kind::F32, Kind::F32};
  const Kind kind = kinds.at(type);
  if (type < kF16 && type != kU32 && type != kS32) return noise(bytes, seed);
  std::vector<std::byte> out;
  for (const OperandSet& set : drawOperands({kind, Kind::I32}, bytes / bytesOf(kind) + 1, kSuiteSeed ^ seed, {}))
    for (unsigned k = 0; k < bytesOf(kind); ++k) out.push_back(static_cast<std::byte>(set[0] >> (8 * k)));
  out.resize(bytes);
  return out;
}

std::string coordinateList(const TensorMap& map, const CopyStart& start) {
  std::string text = "{";
  for (uint32_t i = 0; i < map.rank; ++i) text += fmt::format("{}{}", i ? ", " : "", start.coordinates[i]);
  return text + "}";
}

Case tensorLoad(const TensorMap& map, const std::vector<CopyStart>& starts, const std::string& space) {
  const std::vector<uint32_t> slots = slotOffsets(map, starts);
  const uint32_t barrier = slots.back();
  Program program;
  const size_t data = program.input(tensorContents(map.type, tensorBytes(map), 51 + map.type));
  TensorMap own = map;
  own.buffer = data;
  program.map(own);
  const size_t out = program.output(barrier + 8);
  program.launch.dynamicShared = barrier + 16;
  std::string issue;
  for (size_t k = 0; k < starts.size(); ++k) {
    std::string offsets;
    if (map.pixels)
      for (uint32_t i = 0; i + 2 < map.rank; ++i) offsets += fmt::format("{}{}", i ? ", " : ", {", starts[k].offsets[i]);
    issue += fmt::format(
        "  add.u32 %r0, %dyn, {};\n  cp.async.bulk.tensor.{}d.{}.global{}.mbarrier::complete_tx::bytes [%r0], [%map0, {}], "
        "[%r10]{};\n",
        slots[k] + starts[k].shared, map.rank, space, map.pixels ? ".im2col" : ".tile", coordinateList(map, starts[k]),
        map.pixels ? offsets + "}" : "");
  }
  const uint32_t total = tileBytes(map) * static_cast<uint32_t>(starts.size());
  // A second arrival without bytes completes the next phase at once, unless surplus bytes have come in.
  const std::string surplus = "  mbarrier.arrive.shared.b64 _, [%r10];\n" + boundedWait(barrier, "1", "%p1");
  program.body = fillShared(0, barrier) + fmt::format("  add.u32 %r10, %dyn, {};\n", barrier) +
                 byThread0("  mbarrier.init.shared.b64 [%r10], 1;\n  fence.mbarrier_init.release.cluster;\n") +
                 "  fence.proxy.async;\n  bar.sync 0;\n" +
                 byThread0(fmt::format("  mbarrier.arrive.expect_tx.shared.b64 _, [%r10], {};\n", total) + issue) +
                 boundedWait(barrier, "0", "%p0") + copyToBuffer(0, barrier, out) + "  bar.sync 0;\n" +
                 byThread0(putPredicate(out, barrier / 4, "%p0") + surplus + "  and.pred %p1, %p1, %p0;\n" +
                           putPredicate(out, barrier / 4 + 1, "%p1"));
  Case made = program.build();
  made.explain = [starts, slots](size_t byte) { return explainLoad(starts, slots, byte); };
  return made;
}

Case tensorStore(const TensorMap& map, const std::vector<CopyStart>& starts, const std::string& operation) {
  const std::vector<uint32_t> slots = slotOffsets(map, starts);
  Program program;
  const size_t data = program.input(tensorContents(map.type, slots.back(), 71 + map.type));
  const uint64_t bytes = tensorBytes(map) + 64;
  const size_t out =
      operation.empty() ? program.output(bytes) : program.inputOutput(tensorContents(map.type, bytes, 81 + map.type));
  TensorMap own = map;
  own.buffer = out;
  program.map(own);
  program.launch.dynamicShared = slots.back();
  std::string issue;
  for (size_t k = 0; k < starts.size(); ++k)
    issue += fmt::format(
        "  add.u32 %r0, %dyn, {};\n  cp.{}async.bulk.tensor.{}d.global.shared::cta{}{}.bulk_group [%map0, {}], [%r0];\n",
        slots[k] + starts[k].shared, operation.empty() ? "" : "reduce.", map.rank, operation.empty() ? "" : "." + operation,
        map.pixels ? ".im2col_no_offs" : ".tile", coordinateList(map, starts[k]));
  program.body = copyFromBuffer(0, slots.back(), data) + "  fence.proxy.async.shared::cta;\n  bar.sync 0;\n" +
                 byThread0(issue + "  cp.async.bulk.commit_group;\n  cp.async.bulk.wait_group 0;\n");
  return program.build();
}

}  // namespace shiftconv::recordings
