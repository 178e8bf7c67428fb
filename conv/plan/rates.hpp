// What one multiprocessor, or the whole device, moves and multiplies in a clock: one table for each architecture, which every
// algorithm's estimate uses. Each rate says how it is known. What one algorithm alone needs: conv/plan/algorithm_rates.hpp.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "common/device/device.hpp"

namespace shiftconv::plan {

enum class Resource : uint8_t {
  TensorCore,    ///< products of 16-bit operands
  L2ToShared,    ///< bytes, every multiprocessor loading at once
  BulkWrites,    ///< bytes that TMA writes to shared memory
  TensorCopy,    ///< bytes from shared memory to Tensor Memory by tcgen05.cp
  SharedReads,   ///< bytes read from shared memory by MMAs, copies and threads
  BulkStores,    ///< bytes from shared memory to global memory by TMA
  CudaCores,     ///< f32 products outside of the tensor core
  DeviceMemory,  ///< bytes of device memory, for all multiprocessors together
  WarpProducts,  ///< products of 16-bit operands by mma.sync
  GatheredRows,  ///< rows of 128 bytes that TMA gathers in im2col mode, and their filters, where they start at multiples of 128
};
inline constexpr size_t kResources = 10;
/// "tensor core", "L2 to shared memory", ...
std::string_view nameOf(Resource resource);

enum class Evidence : uint8_t {
  Measured,   ///< by this project
  Published,  ///< by others, on the device
  Assumed,    ///< neither: carried over from another device, or a guess
  Fitted,     ///< to times of whole kernels
};
std::string_view nameOf(Evidence evidence);

struct Rate {
  double perClock;  ///< 0: the architecture lacks the resource
  Evidence evidence;
  std::string_view source;
};

struct Rates {
  std::string_view architecture;  ///< "sm_100a"
  std::array<Rate, kResources> rates;
  Rate clockHertz;                 ///< perClock holds Hz
  Rate loneL2ToShared;             ///< bytes of a multiprocessor that loads while the others do not
  std::array<Rate, 3> looserRows;  ///< GatheredRows that start at multiples of 64, of 32 and of 16 bytes
  Rate launchClocks;               ///< perClock holds clocks: of an empty kernel
  Rate startClocks;      ///< perClock holds clocks: from there to the first operands, and from the last product to its end
  Rate tornStoreClocks;  ///< perClock holds clocks: of a warp's store to global memory with gaps between its lanes' pieces

  double of(Resource resource) const { return rates[static_cast<size_t>(resource)].perClock; }
  /// GatheredRows, for rows that lie so many bytes apart.
  double rowsPerClock(int64_t distanceBytes) const;
};

/// The table of the device's compute capability; unknown ones get that of sm_100a.
const Rates& ratesOf(const device::Properties& properties);
/// Every table.
std::span<const Rates> allRates();

/// One line for each rate: value, how it is known, source.
std::string describe(const Rates& rates);

}  // namespace shiftconv::plan
