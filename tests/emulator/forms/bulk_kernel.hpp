// A kernel around one bulk copy, for the cases of the bulk copy family.
//
// Every CTA has 32 threads, 16 KiB of shared memory `tile` at %tile (1024-byte aligned) and an mbarrier of count 1 at %bar
// (initialised, and visible in the cluster). Registers: %lane, %rank, %in, %out, %map (generic, 64 bits), %leader
// (predicate: lane 0), and free ones %r0-19 (.b32), %rd0-9 (.b64), %h0-7 (.b16), %p0-7 (.pred).
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/emulator/tma/tensor_map.hpp"
#include "tests/emulator/forms/form_case.hpp"

namespace shiftconv::tests {

using Bytes = std::vector<std::byte>;

struct BulkKernel {
  std::string body;
  uint32_t ctas = 1;         ///< one cluster
  Bytes input = {};          ///< contents of %in
  uint32_t outputBytes = 0;  ///< size of %out, poisoned with 0xCB
  /// Dimensions and box of the map that views %in (or, `mapOutput`, %out).
  std::optional<emulator::tma::TiledMap> map = {};
  std::optional<emulator::tma::PixelBox> pixels = {};
  bool mapOutput = false;
  bool breakMap = false;  ///< passes 128 bytes that are no map

  /// One launch; throws EmulatorError.
  Bytes run(FormRun& form, const emulator::Options& options, emulator::LaunchReport* report = nullptr) const;
  /// Runs under all three policies and several seeds, expects the same output every time, and returns it.
  Bytes runEverySchedule(FormRun& form, emulator::LaunchReport* report = nullptr) const;
};

/// Pieces of bodies.
std::string waitForBarrier(unsigned parity = 0);  ///< every lane waits on its CTA's %bar
std::string dumpTile(uint32_t bytes);             ///< tile -> %out + rank * bytes; bytes a multiple of 128
std::string fillTile(uint32_t bytes);             ///< %in -> tile by ordinary stores, then fence.proxy.async and bar.sync
std::string clusterBarrier();
std::string expectBytes(uint32_t bytes);  ///< lane 0: arrive.expect_tx on %bar

Bytes randomBytes(FormRun& form, size_t count);
inline std::byte poison() { return std::byte{0xCB}; }
/// The part [begin, begin + count) of `bytes`.
Bytes slice(const Bytes& bytes, size_t begin, size_t count);
/// Expects an EmulatorError whose text holds every part.
void expectError(FormRun& form, const BulkKernel& kernel, const std::vector<std::string>& parts);
/// Expects the hazard checker to say that undefined data reaches global memory.
void expectUndefined(FormRun& form, const BulkKernel& kernel);

namespace bulkforms {  // names of rows that several files have cases for

inline constexpr std::string_view kLoad =
    "cp.async.bulk.tensor.(1d|2d|3d|4d|5d){.(tile|tile::gather4|im2col)}{.(cta_group::1|cta_group::2)}.(shared::cta|shared::"
    "cluster).global"
    "{.(tile|tile::gather4|im2col)}.mbarrier::complete_tx::bytes{.multicast::cluster}{.(cta_group::1|cta_group::2)}{.L2::cache_"
    "hint}";
inline constexpr std::string_view kStore =
    "cp.async.bulk.tensor.(1d|2d|3d|4d|5d){.(tile|tile::scatter4|im2col_no_offs)}.global.shared::cta{.(tile|tile::scatter4|im2col_"
    "no_offs)}.bulk_group{.L2::"
    "cache_hint}";
inline constexpr std::string_view kPrefetch =
    "cp.async.bulk.prefetch.tensor.(1d|2d|3d|4d|5d){.(tile|tile::gather4|im2col)}.L2.global{.(tile|tile::gather4|im2col)}{.L2::"
    "cache_hint}";
inline constexpr std::string_view kMapPrefetch = "prefetch{.(param|const)}.tensormap";

}  // namespace bulkforms

// bulkCopyCases() is assembled from these and its own.
FormCases bulkTensorCases();
FormCases bulkTensorModeCases();
FormCases bulkReduceCases();
FormCases mapEditCases();
FormCases remoteStoreCases();

}  // namespace shiftconv::tests
