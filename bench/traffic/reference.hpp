// Operands of a layer that need no memory of their own on the host, and any output of it.
#pragma once

#include <cstdint>
#include <vector>

#include "conv/problem/problem.hpp"
#include "conv/problem/tensors.hpp"

namespace shiftconv::bench {

/// Random numbers whose sums of products are exact in f32 in any order, repeated with a period that is prime.
class Pattern {
 public:
  Pattern(numerics::NumberType type, std::vector<double> values);

  double operator[](int64_t index) const { return values_[static_cast<size_t>(index) % values_.size()]; }
  /// `count` elements of it.
  std::vector<uint8_t> bytes(int64_t count) const;

 private:
  numerics::NumberType type_;
  std::vector<double> values_;
};

/// Without pitches, groups, epilogue beyond the conversion, or elements below a byte.
class Reference {
 public:
  Reference(const Problem& problem, uint64_t seed);

  /// Of input, filter and their scale factors; empty: the problem has none.
  std::vector<uint8_t> bytes(TensorName tensor) const;
  /// The bits of all K outputs of a pixel.
  std::vector<uint32_t> pixel(int64_t pixel) const;

 private:
  Problem problem_;
  Pattern input_, filter_, inputScale_, filterScale_;
  std::vector<float> taps_;  ///< [T*R*S][C][K], scale factors included
};

}  // namespace shiftconv::bench
