// One access to global memory: as Access, with the launch and the cluster that made it.
#pragma once

#include <cstdint>

#include "common/emulator/hazards/access.hpp"

namespace shiftconv::emulator::hazards {

/// Accesses of threads keep the bits of their Access. Those of operations are packed anew, as they must be told from each
/// other, and described, after their cluster is gone.
struct GlobalAccess {
  static constexpr uint32_t kNobody = 0;       ///< `launch` of bytes that nothing has touched
  static constexpr uint32_t kHost = 1;         ///< written by the host, before everything that runs now
  static constexpr uint32_t kFirstLaunch = 2;  ///< launches, and copies of the host that belong to a stream, count from here

  uint64_t bits = 0;
  uint32_t launch = kNobody;
  uint32_t cluster : 31 = 0;  ///< in the grid, first dimension fastest
  uint32_t wide : 1 = 0;      ///< strong at .gpu or .sys scope: no race with others like it in any cluster

  static GlobalAccess byHost(uint32_t launch) { return {.bits = 0, .launch = launch}; }
  static GlobalAccess byThreads(uint32_t launch, uint32_t cluster, Access access, bool wide) {
    return {.bits = access.bits(), .launch = launch, .cluster = cluster, .wide = wide && access.strong()};
  }
  /// `reduces`: combines atomically with what is there.
  static GlobalAccess byOperation(uint32_t launch, uint32_t cluster, const machine::IssuePoint& issuer, uint32_t site,
                                  machine::OperationId id, bool reduces) {
    return {.bits = uint64_t{static_cast<uint8_t>(Access::Kind::Operation)} << Access::kKindShift |
                    uint64_t{issuer.ctaRank} << kRankShift | uint64_t{issuer.warp} << kWarpShift | uint64_t{site} << kSiteShift |
                    (id & kMaximumId),
            .launch = launch,
            .cluster = cluster,
            .wide = reduces};
  }

  bool isLaunch() const { return launch >= kFirstLaunch; }
  /// Of two accesses by single threads.
  bool isBySameThread(const GlobalAccess& other) const {
    return other.launch == launch && other.cluster == cluster && Access::sameThread(bits, other.bits);
  }
  bool isOperation() const { return access().kind() == Access::Kind::Operation; }
  /// Of threads only.
  Access access() const { return Access(bits); }
  uint32_t operationId() const { return static_cast<uint32_t>(bits & kMaximumId); }
  uint32_t operationRank() const { return static_cast<uint32_t>(bits >> kRankShift & 15); }
  uint32_t operationWarp() const { return static_cast<uint32_t>(bits >> kWarpShift & 31); }
  /// In the SiteTable of the launch.
  uint32_t site() const {
    return isOperation() ? static_cast<uint32_t>(bits >> kSiteShift) & Access::kMaximumSite : access().site();
  }
  bool operator==(const GlobalAccess&) const = default;

 private:
  static constexpr uint64_t kMaximumId = 0xffff'ffffu;
  static constexpr unsigned kSiteShift = 32, kWarpShift = kSiteShift + Access::kSiteBits, kRankShift = kWarpShift + 5;
  static_assert(kRankShift + 4 <= Access::kKindShift);
};

/// What is remembered of a byte. Of the readers since the last write only two are kept, of different clusters where there are
/// such: a later write is checked against these.
struct GlobalCell {
  GlobalAccess writer;
  GlobalAccess readers[2];

  static GlobalCell splitAt(size_t index) {
    GlobalCell cell;
    cell.writer.bits = index;
    cell.writer.launch = kSplit;
    return cell;
  }
  bool isSplit() const { return writer.launch == kSplit; }
  size_t splitIndex() const { return writer.bits; }

 private:
  static constexpr uint32_t kSplit = 0xffff'ffff;
};

}  // namespace shiftconv::emulator::hazards
