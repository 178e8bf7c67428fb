// cp.async.bulk.tensor and the prefetches that take a tensor map (PTX ISA 9.0, 9.7.9.25.5, 9.7.9.16).
//
// The 128 bytes of the tensor map are read when the copy is issued; tensor elements and shared memory when it completes.
// Modes .tile, .tile::gather4, .tile::scatter4 and .im2col are known. The im2col::w modes are refused by name: in which order
// they visit pixels after the end of a line, and what their halo rows hold, is described in figures only.
#include "common/emulator/forms/bulk/bulk_tensor_forms.hpp"

#include <fmt/format.h>

#include <array>
#include <cstring>
#include <memory>
#include <vector>

#include "common/emulator/error.hpp"
#include "common/emulator/forms/bulk/bulk_operands.hpp"
#include "common/emulator/isa/form.hpp"
#include "common/emulator/machine/racing_copy.hpp"
#include "common/emulator/tma/bulk_groups.hpp"
#include "common/emulator/tma/copy_engine.hpp"
#include "common/emulator/tma/tensor_map_edit.hpp"

namespace shiftconv::emulator::tma {
namespace {

using isa::DecodeContext;
using isa::FormMatch;
using machine::Cluster;
using machine::Cta;
using machine::DecodedInstruction;
using machine::Execution;
using machine::OperationKind;
using machine::Slot;

struct TensorCopy : machine::InstructionDetail {
  uint32_t rank = 0;
  LaneAddress map, shared, mbarrier;
  std::array<Slot, 5> coordinates{};
  std::array<Slot, 3> offsets{};    ///< im2col
  Slot ctaMask = machine::kNoSlot;  ///< .multicast::cluster
  bool im2col = false;
  bool fourRows = false;            ///< .tile::gather4, .tile::scatter4
  bool clusterDestination = false;  ///< .shared::cluster
  bool pairSignal = false;          ///< .cta_group::2
  std::string_view operation = {};  ///< of cp.reduce
};

uint32_t coordinateCount(const TensorCopy& copy) { return copy.fourRows ? 1 + kGatheredRows : copy.rank; }

/// Copies the map out of whatever the generic address names.
TensorMapImage readImage(Cluster& cluster, uint64_t address) {
  const machine::ResolvedAddress place = resolveGeneric(cluster, address);
  if (place.space != machine::ResolvedAddress::Space::Global)
    throw EmulatorError(ErrorKind::Descriptor,
                        fmt::format("the tensor map address {:#x} does not lie in param, const or global memory", address));
  TensorMapImage image;
  machine::racingCopy(reinterpret_cast<std::byte*>(&image), cluster.global.access(place.offset, sizeof image, 64, false),
                      sizeof image);
  return image;
}

DecodedMap readMap(const Execution& execution, const TensorCopy& copy, unsigned lane) {
  const uint64_t address = copy.map.at(execution, lane);
  const Cluster& cluster = execution.warp.cta.cluster;
  const TensorMapImage image = readImage(execution.warp.cta.cluster, address);
  const bool isParameter = address - cluster.parameterAddress < cluster.kernel.parameterBytes;
  if (cluster.observer && !isParameter) cluster.observer->mapUsed(execution.warp, lane, address);
  const std::optional<DecodedMap> map = decode(image);
  const auto fail = [](const std::string& message) { throw EmulatorError(ErrorKind::Descriptor, message); };
  if (!map)
    fail(fmt::format("the 128 bytes at {:#x} (lane {}) are not a tensor map: nothing encoded them, or they were overwritten",
                     address, lane));
  if (const std::string fault = editFault(image); !fault.empty())
    fail(fmt::format("the tensor map at {:#x} (lane {}), edited by tensormap.replace, is not valid: {}", address, lane, fault));
  if (map->tensor.rank != copy.rank)
    fail(fmt::format("a {}d copy uses the tensor map at {:#x} (lane {}), which has rank {}", copy.rank, address, lane,
                     map->tensor.rank));
  if (map->pixels.has_value() != copy.im2col)
    fail(fmt::format("a copy in {} mode uses the tensor map at {:#x} (lane {}), which was encoded for {} mode",
                     copy.im2col ? "im2col" : "tile", address, lane, copy.im2col ? "tile" : "im2col"));
  return *map;
}

TileStart readStart(const Execution& execution, const TensorCopy& copy, unsigned lane) {
  TileStart start;
  start.fourRows = copy.fourRows;
  for (uint32_t i = 0; i < coordinateCount(copy); ++i) start.coordinates[i] = execution.lanes<int32_t>(copy.coordinates[i])[lane];
  if (copy.im2col) {
    constexpr std::array<uint32_t, 3> kOffsetLimit{65536, 256, 32};  // by number of spatial dimensions
    for (uint32_t i = 0; i + 2 < copy.rank && copy.offsets[i] != machine::kNoSlot; ++i) {
      start.offsets[i] = execution.lanes<uint16_t>(copy.offsets[i])[lane];
      if (start.offsets[i] >= kOffsetLimit[copy.rank - 3])
        throw EmulatorError(ErrorKind::Descriptor,
                            fmt::format("im2col offset {} is {} (lane {}), but with rank {} it must be below {}", i,
                                        start.offsets[i], lane, copy.rank, kOffsetLimit[copy.rank - 3]));
    }
  }
  return start;
}

/// The CTA whose mbarrier hears of the bytes written to CTA `destination`: that CTA itself, or under .cta_group::2 the
/// member of its pair (ranks that differ in bit 0) that has the parity of the CTA holding the mbarrier operand.
Cta& signalledCta(Cluster& cluster, const Cta& destination, const Cta& mbarrier, bool pairSignal) {
  const uint32_t rank = pairSignal ? (destination.rank & ~1u) | (mbarrier.rank & 1u) : destination.rank;
  return *cluster.ctas.at(rank);
}

SharedPlace mbarrierOf(const Execution& execution, const TensorCopy& copy, unsigned lane, const SharedPlace& destination) {
  const bool clusterWide = copy.clusterDestination || copy.pairSignal;
  const SharedPlace mbarrier = sharedPlace(execution, copy.mbarrier, lane, clusterWide, "mbarrier");
  const uint32_t distance = mbarrier.cta->rank ^ destination.cta->rank;
  if (copy.pairSignal ? distance > 1 : distance != 0)
    throw EmulatorError(
        ErrorKind::Synchronisation,
        fmt::format("the mbarrier lies in cluster CTA {} and the destination in CTA {} (lane {}): {}", mbarrier.cta->rank,
                    destination.cta->rank, lane,
                    copy.pairSignal ? ".cta_group::2 needs both in one pair" : "without .cta_group::2 both must be the same"));
  return mbarrier;
}

void runLoad(Execution& execution, const DecodedInstruction& instruction) {
  const auto& copy = instruction.as<TensorCopy>();
  Cluster& cluster = execution.warp.cta.cluster;
  forEachLane(execution, [&](unsigned lane) {
    const DecodedMap map = readMap(execution, copy, lane);
    const TileStart start = readStart(execution, copy, lane);
    requireCopyable(map, start);
    requireLoadable(map);
    const SharedPlace destination = sharedPlace(execution, copy.shared, lane, copy.clusterDestination, "destination");
    const SharedPlace mbarrier = mbarrierOf(execution, copy, lane, destination);
    const auto issue = [&](Cta& target, bool countRead) {
      Cta& signalled = signalledCta(cluster, target, *mbarrier.cta, copy.pairSignal);
      cluster.queue.issue({OperationKind::TileLoad, execution.warp.issuePoint(lane), {}, [=, &cluster, &target, &signalled] {
                             const CopyBytes moved = loadTile(map, start, cluster.global, target.shared, destination.offset);
                             if (countRead) {
                               cluster.counters.addBytes(Engine::BulkCopy, Traffic::GlobalRead, moved.global);
                               cluster.counters.tensorReads[map.tensor.globalAddress] += moved.global;
                             }
                             cluster.counters.addBytes(Engine::BulkCopy, Traffic::SharedWrite, moved.shared);
                             signalTransactions(signalled, mbarrier.offset, static_cast<uint32_t>(moved.payload));
                           }});
    };
    if (copy.ctaMask == machine::kNoSlot) return issue(*destination.cta, true);
    forEachMulticastTarget(cluster, execution.lanes<uint16_t>(copy.ctaMask)[lane], issue);
  });
}

void runStore(Execution& execution, const DecodedInstruction& instruction) {
  const auto& copy = instruction.as<TensorCopy>();
  Cluster& cluster = execution.warp.cta.cluster;
  EqualStores issued(copy.operation.empty());
  forEachLane(execution, [&](unsigned lane) {
    std::vector<uint64_t> operands{copy.map.at(execution, lane), copy.shared.at(execution, lane)};
    for (uint32_t i = 0; i < coordinateCount(copy); ++i) operands.push_back(execution.lanes<uint32_t>(copy.coordinates[i])[lane]);
    if (issued.joins(execution, lane, operands)) return;
    const DecodedMap map = readMap(execution, copy, lane);
    const TileStart start = readStart(execution, copy, lane);
    requireCopyable(map, start);
    requireStorable(map, start);
    const Reduction reduction = copy.operation.empty() ? nullptr : tensorReduction(map.tensor, copy.operation);
    const SharedPlace source = sharedPlace(execution, copy.shared, lane, false, "source");
    const auto tile = std::make_shared<std::vector<std::byte>>();
    const machine::IssuePoint issuer = execution.warp.issuePoint(lane);
    const auto read =
        cluster.queue.issue({reduction ? OperationKind::TileReduceRead : OperationKind::TileStoreRead, issuer, {}, [=, &cluster] {
                               *tile = gatherTile(map, start, source.cta->shared, source.offset);
                               ++cluster.wakeups;
                             }});
    const auto write = cluster.queue.issue(
        {reduction ? OperationKind::TileReduceWrite : OperationKind::TileStoreWrite, issuer, {read}, [=, &cluster] {
           const CopyBytes moved = storeTile(map, start, *tile, cluster.global, reduction);
           cluster.counters.addBytes(Engine::BulkCopy, Traffic::SharedRead, moved.shared);
           cluster.counters.addBytes(Engine::BulkCopy, Traffic::GlobalWrite, moved.global);
           ++cluster.wakeups;
         }});
    issued.add(execution, lane, std::move(operands), read, write);
  });
}

/// An L2 prefetch moves nothing that a kernel can see; only its map and its coordinates are checked.
void runTensorPrefetch(Execution& execution, const DecodedInstruction& instruction) {
  const auto& copy = instruction.as<TensorCopy>();
  forEachLane(execution, [&](unsigned lane) {
    const DecodedMap map = readMap(execution, copy, lane);
    requireCopyable(map, readStart(execution, copy, lane));
    requireLoadable(map);
    ++execution.warp.cta.cluster.counters.operations["cp.async.bulk.tensor prefetch"];
  });
}

/// [map, {coordinates}]: the coordinates follow the base, as a vector or one by one.
void decodeMapOperand(DecodeContext& context, const ptx::Operand& operand, TensorCopy& copy) {
  copy.map = LaneAddress(context.address(operand));
  const auto& elements = operand.elements;
  const bool vector = elements.size() == 2 && elements[1].kind == ptx::Operand::Kind::Vector;
  const ptx::Operand* first = vector ? elements[1].elements.data() : elements.data() + 1;
  const size_t count = vector ? elements[1].elements.size() : elements.size() - 1;
  const uint32_t expected = coordinateCount(copy);
  if (count != expected)
    context.illegal(fmt::format("{} coordinates given, but a {}d {} takes {}", count, copy.rank,
                                copy.fourRows ? "gather or scatter of four rows" : "copy", expected));
  for (uint32_t i = 0; i < expected; ++i) copy.coordinates[i] = context.source(first[i], ptx::ScalarType::S32);
}

std::shared_ptr<TensorCopy> newCopy(DecodeContext& context, const FormMatch& match) {
  auto copy = std::make_shared<TensorCopy>();
  for (uint32_t rank = 1; rank <= kMaximumRank; ++rank)
    if (match.has(fmt::format("{}d", rank))) copy->rank = rank;
  copy->im2col = match.has("im2col") || match.has("im2col_no_offs");
  copy->fourRows = match.has("tile::gather4") || match.has("tile::scatter4");
  if (copy->fourRows && copy->rank != 2)
    context.illegal(fmt::format(".tile::gather4 and .tile::scatter4 exist for 2d, not for {}d", copy->rank));
  if (copy->im2col && copy->rank < 3) context.illegal(fmt::format("im2col mode needs 3 to 5 dimensions, not {}", copy->rank));
  copy->offsets.fill(machine::kNoSlot);
  return copy;
}

/// {w}, {w, h} or {w, h, d} of an im2col load or prefetch.
void decodeOffsets(DecodeContext& context, OperandCursor& operands, TensorCopy& copy) {
  if (!copy.im2col) return;
  const ptx::Operand& vector = operands.next("vector of im2col offsets");
  const size_t expected = copy.rank - 2;
  if (vector.kind != ptx::Operand::Kind::Vector || vector.elements.size() != expected)
    context.illegal(fmt::format("an im2col copy of {} dimensions takes a vector of {} offsets", copy.rank, expected));
  for (size_t i = 0; i < expected; ++i) copy.offsets[i] = context.source(vector.elements[i], ptx::ScalarType::U16);
}

void finish(DecodeContext& context, const FormMatch& match, OperandCursor& operands, machine::Handler handler,
            std::shared_ptr<TensorCopy> copy) {
  if (match.has("L2::cache_hint")) operands.source("cache policy", ptx::ScalarType::B64);
  operands.finish();
  context.out().handler = handler;
  context.out().detail = std::move(copy);
}

void decodeLoad(DecodeContext& context, const FormMatch& match) {
  const auto copy = newCopy(context, match);
  OperandCursor operands(context);
  copy->shared = operands.address("destination");
  decodeMapOperand(context, operands.next("tensor map with coordinates"), *copy);
  copy->mbarrier = operands.address("mbarrier");
  decodeOffsets(context, operands, *copy);
  copy->clusterDestination = match.has("shared::cluster");
  copy->pairSignal = match.has("cta_group::2");
  if (match.has("multicast::cluster")) {
    if (!copy->clusterDestination) context.illegal(".multicast::cluster needs a .shared::cluster destination");
    copy->ctaMask = operands.source("CTA mask", ptx::ScalarType::U16);
  }
  finish(context, match, operands, runLoad, copy);
}

void decodeStore(DecodeContext& context, const FormMatch& match) {
  const auto copy = newCopy(context, match);
  OperandCursor operands(context);
  decodeMapOperand(context, operands.next("tensor map with coordinates"), *copy);
  copy->shared = operands.address("source");
  copy->operation = reductionName(match);
  finish(context, match, operands, runStore, copy);
}

void decodePrefetch(DecodeContext& context, const FormMatch& match) {
  const auto copy = newCopy(context, match);
  OperandCursor operands(context);
  decodeMapOperand(context, operands.next("tensor map with coordinates"), *copy);
  decodeOffsets(context, operands, *copy);
  finish(context, match, operands, runTensorPrefetch, copy);
}

struct MapPrefetch : machine::InstructionDetail {
  LaneAddress map;
  bool parameter = false;  ///< an address in the kernel's parameter block, not a generic one
};

/// Checks that 128 readable bytes are there; what they hold is looked at by the copies.
void runMapPrefetch(Execution& execution, const DecodedInstruction& instruction) {
  const auto& prefetch = instruction.as<MapPrefetch>();
  Cluster& cluster = execution.warp.cta.cluster;
  forEachLane(execution, [&](unsigned lane) {
    const uint64_t address = prefetch.map.at(execution, lane);
    readImage(cluster, prefetch.parameter ? cluster.parameterAddress + address : address);
  });
}

void decodeMapPrefetch(DecodeContext& context, const FormMatch& match) {
  OperandCursor operands(context);
  auto prefetch = std::make_shared<MapPrefetch>();
  prefetch->map = operands.address("tensor map");
  prefetch->parameter = match.has("param");
  operands.finish();
  context.out().handler = runMapPrefetch;
  context.out().detail = std::move(prefetch);
}

}  // namespace

isa::FormFamily bulkTensorForms() {
  return {
      // The mode may stand after the dimension or after .global; .cta_group likewise in two places.
      {"cp.async.bulk.tensor.(1d|2d|3d|4d|5d){.(tile|tile::gather4|im2col)}{.(cta_group::1|cta_group::2)}.(shared::cta|shared::"
       "cluster).global"
       "{.(tile|tile::gather4|im2col)}.mbarrier::complete_tx::bytes{.multicast::cluster}{.(cta_group::1|cta_group::2)}{.L2::cache_"
       "hint}",
       decodeLoad},
      {"cp.async.bulk.tensor.(1d|2d|3d|4d|5d){.(tile|tile::scatter4|im2col_no_offs)}.global.shared::cta"
       "{.(tile|tile::scatter4|im2col_no_offs)}.bulk_group{.L2::cache_hint}",
       decodeStore},
      {"cp.reduce.async.bulk.tensor.(1d|2d|3d|4d|5d).global.shared::cta.(add|min|max|inc|dec|and|or|xor){.(tile|im2col_no_offs)}"
       ".bulk_group{.L2::cache_hint}",
       decodeStore},
      {"cp.async.bulk.prefetch.tensor.(1d|2d|3d|4d|5d){.(tile|tile::gather4|im2col)}.L2.global{.(tile|tile::gather4|im2col)}{.L2::"
       "cache_hint}",
       decodePrefetch},
      {"prefetch{.(param|const)}.tensormap", decodeMapPrefetch},
  };
}

}  // namespace shiftconv::emulator::tma
