#include "conv/plan/traffic.hpp"

#include <fmt/format.h>

namespace shiftconv::plan {
namespace {

constexpr std::array kFields{
    &Traffic::mmas,           &Traffic::shifts,          &Traffic::products,    &Traffic::multiplyReadBytes,
    &Traffic::copyReadBytes,  &Traffic::activationBytes, &Traffic::filterBytes, &Traffic::writtenBytes,
    &Traffic::multipliedRows, &Traffic::storedRows,      &Traffic::scaleBytes};

}  // namespace

Traffic& Traffic::operator+=(const Traffic& other) {
  for (const auto field : kFields) this->*field += other.*field;
  return *this;
}

Traffic operator*(Traffic traffic, int64_t count) {
  for (const auto field : kFields) traffic.*field *= count;
  return traffic;
}

std::array<Demand, 5> demandsOf(const Traffic& traffic, double share, double sectors) {
  const auto amount = [&](int64_t count) { return static_cast<double>(count) * share; };
  return {{{Resource::TensorCore, amount(traffic.products)},
           {Resource::L2ToShared, amount(traffic.writtenBytes) * sectors},
           {Resource::BulkWrites, amount(traffic.writtenBytes)},
           {Resource::TensorCopy, amount(traffic.copyReadBytes)},
           {Resource::SharedReads, amount(traffic.sharedReadBytes())}}};
}

std::string describe(const Traffic& traffic) {
  const auto megabytes = [](int64_t bytes) { return static_cast<double>(bytes) * 1e-6; };
  return fmt::format(
      "{} MMAs, {} shifts; shared memory read: {:.2f} MB by MMAs, {:.2f} MB by copies; loaded: {:.2f} MB of activations, {:.2f} MB "
      "of filters; {:.1f} % of the rows are outputs",
      traffic.mmas, traffic.shifts, megabytes(traffic.multiplyReadBytes), megabytes(traffic.copyReadBytes),
      megabytes(traffic.activationBytes), megabytes(traffic.filterBytes),
      100.0 * static_cast<double>(traffic.storedRows) / static_cast<double>(traffic.multipliedRows));
}

}  // namespace shiftconv::plan
