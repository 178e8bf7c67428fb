#include "conv/algorithms/channelwise/model.hpp"

#include <algorithm>
#include <cmath>

#include "common/layout/ceil_divide.hpp"
#include "conv/plan/algorithm_rates.hpp"
#include "conv/plan/estimate.hpp"
#include "conv/plan/shared_memory.hpp"

namespace shiftconv::plan {

using namespace kernels::channelwise;
using namespace rates::channelwise;

namespace {

// Instructions, counted in the machine code of sm_90a but for the guesses.
constexpr int32_t kFixed = 190;         // places, addresses, staging
constexpr int32_t kLoad = 4;            // address, predicate, zero, load
constexpr int32_t kStepFixed = 30;      // of the batch form
constexpr int32_t kStreamRow = 40;      // of the stream form: waits, arrives; thread 0 copies
constexpr int32_t kPlaneFixed = 20;     // of a filter with depth; a guess
constexpr int32_t kStore = 9;           // of an output pixel
constexpr int32_t kTapFixed = 6;        // of the general form
constexpr int32_t kStagedWord = 12;     // of the long form: loads, converts and stores it
constexpr int32_t kWholeEpilogue = 12;  // of an output, beyond its store; a guess

struct Work {
  double instructions = 0;  ///< of a warp
  double chainClocks = 0;   ///< that a warp waits when it has the multiprocessor for itself
  double loadedBytes = 0;   ///< of a thread
};

/// CTAs of a multiprocessor, by shared memory.
double residentByShared(const device::Properties& properties, const LaunchConfig& launch) {
  const auto own = static_cast<double>(launch.dynamicSharedBytes + kReservedSharedBytes);
  return std::floor(static_cast<double>(properties.sharedBytesPerBlock + kReservedSharedBytes) / own);
}

Work workOf(const Problem& p, const ChannelwisePlan& plan) {
  const Kind& k = *plan.kind;
  const double v = k.channels, q = k.columns, bytes = k.elementBytes, taps = static_cast<double>(p.r * p.s);
  Work work;
  if (k.form == Form::General || k.form == Form::Long) {
    const Params& params = plan.params;
    const double all = static_cast<double>(p.t) * taps;
    const double trips = static_cast<double>(params.depth.taps * params.down.taps * ceilDivide(params.across.taps, 4));
    // A product and the conversion of its input; bytes of any type take two steps more. 16 bits: counted; others: guesses.
    const bool isPlain = k.finish == Finish::Plain;
    const double element = k.isInteger ? 0.6 : k.elementBytes == 1 && !isPlain ? 4 : 2;
    const double store = isPlain ? kStore : kStore + kWholeEpilogue * v;
    if (k.form == Form::Long) {
      // Words are made once for all units of a CTA. Pixels are loaded once for all columns.
      const double ofWord = k.isInteger ? 4 : 1, product = k.isInteger ? 0.6 : 1;
      const double weight = (1 + kStagedWord * v / params.ctaUnits) / ofWord;
      work.instructions = kFixed + trips * 40 + all * (kLoad + v + weight + product * q * v) + q * store;
      work.chainClocks = trips / 2 * kTripClocks;
      work.loadedBytes = all * v * bytes;
      return work;
    }
    work.instructions = kFixed + trips * 40 + all * (q * (kLoad + element * v) + element * v + kTapFixed) + q * store;
    work.chainClocks = trips * kTripClocks;
    work.loadedBytes = all * q * v * bytes;
    return work;
  }
  const double pixels = (q - 1) * k.stride + k.filter;
  // Integers: words of weights in place of numbers, four products at a time.
  const double parts = k.filter <= 3 ? 1 : 2, shifts = k.stride == 1 && k.columns > 1 ? 2 : 1;
  const double weights = k.isInteger ? v * k.filter * shifts * parts : v * taps;
  const double products = (k.isInteger ? k.filter * parts : taps) * q * v;
  const double store = q * (kStore + (k.isInteger ? 3 : 2) * v);
  const double planes = static_cast<double>(p.t);
  if (k.form == Form::Few) {
    work.instructions = kFixed + planes * (weights * 2 + k.filter * pixels * (kLoad + v) + products) + store;
    work.chainClocks = (1 + planes) * kTripClocks;
    work.loadedBytes = planes * k.filter * pixels * v * bytes;
    return work;
  }
  const double reached = (k.filter + k.stride - 1) / k.stride, rows = plan.params.rows, steps = rows + reached - 1;
  if (k.form == Form::Stream) {
    work.instructions = kFixed + weights * 2 + steps * (kStepFixed + kStreamRow + pixels * (1 + v) + products) + rows * store;
    work.chainClocks = kTripClocks + steps * kStreamRowClocks;
    work.loadedBytes = steps * plan.params.boxBytes / plan.launch.block.x;
    return work;
  }
  const double plane = k.stride * pixels * (kLoad + v);
  const double step = kStepFixed + reached * q * v + planes * (plane + (k.isDeep ? weights * 2 + kPlaneFixed : 0));
  work.instructions = kFixed + weights * 2 + steps * step + rows * (planes * products + store);
  work.chainClocks = (steps * planes + 1) * kTripClocks;
  work.loadedBytes = steps * planes * k.stride * pixels * v * bytes;
  return work;
}

}  // namespace

void modelChannelwise(const Problem& problem, double bytes, const device::Properties& properties, ChannelwisePlan& plan) {
  const Rates& rates = ratesOf(properties);
  const Work work = workOf(problem, plan);
  const double multiprocessors = std::max<uint32_t>(1, properties.multiprocessors);
  const double ctas = static_cast<double>(plan.launch.grid.count()), threads = static_cast<double>(plan.launch.block.count());
  double resident = plan.kind->ctas * static_cast<double>(kMostThreads) / threads;
  if (plan.kind->form == Form::Stream) resident = std::min(resident, residentByShared(properties, plan.launch));
  // CTAs of the multiprocessor that has most of them.
  const double most =
      std::max(1.0, ctas / multiprocessors <= resident
                        ? static_cast<double>(ceilDivide(static_cast<int64_t>(ctas), static_cast<int64_t>(multiprocessors)))
                        : ctas / multiprocessors + kLastWaveShare * resident);
  const double waves = std::max(1.0, most / resident);
  const double issue = most * threads / 32 * work.instructions / (kWarpInstructions * kIssueShare);
  const double latency = waves * work.chainClocks;
  // Neighbouring threads load the same pixels, of which the first-level cache keeps about half. The form Stream loads each once.
  const double outputs = static_cast<double>(problem.outputPixels() * problem.k) * bytesOf(problem.outputType);
  const double loaded = ctas * threads * work.loadedBytes;
  const double traffic = outputs + (plan.kind->form == Form::Stream ? loaded : (loaded + bytes) / 2);
  const double second = traffic / multiprocessors / rates.of(Resource::L2ToShared);
  const double memory = bytes / rates.of(Resource::DeviceMemory);
  const double slowest = std::max({issue, latency, second, memory});
  const auto ofSlowest = [&](double clocks) { return static_cast<float>(clocks / slowest); };
  plan.modelParts = {ofSlowest(issue), ofSlowest(latency), ofSlowest(second), ofSlowest(memory)};
  plan.bound = slowest == memory ? Resource::DeviceMemory : slowest == second ? Resource::L2ToShared : Resource::CudaCores;
  double share = plan.staged() && plan.kind->form != Form::Long
                     ? kStagedShare * static_cast<double>(problem.r * problem.s) / 25 - kStagedGain
                     : 0;
  if (plan.kind->form == Form::Batch) share += kBatchShare;
  if (threads == 64) share += kSmallCtaShare;
  if (plan.kind->form == Form::Few && plan.kind->columns == 4) share += kFewOf4Share;
  if (plan.kind->form == Form::Stream && plan.kind->filter == 5) share += kStreamOf5Share;
  plan.modelledClocks =
      corrected(kStartClocks + slowest + (issue + latency + second + memory - slowest) * kExposedShare, kCorrection, share);
}

}  // namespace shiftconv::plan
