#include "conv/plan/rates.hpp"

#include <fmt/format.h>

#include "common/gemm/sm100/rates.hpp"

namespace shiftconv::plan {
namespace {

constexpr std::array<std::string_view, kResources> kNames{"tensor core",
                                                          "L2 to shared memory",
                                                          "TMA writes to shared memory",
                                                          "shared memory to Tensor Memory",
                                                          "staging through registers",
                                                          "shared memory reads",
                                                          "TMA stores",
                                                          "CUDA cores",
                                                          "device memory"};

constexpr bool isProducts(Resource resource) { return resource == Resource::TensorCore || resource == Resource::CudaCores; }

constexpr Evidence Published = Evidence::Published, Assumed = Evidence::Assumed, Measured = Evidence::Measured;

constexpr double kProductsPerColumn = 128 * 16;

// B200: SemiAnalysis' Blackwell microbenchmarks (MMA with A in Tensor Memory: N/2 clocks a K step of 128 x N x 16; 128 B/clk of
// shared-memory reads) and public L2, TMA, tcgen05.cp and tcgen05.st read-outs.
constexpr Rates kB200{
    "sm_100a",
    {{{kProductsPerColumn * gemm::sm100::kMmaColumnsPerClock, Published, "microbenchmarks: 128 x N x 16 in N/2 clocks"},
      {gemm::sm100::kL2BytesPerClock, Published, "16.8 to 21 TB/s over 148 multiprocessors at 1.9 GHz"},
      {gemm::sm100::kBulkWriteBytesPerClock, Published, "TMA read-outs, 116 to 127"},
      {gemm::sm100::kCopyBytesPerClock, Published, "tcgen05.cp 128x256b, two issuing warps"},
      {64, Assumed, "no faster than tcgen05.cp; nobody has published a read-out of the pair"},
      {gemm::sm100::kSharedReadBytesPerClock, Published, "microbenchmarks: operands, copies and loads share one port"},
      {31.8, Published, "TMA read-outs"},
      {128, Published, "four partitions of 32 lanes"},
      {3892, Published, "7.2 TB/s at 1.85 GHz"}}},
    {1.85e9, Published, "sustained on a cloud B200; 1.965 GHz at most"}};

constexpr Rates likeB200(std::string_view architecture, Rate deviceMemory, Rate clock) {
  Rates rates = kB200;
  rates.architecture = architecture;
  for (Rate& rate : rates.rates) {
    rate.evidence = Assumed;
    rate.source = "as on a B200";
  }
  rates.rates[static_cast<size_t>(Resource::DeviceMemory)] = deviceMemory;
  rates.clockHertz = clock;
  return rates;
}

constexpr Rates kTables[] = {
    kB200,
    likeB200("sm_103a", {3749, Assumed, "7.2 TB/s as on a B200, at 1.92 GHz"}, {1.92e9, Published, "sustained on a B300"}),
    likeB200("sm_110a", {176, Published, "273 GB/s (data sheet) at 1.55 GHz"}, {1.55e9, Assumed, "near the data sheet's peak"}),
    {"sm_90a",
     {{{2048, Published, "989 TFLOP/s (data sheet) over 132 multiprocessors at 1.83 GHz"},
       {38, Published, "9.2 TB/s on an H200"},
       {120, Assumed, "as on a B200"},
       {0, Published, "no Tensor Memory"},
       {0, Published, "no Tensor Memory"},
       {128, Published, "microbenchmarks, 127.9"},
       {31.8, Assumed, "as on a B200"},
       {128, Published, "four partitions of 32 lanes"},
       {2172, Assumed, "a copy's 4.3 TB/s, read and written, at 1.98 GHz"}}},
     {1.98e9, Measured, "an H200 under the tests of this project"}}};

/// 100 of "sm_100a".
constexpr int capabilityOf(const Rates& rates) {
  int number = 0;
  for (const char c : rates.architecture)
    if (c >= '0' && c <= '9') number = 10 * number + (c - '0');
  return number;
}
static_assert(capabilityOf(kB200) == 100);

}  // namespace

std::string_view nameOf(Resource resource) { return kNames[static_cast<size_t>(resource)]; }

std::string_view nameOf(Evidence evidence) {
  constexpr std::array<std::string_view, 3> kWords{"measured", "published", "assumed"};
  return kWords[static_cast<size_t>(evidence)];
}

std::span<const Rates> allRates() { return kTables; }

const Rates& ratesOf(const device::Properties& properties) {
  static constexpr auto kCapabilities = [] {
    std::array<int, std::size(kTables)> all{};
    for (size_t i = 0; i < all.size(); ++i) all[i] = capabilityOf(kTables[i]);
    return all;
  }();
  for (size_t i = 0; i < kCapabilities.size(); ++i)
    if (kCapabilities[i] == 10 * properties.computeMajor + properties.computeMinor) return kTables[i];
  return kB200;
}

std::string describe(const Rates& rates) {
  std::string text = fmt::format("{}: clock {:.2f} GHz ({}: {})\n", rates.architecture, rates.clockHertz.perClock * 1e-9,
                                 nameOf(rates.clockHertz.evidence), rates.clockHertz.source);
  for (size_t i = 0; i < kResources; ++i)
    text += fmt::format("  {:<31} {:>7.1f} {} a clock ({}: {})\n", kNames[i], rates.rates[i].perClock,
                        isProducts(static_cast<Resource>(i)) ? "products" : "bytes", nameOf(rates.rates[i].evidence),
                        rates.rates[i].source);
  return text;
}

}  // namespace shiftconv::plan
