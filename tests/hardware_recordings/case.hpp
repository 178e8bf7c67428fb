// One differential case: a PTX module, its launch and the memory it works on. The same case runs on a GPU and on the emulator.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace shiftconv::recordings {

struct Extent {
  uint32_t x = 1, y = 1, z = 1;
};

struct Launch {
  Extent grid, block, cluster;
  uint32_t dynamicShared = 0;
};

/// Device memory of a case. Observed buffers are read back, in order, and make up the result; their initial bytes are
/// the poison that shows which bytes a kernel wrote.
struct Buffer {
  std::vector<std::byte> bytes;
  bool observed = false;
};

struct PixelBox {
  std::array<int32_t, 3> lower{}, upper{};  ///< in the order in which the driver takes them
  uint32_t channels = 0, pixels = 0;
};

/// Arguments of cuTensorMapEncodeTiled, or of cuTensorMapEncodeIm2col when `pixels` is present. Enumerators are the
/// numbers of cuda.h; dimensions innermost first.
struct TensorMap {
  uint32_t type = 0;
  uint32_t rank = 1;
  size_t buffer = 0;        ///< index of the buffer that holds the tensor
  uint64_t byteOffset = 0;  ///< of the tensor in that buffer
  std::array<uint64_t, 5> dims{};
  std::array<uint64_t, 4> strides{};  ///< bytes, of dimensions 1..rank-1
  std::array<uint32_t, 5> box{1, 1, 1, 1, 1};
  std::array<uint32_t, 5> elementStrides{1, 1, 1, 1, 1};
  uint32_t interleave = 0;
  uint32_t swizzle = 0;
  uint32_t fill = 0;
  std::optional<PixelBox> pixels{};
};

/// A kernel parameter: the address of a buffer, a tensor map, or a 32-bit value.
struct Argument {
  enum class Kind : uint8_t { Buffer, Map, Value } kind = Kind::Buffer;
  uint32_t index = 0;  ///< of the buffer or map; the value itself
};

/// Largest allowed distance between two results, for instructions with a documented error bound: per number of the
/// output, |x - y| <= relative * max(|x|, |y|) + absolute. NaN, infinities and signs of zero must agree.
struct Tolerance {
  enum class Number : uint8_t { None, F16, BF16, F32, F64 } number = Number::None;
  double relative = 0;
  double absolute = 0;
};

enum class Outcome : uint8_t {
  Ok,
  MapRefused,      ///< cuTensorMapEncode* refused the tensor map
  ModuleRefused,   ///< the PTX did not assemble
  LaunchFailed,    ///< the launch, or the kernel while it ran
  TimedOut,        ///< killed by the watchdog
  NotImplemented,  ///< the emulator says so
};
inline constexpr std::array<std::string_view, 6> kOutcomeNames{"ok",        "map refused",    "module refused", "launch failed",
                                                               "timed out", "not implemented"};

struct Observation {
  Outcome outcome = Outcome::Ok;
  std::string text;              ///< error message
  std::vector<std::byte> bytes;  ///< observed buffers, one behind the other
};

struct Case {
  std::string ptx;
  std::string kernel = "k";
  Launch launch;
  std::vector<Buffer> buffers;
  std::vector<TensorMap> maps;
  std::vector<Argument> arguments;
  Tolerance tolerance;
  /// Why the emulator is not compared with the recording: the ISA leaves the result open, or only hardware can say it (raw
  /// images, times). Such a case is there for its finding. Empty for all others.
  std::string unjudged;
  /// Says what stands at a byte of the result: operands, coordinates.
  std::function<std::string(size_t offset)> explain;
  /// Reads the answer to an open question out of the observation.
  std::function<std::string(const Observation&)> finding;
};

struct CaseEntry {
  std::string family;
  std::string name;  ///< unique
  std::function<Case()> make;
};
using CaseList = std::vector<CaseEntry>;

/// Every case, in a fixed order.
const CaseList& allCases();

/// Seed of all operand streams; a case mixes in its own name.
inline constexpr uint64_t kSuiteSeed = 0x5817c0de2026ull;

}  // namespace shiftconv::recordings
