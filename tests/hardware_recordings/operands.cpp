#include "tests/hardware_recordings/operands.hpp"

#include <bit>
#include <cmath>
#include <cstring>

namespace shiftconv::recordings {
namespace {

/// Field widths of a binary floating-point format.
struct FloatFormat {
  unsigned exponentBits, mantissaBits;
  uint64_t bias() const { return (1ull << (exponentBits - 1)) - 1; }
  uint64_t infinity() const { return ((1ull << exponentBits) - 1) << mantissaBits; }
  uint64_t sign() const { return 1ull << (exponentBits + mantissaBits); }
  uint64_t mantissaMask() const { return (1ull << mantissaBits) - 1; }
};
constexpr FloatFormat kF16{5, 10}, kBF16{8, 7}, kF32{8, 23}, kF64{11, 52};

std::vector<uint64_t> floatEdges(const FloatFormat& format) {
  const uint64_t one = format.bias() << format.mantissaBits, ulp = 1;
  const uint64_t hidden = 1ull << format.mantissaBits;
  const uint64_t quiet = format.infinity() | (hidden >> 1);
  std::vector<uint64_t> edges{0,
                              1,
                              2,
                              format.mantissaMask(),  // largest subnormal
                              hidden >> 1,            // a subnormal in the middle
                              hidden,                 // smallest normal
                              hidden + 1,
                              2 * hidden,
                              one,
                              one + ulp,
                              one - ulp,
                              one + hidden,                                  // 2
                              one - hidden,                                  // 1/2
                              one + (hidden >> 1),                           // 3/2
                              one + hidden + (hidden >> 2),                  // 5/2
                              one + hidden + (hidden >> 1) + (hidden >> 2),  // 7/2
                              one + 3 * hidden + 3,
                              format.infinity() - 1,  // largest finite
                              format.infinity() - 2,
                              format.infinity() - hidden,
                              format.infinity(),
                              quiet,
                              quiet | 1,
                              quiet | format.mantissaMask(),
                              format.infinity() | 1,  // signalling NaN
                              format.infinity() | (hidden >> 2)};
  // Around the limits of the integer types and of the mantissa, where conversions round, tie and saturate.
  for (unsigned power : {7u, 8u, 15u, 16u, 31u, 32u, 63u, 64u, format.mantissaBits, format.mantissaBits + 1}) {
    const uint64_t value = (format.bias() + power) << format.mantissaBits;
    if (value >= format.infinity()) continue;
    edges.insert(edges.end(), {value, value - 1, value + 1});
  }
  const size_t positive = edges.size();
  for (size_t i = 0; i < positive; ++i) edges.push_back(edges[i] | format.sign());
  return edges;
}

std::vector<uint64_t> integerEdges(unsigned bits) {
  const uint64_t mask = bits == 64 ? ~0ull : (1ull << bits) - 1;
  std::vector<uint64_t> edges{0, 1, 2, 3, 7, 10, 0x55555555'55555555ull, 0xAAAAAAAA'AAAAAAAAull, 0x01234567'89ABCDEFull};
  for (unsigned power : {7u, 8u, 15u, 16u, 23u, 24u, 31u, 32u, 47u, 63u})
    if (power < bits) edges.insert(edges.end(), {1ull << power, (1ull << power) - 1, (1ull << power) + 1});
  const size_t positive = edges.size();
  for (size_t i = 0; i < positive; ++i) edges.push_back(~edges[i]);
  for (size_t i = 0; i < positive; ++i) edges.push_back(0 - edges[i]);
  for (uint64_t& edge : edges) edge &= mask;
  return edges;
}

const std::vector<uint64_t>& edgesOf(Kind kind) {
  static const auto all = [] {
    std::array<std::vector<uint64_t>, static_cast<size_t>(Kind::Count)> edges;
    auto at = [&](Kind k) -> std::vector<uint64_t>& { return edges[static_cast<size_t>(k)]; };
    at(Kind::Pred) = {0, 1};
    at(Kind::I8) = integerEdges(8);
    at(Kind::I16) = integerEdges(16);
    at(Kind::I32) = integerEdges(32);
    at(Kind::I64) = integerEdges(64);
    at(Kind::F16) = floatEdges(kF16);
    at(Kind::BF16) = floatEdges(kBF16);
    at(Kind::F32) = floatEdges(kF32);
    at(Kind::F64) = floatEdges(kF64);
    at(Kind::Amount) = {0,  1,  2,  3,  7,  8,  15,  16,  17,  30,  31,  32,         33,
                        47, 48, 62, 63, 64, 65, 127, 128, 255, 256, 257, 0x80000000, 0xFFFFFFFF};
    at(Kind::Angle) = {0x00000000, 0x80000000, 0x3fc90fdb, 0xbfc90fdb, 0x40490fdb,
                       0xc0490fdb, 0x40c90fdb, 0x00000001, 0x00800000, 0x3f800000};
    return edges;
  }();
  return all[static_cast<size_t>(kind)];
}

/// The half of a packed kind, and the kind itself for all others.
Kind halfOf(Kind kind) {
  switch (kind) {
    case Kind::I16x2:
      return Kind::I16;
    case Kind::F16x2:
      return Kind::F16;
    case Kind::BF16x2:
      return Kind::BF16;
    default:
      return kind;
  }
}

const FloatFormat* formatOf(Kind kind) {
  switch (kind) {
    case Kind::F16:
      return &kF16;
    case Kind::BF16:
      return &kBF16;
    case Kind::F32:
      return &kF32;
    case Kind::F64:
      return &kF64;
    default:
      return nullptr;
  }
}

uint64_t maskOf(Kind kind) {
  if (kind == Kind::Pred) return 1;
  return bytesOf(kind) == 8 ? ~0ull : (1ull << (8 * bytesOf(kind))) - 1;
}

uint64_t edge(Kind kind, Random& random) {
  const std::vector<uint64_t>& edges = edgesOf(kind);
  return edges.empty() ? random.next() & maskOf(kind) : edges[random.below(edges.size())];
}

/// A value of ordinary size: floats within a few binades of 1, integers of random length.
uint64_t ordinary(Kind kind, Random& random) {
  if (const FloatFormat* format = formatOf(kind)) {
    const uint64_t exponent = format->bias() - 6 + random.below(13);
    return (exponent << format->mantissaBits) | (random.next() & (format->mantissaMask() | format->sign()));
  }
  if (kind == Kind::Amount) return random.below(70);
  if (kind == Kind::Angle) {
    const float angle = static_cast<float>((static_cast<double>(random.next() >> 11) * 0x1p-53 - 0.5) * 4 * 3.14159265358979);
    return std::bit_cast<uint32_t>(angle);
  }
  const unsigned bits = 8 * bytesOf(kind);
  const uint64_t value = random.next() >> random.below(bits);
  return (random.chance(50) ? value : 0 - value) & maskOf(kind);
}

uint64_t uniform(Kind kind, Random& random) {
  if (kind == Kind::Angle || kind == Kind::Amount) return ordinary(kind, random);
  return random.next() & maskOf(kind);
}

double toDouble(uint64_t bits, const FloatFormat& format) {
  const uint64_t exponent = (bits & format.infinity()) >> format.mantissaBits, mantissa = bits & format.mantissaMask();
  const double value = exponent
                           ? std::ldexp(1.0 + std::ldexp(static_cast<double>(mantissa), -static_cast<int>(format.mantissaBits)),
                                        static_cast<int>(exponent) - static_cast<int>(format.bias()))
                           : std::ldexp(static_cast<double>(mantissa), 1 - static_cast<int>(format.bias() + format.mantissaBits));
  return bits & format.sign() ? -value : value;
}

/// Truncates; only steers operands near cancellation, so that exactness does not matter.
uint64_t fromDouble(double value, const FloatFormat& format) {
  const uint64_t bits = std::bit_cast<uint64_t>(value);
  const int64_t exponent = static_cast<int64_t>((bits >> 52) & 0x7FF) - 1023 + static_cast<int64_t>(format.bias());
  const uint64_t sign = bits >> 63 ? format.sign() : 0;
  if (exponent <= 0) return sign;
  if (static_cast<uint64_t>(exponent) >= format.infinity() >> format.mantissaBits) return sign | format.infinity();
  return sign | (static_cast<uint64_t>(exponent) << format.mantissaBits) |
         ((bits >> (52 - format.mantissaBits)) & format.mantissaMask());
}

/// An operand that almost cancels, equals or neighbours what the operands before it make.
uint64_t related(Kind kind, size_t position, const OperandSet& set, const std::vector<Kind>& kinds, Random& random) {
  const FloatFormat* format = formatOf(kind);
  if (position == 0) return ordinary(kind, random);
  if (kinds[position - 1] != kind && !(position >= 2 && format)) return ordinary(kind, random);
  const uint64_t jitter = random.below(5) - 2;
  if (!format) return (set[position - 1] + jitter) & maskOf(kind);
  if (position >= 2 && formatOf(kinds[0]) && formatOf(kinds[1])) {
    const double product = toDouble(set[0], *formatOf(kinds[0])) * toDouble(set[1], *formatOf(kinds[1]));
    if (std::isfinite(product)) return (fromDouble(-product, *format) + jitter) & maskOf(kind);
  }
  const uint64_t near = set[position - 1] + (random.chance(30) ? random.below(64) << random.below(format->mantissaBits) : jitter);
  return (near ^ (random.chance(50) ? format->sign() : 0)) & maskOf(kind);
}

uint64_t draw(Kind kind, unsigned strategy, size_t position, const OperandSet& set, const std::vector<Kind>& kinds,
              Random& random) {
  const Kind half = halfOf(kind);
  if (half != kind) {
    OperandSet low{}, high{};
    std::vector<Kind> halves(kinds.size());
    for (size_t i = 0; i < kinds.size(); ++i) {
      halves[i] = halfOf(kinds[i]);
      low[i] = set[i] & 0xFFFF;
      high[i] = (set[i] >> 16) & 0xFFFF;
    }
    const uint64_t first = draw(half, strategy, position, low, halves, random);
    return first | (draw(half, strategy, position, high, halves, random) << 16);
  }
  if (strategy < 40) return edge(kind, random);
  if (strategy < 55) return random.chance(50) ? edge(kind, random) : uniform(kind, random);
  if (strategy < 75) return related(kind, position, set, kinds, random);
  if (strategy < 88) return ordinary(kind, random);
  return uniform(kind, random);
}

}  // namespace

unsigned bytesOf(Kind kind) {
  switch (kind) {
    case Kind::I8:
      return 1;
    case Kind::I16:
    case Kind::F16:
    case Kind::BF16:
    case Kind::E4M3x2:
    case Kind::E5M2x2:
      return 2;
    case Kind::I64:
    case Kind::F64:
      return 8;
    default:
      return 4;
  }
}

uint64_t Random::next() {
  uint64_t z = (state_ += 0x9E3779B97F4A7C15ull);
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
  return z ^ (z >> 31);
}

uint64_t hashBytes(const void* data, size_t bytes, uint64_t seed) {
  const auto* at = static_cast<const unsigned char*>(data);
  uint64_t hash = 0x2545F4914F6CDD1Dull ^ seed ^ (bytes * 0x9E3779B97F4A7C15ull);
  for (size_t i = 0; i < bytes; i += 8) {
    uint64_t word = 0;
    std::memcpy(&word, at + i, bytes - i < 8 ? bytes - i : 8);
    hash = Random(hash ^ word).next();
  }
  return hash;
}

std::vector<OperandSet> drawOperands(const std::vector<Kind>& kinds, size_t count, uint64_t seed, const OperandFilter& filter) {
  std::vector<OperandSet> sets;
  if (kinds.size() == 1 && bytesOf(kinds[0]) <= 2) {
    sets.resize(1u << (8 * bytesOf(kinds[0])));
    // An odd multiplier visits every value once, and puts edges and ordinary values side by side.
    for (size_t i = 0; i < sets.size(); ++i) sets[i][0] = (i * 0x9E37u + 0x7C00u) & (sets.size() - 1);
  } else {
    Random random(seed);
    sets.resize(count);
    for (OperandSet& set : sets) {
      const unsigned strategy = static_cast<unsigned>(random.below(100));
      for (size_t i = 0; i < kinds.size(); ++i) set[i] = draw(kinds[i], strategy, i, set, kinds, random);
    }
  }
  if (filter)
    for (OperandSet& set : sets) filter(set);
  return sets;
}

}  // namespace shiftconv::recordings
