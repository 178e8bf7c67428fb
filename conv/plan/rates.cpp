#include "conv/plan/rates.hpp"

#include <fmt/format.h>

#include "common/gemm/sm100/rates.hpp"

namespace shiftconv::plan {
namespace {

constexpr std::array<std::string_view, kResources> kNames{"tensor core",
                                                          "L2 to shared memory",
                                                          "TMA writes to shared memory",
                                                          "shared memory to Tensor Memory",
                                                          "shared memory reads",
                                                          "TMA stores",
                                                          "CUDA cores",
                                                          "device memory",
                                                          "products of mma.sync",
                                                          "rows gathered by TMA"};

constexpr std::string_view unitOf(Resource resource) {
  if (resource == Resource::TensorCore || resource == Resource::CudaCores || resource == Resource::WarpProducts) return "products";
  return resource == Resource::GatheredRows ? "rows" : "bytes";
}

constexpr Evidence Published = Evidence::Published, Assumed = Evidence::Assumed, Measured = Evidence::Measured,
                   Fitted = Evidence::Fitted;

constexpr double kProductsPerColumn = 128 * 16;

// flashinfer's pull request 4923 lists CUTLASS's times on a B200. See bench/published, docs/performance/published.md.
constexpr Rate kUnalignedRows{0.53, Fitted, "CUTLASS's times of four 3x3x3 convolutions with 16, 32, 96 and 160 channels"};

// B200: SemiAnalysis' Blackwell microbenchmarks (MMA with A in Tensor Memory: N/2 clocks a K step of 128 x N x 16; 128 B/clk of
// shared-memory reads) and public L2, TMA and tcgen05.cp read-outs.
constexpr Rates kB200{
    "sm_100a",
    {{{kProductsPerColumn * gemm::sm100::kMmaColumnsPerClock, Published, "microbenchmarks: 128 x N x 16 in N/2 clocks"},
      {gemm::sm100::kL2BytesPerClock, Published, "16.8 to 21 TB/s over 148 multiprocessors at 1.9 GHz"},
      {gemm::sm100::kBulkWriteBytesPerClock, Published, "TMA read-outs, 116 to 127"},
      {gemm::sm100::kCopyBytesPerClock, Published, "tcgen05.cp 128x256b, two issuing warps"},
      {gemm::sm100::kSharedReadBytesPerClock, Published, "microbenchmarks: operands, copies and loads share one port"},
      {31.8, Published, "TMA read-outs"},
      {128, Published, "four partitions of 32 lanes"},
      {3892, Published, "7.2 TB/s at 1.85 GHz"},
      {1024, Assumed, "as on an H200"},
      {1.5, Assumed, "as on an H200"}}},
    {1.85e9, Published, "sustained on a cloud B200; 1.965 GHz at most"},
    {122, Published, "a CUTLASS main loop on one multiprocessor, both operands streamed at 95.5 % of the peak"},
    {{kUnalignedRows, kUnalignedRows, {0.35, Assumed, "as on an H200"}}},
    {2405, Assumed, "1.3 us, as on an H200"},
    {1900, Published, "tcgen05.alloc 253, a first box of 8 KB from device memory about 1500, commit to wait 148"},
    {28, Assumed, "as on an H200"}};

constexpr std::string_view kLayersOfNetworks = "im2col_sm90's times of 2,092 candidates on an H200";

constexpr Rates likeB200(std::string_view architecture, Rate deviceMemory, Rate clock) {
  Rates rates = kB200;
  rates.architecture = architecture;
  const auto assume = [](Rate& rate) { rate.evidence = Assumed, rate.source = "as on a B200"; };
  for (Rate& rate : rates.rates) assume(rate);
  for (Rate& rate : rates.looserRows) assume(rate);
  assume(rates.loneL2ToShared), assume(rates.launchClocks), assume(rates.startClocks), assume(rates.tornStoreClocks);
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
       {128, Published, "microbenchmarks, 127.9"},
       {31.8, Assumed, "as on a B200"},
       {128, Published, "four partitions of 32 lanes"},
       {2172, Assumed, "a copy's 4.3 TB/s, read and written, at 1.98 GHz"},
       {1024, Measured, "half of wgmma, in f16"},
       {1.5, Fitted, kLayersOfNetworks}}},
     {1.98e9, Measured, "an H200 under the tests of this project"},
     {43, Fitted, kLayersOfNetworks},
     {{{0.4, Fitted, kLayersOfNetworks}, {0.35, Fitted, kLayersOfNetworks}, {0.35, Fitted, kLayersOfNetworks}}},
     {2600, Measured, "an empty kernel in a graph"},
     {1180, Fitted, kLayersOfNetworks},
     {28, Measured, "pointwise with an odd number of output channels, on an H200"}}};

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
  constexpr std::array<std::string_view, 4> kWords{"measured", "published", "assumed", "fitted"};
  return kWords[static_cast<size_t>(evidence)];
}

double Rates::rowsPerClock(int64_t distanceBytes) const {
  if (distanceBytes % 128 == 0) return of(Resource::GatheredRows);
  return looserRows[distanceBytes % 64 == 0 ? 0 : distanceBytes % 32 == 0 ? 1 : 2].perClock;
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
  const auto line = [&](std::string_view name, const Rate& rate, std::string_view unit) {
    text += fmt::format("  {:<31} {:>7.2f} {} ({}: {})\n", name, rate.perClock, unit, nameOf(rate.evidence), rate.source);
  };
  for (size_t i = 0; i < kResources; ++i)
    line(kNames[i], rates.rates[i], fmt::format("{} a clock", unitOf(static_cast<Resource>(i))));
  line("  of one multiprocessor, from L2", rates.loneL2ToShared, "bytes a clock");
  constexpr std::array<std::string_view, 3> kStarts{"  at multiples of 64 bytes", "  of 32 bytes", "  of 16 bytes"};
  for (size_t i = 0; i < kStarts.size(); ++i) line(kStarts[i], rates.looserRows[i], "rows a clock");
  line("an empty kernel", rates.launchClocks, "clocks");
  line("start and end of a kernel", rates.startClocks, "clocks");
  line("a warp's store with gaps", rates.tornStoreClocks, "clocks");
  return text;
}

}  // namespace shiftconv::plan
