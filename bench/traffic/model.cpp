#include "bench/traffic/model.hpp"

#include "conv/plan/rates.hpp"

namespace shiftconv::bench {

Modelled model(const Peer& peer, const plan::Traffic& traffic, const device::Properties& properties, const Constants& constants) {
  using plan::Resource;
  const plan::Rates& rates = plan::ratesOf(properties);
  const double share = peer.busiestShare(properties);
  const auto clocks = [&](int64_t amount, Resource resource) { return static_cast<double>(amount) * share / rates.of(resource); };
  const double copies = clocks(traffic.copyReadBytes, Resource::TensorCopy);
  // A pair's instruction shifts in both of its multiprocessors.
  const double shifts = static_cast<double>(traffic.shifts * peer.ctas()) * share * constants.shiftClocks;
  const struct {
    Resource resource;
    double clocks;
  } all[] = {
      {Resource::TensorCore, clocks(traffic.products, Resource::TensorCore) + shifts + (constants.copyIsSerial ? copies : 0)},
      {Resource::SharedReads, clocks(traffic.sharedReadBytes(), Resource::SharedReads)},
      {Resource::L2ToShared, clocks(traffic.activationBytes + traffic.filterBytes, Resource::L2ToShared)},
      {Resource::BulkWrites, clocks(traffic.writtenBytes, Resource::BulkWrites)},
      {Resource::TensorCopy, copies},
      {Resource::DeviceMemory, peer.estimate.bytes / rates.of(Resource::DeviceMemory)}};
  Modelled slowest;
  for (const auto& one : all)
    if (const double seconds = one.clocks / rates.clockHertz.perClock; seconds > slowest.seconds)
      slowest = {seconds, plan::nameOf(one.resource)};
  return slowest;
}

}  // namespace shiftconv::bench
