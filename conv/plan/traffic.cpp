#include "conv/plan/traffic.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "common/layout/ceil_divide.hpp"
#include "conv/plan/sm100_operands.hpp"

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

double crowdOf(const Rates& rates, const device::Properties& properties, int64_t loading) {
  const double all = rates.of(Resource::L2ToShared);
  const double each = all * std::max<uint32_t>(1, properties.multiprocessors) / static_cast<double>(std::max<int64_t>(1, loading));
  return all / std::clamp(each, all, rates.loneL2ToShared.perClock);
}

double sectorsOf(int64_t rowBytes) {
  constexpr int64_t kSectorBytes = 32;
  return static_cast<double>(roundUp(rowBytes, kSectorBytes)) / static_cast<double>(rowBytes);
}

double outputBytesOf(const Problem& problem) {
  return static_cast<double>(problem.outputPixels() * problem.k * bitsOf(problem.outputType)) / 8;
}

double fetchedBytesOf(const Problem& problem, const Traffic& traffic) {
  const double rows = static_cast<double>(traffic.activationBytes + traffic.filterBytes);
  return rows * sectorsOf(channelBytes(problem, problem.inputType)) + static_cast<double>(traffic.scaleBytes);
}

std::array<Demand, 7> demandsOf(const Traffic& traffic, const Load& load) {
  const auto amount = [&](int64_t count) { return static_cast<double>(count) * load.share; };
  return {{{Resource::TensorCore, amount(traffic.products)},
           {Resource::L2ToShared, load.fetchedBytes * load.share * load.crowd},
           {Resource::BulkWrites, amount(traffic.writtenBytes)},
           {Resource::TensorCopy, amount(traffic.copyReadBytes)},
           {Resource::SharedReads, amount(traffic.sharedReadBytes())},
           {Resource::BulkStores, load.storedBytes * load.share},
           {Resource::GatheredRows, load.gatheredRows * load.share}}};
}

double clocksAround(const Rates& rates, const Problem& problem, int64_t rows, int64_t columns) {
  const double lastOutputs = static_cast<double>(rows * columns * bitsOf(problem.outputType)) / 8;
  return rates.launchClocks.perClock + rates.startClocks.perClock + lastOutputs / rates.of(Resource::BulkStores);
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
