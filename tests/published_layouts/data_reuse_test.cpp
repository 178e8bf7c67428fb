// The data-reuse example that introduced tcgen05.shift for convolutions: N = 2 images of 9 x 9 pixels, a 3 x 3 filter, padding 1.
//
// Activations are a matrix of flat pixel rows (n * H + h) * W + w. A tile holds consecutive rows, one anchor (output pixel) a lane;
// tap (r, s) of anchor o needs row o + (r - 1) * W + s - 1. So A is copied once for each filter row r, starting one row early, and
// every step of s shifts it by one row: lane l takes what lane l + 1 held. A lane whose tap falls outside its image holds either a
// row before or after the tensor, which is zero, or a neighbour's pixel, and is then disabled.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <set>

#include "conv/algorithms/shift_window/plan.hpp"
#include "tests/published_layouts/kernel_parts.hpp"
#include "tests/published_layouts/single_mma.hpp"
#include "tests/support/tensor_kernel.hpp"

namespace shiftconv::tests::layouts {
namespace {

constexpr int kImages = 2, kHeight = 9, kWidth = 9, kFilter = 3, kPad = 1, kRows = kImages * kHeight * kWidth;
constexpr uint32_t kChannels = 16, kOutputs = 16;  // one K step and one N of kind::f16
constexpr uint32_t kInput = 5, kWeights = 6;       // for element()

/// Four windows of 32 lanes; a window yields 30 anchors because its last lanes have no next row to shift in.
constexpr int kWindowLanes = 32, kUseful = kWindowLanes + 1 - kFilter, kTileAnchors = 4 * kUseful;
constexpr int kTiles = (kRows + kTileAnchors - 1) / kTileAnchors;
int anchorOf(int tile, uint32_t lane) {
  return tile * kTileAnchors + static_cast<int>(lane) / kWindowLanes * kUseful + static_cast<int>(lane) % kWindowLanes;
}

bool isTapInside(int anchor, int r, int s) {
  const int p = anchor / kWidth % kHeight + r - kPad, q = anchor % kWidth + s - kPad;
  return p >= 0 && p < kHeight && q >= 0 && q < kWidth;
}
int rowOfTap(int anchor, int r, int s) { return anchor + (r - kPad) * kWidth + s - kPad; }
bool isZeroRow(int row) { return row < 0 || row >= kRows; }

struct TapLanes {
  std::set<uint32_t> disabled, zeroRows;
  bool operator==(const TapLanes&) const = default;
};

/// Lane whose window has shifted s times and has no row left for it.
bool isStale(uint32_t lane, int s) { return static_cast<int>(lane) % kWindowLanes + s >= kWindowLanes; }

/// What tap (r, s) does to each lane of a tile.
TapLanes lanesOfTap(int tile, int r, int s) {
  TapLanes lanes;
  for (uint32_t lane = 0; lane < 128; ++lane) {
    const int anchor = anchorOf(tile, lane), row = rowOfTap(anchor, r, s);
    if (anchor >= kRows || isStale(lane, s)) {
      lanes.disabled.insert(lane);
    } else if (isZeroRow(row)) {
      lanes.zeroRows.insert(lane);
    } else if (!isTapInside(anchor, r, s)) {
      lanes.disabled.insert(lane);
    }
  }
  return lanes;
}

TapLanes firstSixteen(const TapLanes& all) {
  TapLanes first;
  for (const uint32_t lane : all.disabled)
    if (lane < 16) first.disabled.insert(lane);
  for (const uint32_t lane : all.zeroRows)
    if (lane < 16) first.zeroRows.insert(lane);
  return first;
}

TEST(DataReuse, FirstSixteenLanesAsTheExampleGivesThem) {
  // The filter row that passes through the anchors' own image row.
  EXPECT_EQ(firstSixteen(lanesOfTap(0, 1, 0)), (TapLanes{{9}, {0}}));
  EXPECT_EQ(firstSixteen(lanesOfTap(0, 1, 1)), (TapLanes{{}, {}}));
  EXPECT_EQ(firstSixteen(lanesOfTap(0, 1, 2)), (TapLanes{{8}, {}}));
  // The example lays row h of all images end to end, lane = n * W + q; the sixteen lanes see the same borders.
  for (int s = 0; s < kFilter; ++s) {
    TapLanes expected;
    for (uint32_t lane = 0; lane < 16; ++lane) {
      const int q = static_cast<int>(lane) % kWidth + s - kPad, row = static_cast<int>(lane) + s - kPad;
      if (row < 0) {
        expected.zeroRows.insert(lane);
      } else if (q < 0 || q >= kWidth) {
        expected.disabled.insert(lane);
      }
    }
    EXPECT_EQ(firstSixteen(lanesOfTap(0, 1, s)), expected) << "s = " << s;
  }
}

float before(uint32_t lane) { return static_cast<float>(lane + 1); }

/// Taps in the order (r, s); `count` of them.
float partialSum(int anchor, uint32_t output, int count) {
  int sum = 0;
  for (int tap = 0; tap < count; ++tap) {
    const int r = tap / kFilter, s = tap % kFilter;
    if (!isTapInside(anchor, r, s)) continue;
    for (uint32_t c = 0; c < kChannels; ++c)
      sum += element(kInput, static_cast<uint32_t>(rowOfTap(anchor, r, s)), c) *
             element(kWeights, output * kFilter * kFilter + static_cast<uint32_t>(tap), c);
  }
  return static_cast<float>(sum);
}

/// Runs the first `taps` taps of a tile: for each filter row a copy, then MMAs that shift A. `unmasked`: a tap
/// that disables stale rows only.
std::vector<uint32_t> runTile(int tile, int taps, int unmasked = -1) {
  constexpr uint32_t kAImage = 4096, kFilterStart = 3 * kAImage, kFilterImage = 512;
  std::vector<std::byte> image(kFilterStart + kFilter * kFilter * kFilterImage);
  const ElementType& half = kF16.types.front();
  for (uint32_t r = 0; r < kFilter; ++r) {
    for (uint32_t lane = 0; lane < 128; ++lane) {
      const int row = rowOfTap(anchorOf(tile, lane), static_cast<int>(r), 0);
      if (isZeroRow(row)) continue;
      for (uint32_t c = 0; c < kChannels; ++c)
        putElement(image, r * kAImage, half, lane, c, element(kInput, static_cast<uint32_t>(row), c));
    }
  }
  for (uint32_t tap = 0; tap < kFilter * kFilter; ++tap) {
    for (uint32_t k = 0; k < kOutputs; ++k) {
      for (uint32_t c = 0; c < kChannels; ++c)
        putElement(image, kFilterStart + tap * kFilterImage, half, k, c, element(kWeights, k * kFilter * kFilter + tap, c));
    }
  }
  const SingleMma shape{.kind = &kF16, .m = 128, .n = kOutputs};
  std::string body = "  add.u32 %r1, %thread, 1;\n  cvt.rn.f32.u32 %r1, %r1;\n";
  for (uint32_t n = 0; n < kOutputs; ++n) body += fmt::format("  tcgen05.st.sync.aligned.32x32b.x1.b32 [%tmem+{}], {{%r1}};\n", n);
  body += "  tcgen05.wait::st.sync.aligned;\n" + clusterBarrier() +
          fmt::format("  mov.u32 %r1, {:#x};\n  setp.eq.u32 %p2, 0, 0;\n", shape.instructionDescriptor());
  for (int tap = 0; tap < taps; ++tap) {
    const int r = tap / kFilter, s = tap % kFilter;
    const uint32_t column = kAColumn + 8 * static_cast<uint32_t>(r);
    if (s == 0) {
      body += fmt::format("  add.u64 %rd1, %desc, {:#x};\n  @%issuer tcgen05.cp.cta_group::1.128x256b [%tmem+{}], %rd1;\n",
                          descriptorBits(static_cast<uint32_t>(r) * kAImage, 128, 256), column);
    }
    std::array<uint32_t, 4> mask{};
    for (const uint32_t lane : lanesOfTap(tile, r, s).disabled) {
      if (tap != unmasked || isStale(lane, s)) mask[lane / 32] |= 1u << lane % 32;
    }
    for (uint32_t word = 0; word < 4; ++word) body += fmt::format("  mov.u32 %r{}, {:#x};\n", 10 + word, mask[word]);
    body += fmt::format(
        "  add.u64 %rd2, %desc, {:#x};\n"
        "  @%issuer tcgen05.mma.cta_group::1.kind::f16{} [%tmem], [%tmem+{}], %rd2, %r1, {{%r10, %r11, %r12, %r13}}, %p2;\n",
        descriptorBits(kFilterStart + static_cast<uint32_t>(tap) * kFilterImage, 128, 256), s + 1 < kFilter ? ".ashift" : "",
        column);
  }
  body += commitAndWait(0) + dumpCells(kOutputs);
  emulator::Emulator machine;
  return TensorKernel{.body = body, .input = image, .outputWords = 128 * kOutputs}.run(machine, withHazardChecks());
}

uint32_t bitsOf(float value) { return std::bit_cast<uint32_t>(value); }

TEST(DataReuse, EveryStepAddsItsTap) {
  uint32_t anchors = 0;
  for (int tile = 0; tile < kTiles; ++tile) {
    for (int taps = 1; taps <= kFilter * kFilter; ++taps) {
      const std::vector<uint32_t> output = runTile(tile, taps);
      for (uint32_t lane = 0; lane < 128; ++lane) {
        const int anchor = anchorOf(tile, lane);
        if (static_cast<int>(lane) % kWindowLanes >= kUseful || anchor >= kRows) continue;
        anchors += taps == kFilter * kFilter;
        for (uint32_t k = 0; k < kOutputs; ++k) {
          ASSERT_EQ(output[lane * kOutputs + k], bitsOf(before(lane) + partialSum(anchor, k, taps)))
              << "tile " << tile << " after " << taps << " taps: lane " << lane << " output channel " << k;
        }
      }
    }
  }
  EXPECT_EQ(anchors, static_cast<uint32_t>(kRows)) << "every output pixel is computed once";
}

/// Lane 9 at s = 0 and lane 8 at s = 2 hold a neighbour's pixel: without their masks exactly such lanes are wrong, and the zero
/// row of lane 0 is right.
TEST(DataReuse, MasksAreNeeded) {
  for (const int s : {0, 2}) {
    const int tap = kFilter + s;  // r = 1
    const std::vector<uint32_t> output = runTile(0, kFilter * kFilter, tap);
    std::set<uint32_t> wrong, expected;
    for (uint32_t lane = 0; lane < 128; ++lane) {
      if (static_cast<int>(lane) % kWindowLanes >= kUseful) continue;
      if (lanesOfTap(0, 1, s).disabled.contains(lane)) expected.insert(lane);
      for (uint32_t k = 0; k < kOutputs; ++k) {
        if (output[lane * kOutputs + k] != bitsOf(before(lane) + partialSum(anchorOf(0, lane), k, kFilter * kFilter)))
          wrong.insert(lane);
      }
    }
    EXPECT_EQ(wrong, expected) << "s = " << s;
    EXPECT_TRUE(wrong.contains(s == 0 ? 9 : 8));
    EXPECT_FALSE(wrong.contains(0));
  }
}

/// The library's planner cuts the example in the same way. Its lane masks are built on the device, so that they can be compared
/// only through results; tests/conv/kernel does that.
TEST(DataReuse, PlannerUsesTheSameTiles) {
  Problem problem;
  problem.n = kImages, problem.h = kHeight, problem.w = kWidth, problem.c = kChannels, problem.k = kOutputs;
  problem.r = problem.s = kFilter;
  problem.padTop = problem.padBottom = problem.padLeft = problem.padRight = kPad;
  device::Properties properties;
  properties.computeMajor = 10;
  properties.multiprocessors = 4;
  properties.sharedBytesPerBlock = 227 * 1024;
  ASSERT_EQ(plan::shiftWindowRefusal(problem, properties), "");
  plan::ShiftWindowPlan plan;
  ASSERT_EQ(plan::planShiftWindow(problem, properties, {.pair = false}, plan), "");
  EXPECT_EQ(plan.params.tiles, kTiles);
  EXPECT_EQ(plan.params.anchors, kRows);
  EXPECT_EQ(plan.params.padLeft, kPad);
  EXPECT_EQ(kernels::usefulLanes(plan.params.filterWidth), kUseful);
}

}  // namespace
}  // namespace shiftconv::tests::layouts
