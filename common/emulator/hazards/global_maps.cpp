// Tensor maps that a launch changes itself: bulk tensor copies read them through a proxy of their own (PTX ISA 9.0, 9.7.13.4).
#include <algorithm>

#include "common/emulator/hazards/global_checker.hpp"
#include "common/emulator/machine/cluster.hpp"

namespace shiftconv::emulator::hazards {

using machine::Warp;

namespace {
constexpr const char* kReleaseMissing =
    "fence.proxy.tensormap::generic.release behind the change of the tensor map, before the threads synchronise, or "
    "tensormap.cp_fenceproxy to make the change";
constexpr const char* kAcquireMissing =
    "fence.proxy.tensormap::generic.acquire of the tensor map's address before the copy, behind the synchronisation with the "
    "thread that changed it";
}  // namespace

void GlobalChecker::mapAcquired(const Warp& warp, unsigned lane, uint64_t address) {
  const View view = base_.viewOf(warp, lane);
  mapAcquisitions_[address].insert_or_assign(view.thread, view);
}

/// Whether the writer's fence, or one between the two, published the write to the proxy of the maps.
bool GlobalChecker::isReleasedToMaps(const GlobalAccess& write, const View& view) const {
  if (write.isOperation()) return true;  // it has gone through another proxy, whose completion publishes it
  const Access access = write.access();
  if (write.cluster == cluster_)
    return (access.thread() == view.thread ? view.mapped : entry(view.base->mapped, access.thread())) >= access.clock();
  if (!view.base->foreign) return false;
  const auto known = view.base->foreign->clusters.find(write.cluster);
  return known != view.base->foreign->clusters.end() && entry(known->second->mapped, access.thread()) >= access.clock();
}

/// Whether a thread has acquired the map after the write, and the user knows.
bool GlobalChecker::isMapAcquired(const GlobalAccess& write, const Visitor& user) {
  const auto acquisitions = mapAcquisitions_.find(user.address);
  if (acquisitions == mapAcquisitions_.end()) return false;
  const View& view = user.subject.view;
  return std::any_of(acquisitions->second.begin(), acquisitions->second.end(), [&](const auto& acquisition) {
    const View& then = acquisition.second;
    if (then.thread != view.thread && entry(view.base->generic, then.thread) < then.clock) return false;
    const Subject acquirer{then, nullptr, {}};
    return order(write, true, {acquirer, {}, user.address, user.bytes, true, false}) == Verdict::Ordered &&
           isReleasedToMaps(write, then);
  });
}

void GlobalChecker::mapUsed(const Warp& warp, unsigned lane, uint64_t address) {
  constexpr uint64_t kMapBytes = 128;
  const View view = base_.viewOf(warp, lane);
  const Subject subject{view, nullptr, Access::byThread(view.thread, view.clock, base_.siteOf(warp), false)};
  const Visitor user{subject, GlobalAccess::byThreads(launch_.number, cluster_, subject.access, false), address, kMapBytes, true,
                     false};
  GlobalAccess last;
  Memo memo;
  PageHold held;
  visit(held, address, kMapBytes, false, [&](GlobalCell& cell, uint64_t, uint64_t) {
    const GlobalAccess writer = cell.writer;
    if (writer.isLaunch() && !(writer == last)) {
      last = writer;
      if (const Verdict verdict = order(writer, true, user); verdict != Verdict::Ordered)
        reportConflict(HazardKind::Race, HazardSeverity::Race, writer, true, user,
                       [&] { return missingOrder(verdict, writer, user); });
      else if (writer.launch == launch_.number && !isReleasedToMaps(writer, view))
        reportConflict(HazardKind::TensorMapFence, HazardSeverity::Race, writer, true, user, [] { return kReleaseMissing; });
      else if (writer.launch == launch_.number && !isMapAcquired(writer, user))
        reportConflict(HazardKind::TensorMapFence, HazardSeverity::Race, writer, true, user, [] { return kAcquireMissing; });
    }
    addReader(cell, user, memo);
  });
}

}  // namespace shiftconv::emulator::hazards
