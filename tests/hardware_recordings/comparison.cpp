#include "tests/hardware_recordings/comparison.hpp"

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <cstring>

#include "tests/hardware_recordings/operands.hpp"

namespace shiftconv::recordings {
namespace {

constexpr size_t kReportedDifferences = 8;

double floatValue(const std::byte* at, Tolerance::Number number) {
  uint64_t bits = 0;
  switch (number) {
    case Tolerance::Number::F64:
      std::memcpy(&bits, at, 8);
      return std::bit_cast<double>(bits);
    case Tolerance::Number::F32:
      std::memcpy(&bits, at, 4);
      return std::bit_cast<float>(static_cast<uint32_t>(bits));
    case Tolerance::Number::BF16:
      std::memcpy(&bits, at, 2);
      return std::bit_cast<float>(static_cast<uint32_t>(bits << 16));
    default:
      break;
  }
  std::memcpy(&bits, at, 2);
  const uint64_t exponent = (bits >> 10) & 31, mantissa = bits & 1023;
  double value = exponent ? std::ldexp(1.0 + static_cast<double>(mantissa) / 1024, static_cast<int>(exponent) - 15)
                          : std::ldexp(static_cast<double>(mantissa), -24);
  if (exponent == 31) value = mantissa ? std::nan("") : INFINITY;
  return bits & 0x8000 ? -value : value;
}

size_t bytesOf(Tolerance::Number number) { return number == Tolerance::Number::F64 ? 8 : number == Tolerance::Number::F32 ? 4 : 2; }

/// A result within its error of the largest number may have overflowed.
double withoutInfinity(double x, Tolerance::Number number) {
  if (!std::isinf(x) || number == Tolerance::Number::F64) return x;
  return std::copysign(std::exp2(number == Tolerance::Number::F16 ? 16 : 128), x);
}

bool agrees(double x, double y, const Tolerance& tolerance) {
  if (std::isnan(x) || std::isnan(y)) return std::isnan(x) && std::isnan(y);
  if (x == y && x != 0) return true;
  x = withoutInfinity(x, tolerance.number), y = withoutInfinity(y, tolerance.number);
  if (x == 0 && y == 0) return std::signbit(x) == std::signbit(y);
  return std::fabs(x - y) <= tolerance.relative * std::fmax(std::fabs(x), std::fabs(y)) + tolerance.absolute;
}

std::string hex(const std::byte* first, size_t count) {
  std::string text;
  for (size_t i = count; i-- > 0;) text += fmt::format("{:02x}", static_cast<unsigned>(first[i]));
  return "0x" + text;
}

std::string explained(const Case& made, size_t offset) {
  return made.explain ? made.explain(offset) : fmt::format("byte {}", offset);
}

/// Byte by byte where the recording holds bytes, block by block elsewhere.
std::string differences(const Case& made, const Observation& emulated, const Record& expected) {
  std::string text;
  size_t found = 0, last = ~size_t{0};
  const size_t known = std::min(expected.prefix.size(), emulated.bytes.size());
  for (size_t i = 0; i < known; ++i) {
    if (emulated.bytes[i] == expected.prefix[i]) continue;
    const std::string where = explained(made, i);
    if (last != ~size_t{0} && where == explained(made, last)) continue;
    last = i;
    if (++found > kReportedDifferences) continue;
    const size_t first = i & ~size_t{7}, count = std::min<size_t>(8, known - first);
    text += fmt::format("\n    {}: emulator {} hardware {} (8 bytes at {})", where, hex(&emulated.bytes[first], count),
                        hex(&expected.prefix[first], count), first);
  }
  size_t blocks = 0;
  for (size_t k = 0; k < expected.blocks.size(); ++k) {
    const size_t at = k * kBlockBytes;
    if (at >= emulated.bytes.size()) break;
    const size_t size = std::min(kBlockBytes, emulated.bytes.size() - at);
    if (at + size <= known || static_cast<uint16_t>(hashBytes(&emulated.bytes[at], size)) == expected.blocks[k]) continue;
    if (blocks++ < kReportedDifferences) text += fmt::format("\n    in the block of {} bytes from: {}", size, explained(made, at));
  }
  return fmt::format("{} differing results among the {} recorded bytes, {} differing blocks behind them{}", found, known, blocks,
                     text);
}

Judgement judgeApproximation(const Case& made, const Observation& emulated, const Record& expected) {
  const size_t step = bytesOf(made.tolerance.number), known = std::min(expected.prefix.size(), emulated.bytes.size());
  std::string text;
  size_t wrong = 0;
  for (size_t at = 0; at + step <= known; at += step) {
    const double ours = floatValue(&emulated.bytes[at], made.tolerance.number),
                 theirs = floatValue(&expected.prefix[at], made.tolerance.number);
    if (agrees(ours, theirs, made.tolerance)) continue;
    if (wrong++ < kReportedDifferences)
      text += fmt::format("\n    {}: emulator {:.9g} hardware {:.9g}", explained(made, at), ours, theirs);
  }
  if (wrong) return {Verdict::Mismatch, fmt::format("{} of {} results outside the documented error{}", wrong, known / step, text)};
  return {Verdict::WithinError, {}};
}

}  // namespace

Judgement judge(const Case& made, const Observation& emulated, const Record* expected) {
  if (emulated.outcome == Outcome::NotImplemented && made.unjudged.empty()) return {Verdict::NotImplemented, emulated.text};
  const auto outcome = [](Outcome o) { return kOutcomeNames[static_cast<size_t>(o)]; };
  if (!expected || expected->caseHash != hashOf(made))
    return {Verdict::NotRecorded,
            fmt::format("{}; emulator: {} {}", expected ? "the case changed since it was recorded" : "no observation",
                        outcome(emulated.outcome), emulated.text)};
  if (!made.unjudged.empty()) return {Verdict::Unjudged, made.unjudged};
  if (emulated.outcome != expected->outcome)
    return {Verdict::Mismatch, fmt::format("hardware: {} {}; emulator: {} {}", outcome(expected->outcome), expected->text,
                                           outcome(emulated.outcome), emulated.text)};
  if (emulated.outcome != Outcome::Ok) return {Verdict::Match, {}};
  if (emulated.bytes.size() != expected->totalBytes)
    return {Verdict::Mismatch, fmt::format("{} bytes instead of {}", emulated.bytes.size(), expected->totalBytes)};
  if (contentHash(emulated.bytes) == expected->hash) return {Verdict::Match, {}};
  if (made.tolerance.number != Tolerance::Number::None) return judgeApproximation(made, emulated, *expected);
  return {Verdict::Mismatch, differences(made, emulated, *expected)};
}

}  // namespace shiftconv::recordings
