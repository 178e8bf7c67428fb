#include "tests/conv/random_problem.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "common/device/registry.hpp"
#include "conv/problem/validation.hpp"

namespace shiftconv::tests {
namespace {

class Draw {
 public:
  explicit Draw(std::mt19937_64& generator) : generator_(generator) {}
  int64_t in(int64_t low, int64_t high) { return std::uniform_int_distribution<int64_t>(low, high)(generator_); }
  bool oneIn(int64_t count) { return in(1, count) == 1; }
  template <class Value>
  Value of(std::initializer_list<Value> values) {
    return *std::next(values.begin(), in(0, static_cast<int64_t>(values.size()) - 1));
  }
  /// Small numbers as often as large ones.
  int64_t upTo(int64_t most) {
    return static_cast<int64_t>(
        std::exp2(std::uniform_real_distribution<double>(0, std::log2(static_cast<double>(most + 1)))(generator_)));
  }
  /// Of a kernel's vectors, or of nobody's.
  int64_t channels() { return of<int64_t>({1, 4, 8, 16, 32, 64, 128}) * upTo(40); }

 private:
  std::mt19937_64& generator_;
};

void drawTypes(Draw& draw, Problem& p) {
  using enum DataType;
  switch (draw.in(0, 5)) {
    case 0:
      p.inputType = p.filterType = draw.of({F16, BF16});
      if (p.inputType == F16 && draw.oneIn(8)) p.compute = Compute::F16;
      break;
    case 1:
      p.inputType = p.filterType = F32;
      if (!draw.oneIn(4)) p.compute = Compute::TF32;
      break;
    case 2:
      p.inputType = draw.of({S8, U8}), p.filterType = draw.of({S8, U8});
      if (draw.oneIn(4)) p.inputZeroPoint = static_cast<int32_t>(draw.in(0, 127));
      if (draw.oneIn(4)) p.filterZeroPoint = static_cast<int32_t>(draw.in(0, 127));
      break;
    case 3:
      p.inputType = draw.of({E4M3, E5M2, E3M2, E2M3, E2M1}), p.filterType = draw.of({E4M3, E5M2, E3M2, E2M3, E2M1});
      break;
    case 4:
      p.inputType = draw.of({E4M3, E5M2, E3M2, E2M3, E2M1}), p.filterType = draw.of({E4M3, E5M2, E3M2, E2M3, E2M1});
      p.inputScale = {32, UE8M0, draw.of({ScaleOrder::Plain, ScaleOrder::Interleaved})};
      p.filterScale = p.inputScale;
      break;
    default:
      p.inputType = p.filterType = E2M1;
      p.inputScale = p.filterScale = {16, UE4M3, ScaleOrder::Plain};
  }
  p.outputType = draw.of({F16, BF16, F32, E4M3, isInteger(p.inputType) ? S32 : F16});
  if (draw.oneIn(10)) {
    const bool nv = draw.oneIn(2);
    p.outputType = nv ? E2M1 : E4M3;
    p.outputScale = nv ? BlockScale{16, UE4M3, ScaleOrder::Plain} : BlockScale{32, UE8M0, ScaleOrder::Plain};
  }
}

void drawWindow(Draw& draw, Problem& p) {
  const auto axis = [&](int64_t most, int64_t taps, int64_t& extent, int64_t& filter, int64_t& before, int64_t& after,
                        int64_t& stride, int64_t& dilation) {
    extent = draw.upTo(most);
    filter = draw.upTo(taps);
    before = draw.oneIn(12) ? draw.upTo(40) : draw.in(0, filter);
    after = draw.in(0, filter);
    stride = draw.oneIn(4) ? draw.in(1, 5) : 1;
    dilation = draw.oneIn(6) ? draw.in(1, 20) : 1;
  };
  axis(300, 9, p.h, p.r, p.padTop, p.padBottom, p.strideH, p.dilationH);
  axis(300, 9, p.w, p.s, p.padLeft, p.padRight, p.strideW, p.dilationW);
  if (draw.oneIn(4)) axis(20, 9, p.d, p.t, p.padFront, p.padBack, p.strideD, p.dilationD);
}

/// A layer of a network in 16-bit types: 3x3 or so, grouped, of a channel a group, or the first one.
Problem drawLayer(Draw& draw) {
  Problem p;
  p.inputType = p.filterType = p.outputType = draw.of({DataType::F16, DataType::BF16});
  p.n = draw.upTo(64), p.h = draw.upTo(120), p.w = draw.upTo(120);
  p.r = p.s = draw.of<int64_t>({1, 3, 3, 5, 7});
  p.strideH = p.strideW = draw.in(1, 2);
  p.c = 8 * draw.upTo(64), p.k = 8 * draw.upTo(64);
  switch (draw.in(0, 3)) {
    case 0:
      p.k = p.c, p.groups = p.c / 8;
      break;
    case 1:
      p.k = p.groups = p.c;
      p.strideH = p.strideW = 1;
      break;
    case 2:
      p.c = 4, p.w = 2 * p.w, p.strideW = 2;
      break;
    default:
      break;
  }
  p.padTop = p.padBottom = p.padLeft = p.padRight = p.r / 2;
  p.hasBias = draw.oneIn(2);
  if (draw.oneIn(2)) p.activation = Activation::Relu;
  if (draw.oneIn(4)) p.beta = 1, p.residualType = p.outputType;
  if (p.hasResidual() && draw.oneIn(3)) p.activation = Activation::Silu, p.residualLast = true;
  return p;
}

void drawEpilogue(Draw& draw, Problem& p) {
  if (draw.oneIn(3)) p.activation = draw.of({Activation::Relu, Activation::Silu, Activation::GeluErf});
  p.hasBias = draw.oneIn(3) && p.outputType != DataType::S32;
  if (draw.oneIn(6) && p.outputType != DataType::S32) {
    p.beta = 1;
    p.residualType = draw.of({p.outputType, DataType::F16, DataType::F32});
    p.residualLast = draw.oneIn(4);
  }
  if (p.outputType == DataType::F16 || p.outputType == DataType::BF16)
    p.rounding = draw.oneIn(8) ? Rounding::Separate : Rounding::Once;
  p.hasAmax = draw.oneIn(10);
  p.hasChannelScale = draw.oneIn(10);
  if (draw.oneIn(8)) p.inputPixelPitch = p.c + 8 * draw.in(1, 8);
  if (draw.oneIn(8)) p.outputPixelPitch = p.k + 8 * draw.in(1, 8);
}

}  // namespace

Problem randomProblem(std::mt19937_64& generator) {
  Draw draw(generator);
  for (;;) {
    if (draw.oneIn(3))
      if (const Problem layer = drawLayer(draw); validate(layer).ok()) return layer;
    Problem p;
    p.n = draw.upTo(64);
    p.c = draw.channels(), p.k = draw.channels();
    if (draw.oneIn(5)) {
      // A channel or eight in a group, and others.
      if (draw.oneIn(2)) p.k = p.c;
      p.groups = std::max<int64_t>(1, p.c / draw.of<int64_t>({1, 2, 8, 32}));
    }
    drawTypes(draw, p);
    if (draw.oneIn(8)) {
      // A product of matrices.
      p.n = p.h = p.r = p.s = p.groups = 1;
      p.w = draw.upTo(5000);
    } else {
      drawWindow(draw, p);
    }
    drawEpilogue(draw, p);
    if (draw.oneIn(12)) {
      p.upsampleH = draw.in(1, 3), p.upsampleW = draw.in(1, 3);
    } else if (draw.oneIn(8)) {
      p.transposed = true;
      p.outputPaddingH = draw.in(0, std::max(p.strideH, p.dilationH) - 1);
      p.outputPaddingW = draw.in(0, std::max(p.strideW, p.dilationW) - 1);
    }
    if (draw.oneIn(12)) {
      if (p.d > 1 && draw.oneIn(2))
        p.splitD = draw.in(1, p.d - 1);
      else if (p.c > 1)
        p.splitC = draw.oneIn(2) ? draw.in(1, p.c - 1) : p.c / 2;
      if (draw.oneIn(2)) p.secondPixelPitch = p.secondChannels() + 8 * draw.in(0, 8);
    }
    p.filterFlipped = draw.oneIn(12);
    if (draw.oneIn(16)) p.inputLayout = Layout::ChannelsFirst, p.inputPixelPitch = 0;
    if (draw.oneIn(16)) p.outputLayout = Layout::ChannelsFirst, p.outputPixelPitch = 0;
    if (validate(p).ok()) return p;
  }
}

device::Properties randomProperties(std::mt19937_64& generator) {
  Draw draw(generator);
  const auto presets = device::presets();
  device::Properties properties = presets[static_cast<size_t>(draw.in(0, static_cast<int64_t>(presets.size()) - 1))].properties;
  if (draw.oneIn(3)) properties.multiprocessors = static_cast<uint32_t>(draw.upTo(160));
  if (draw.oneIn(3)) properties.sharedBytesPerBlock = draw.of<uint32_t>({48, 99, 163}) * 1024;
  return properties;
}

}  // namespace shiftconv::tests
