// bench/traffic: what it projects from a few tiles is what whole layers cost, and shift_stream moves as little as it is meant to.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <random>

#include "bench/traffic/layers.hpp"
#include "bench/traffic/projection.hpp"
#include "conv/problem/text.hpp"

namespace shiftconv::tests {
namespace {

using bench::commonWish;
using bench::difference;
using bench::Operands;
using bench::Peer;

device::Properties blackwell(uint32_t multiprocessors) {
  device::Properties properties;
  properties.name = "emulated sm_100a";
  properties.computeMajor = 10;
  properties.multiprocessors = multiprocessors;
  properties.sharedBytesPerBlock = 227 * 1024;
  return properties;
}

Problem problemOf(const char* text, Operands operands) {
  Problem problem;
  EXPECT_TRUE(parse(text, problem).ok()) << text;
  return withOperands(problem, operands);
}

/// The same tile and residency for every peer. Throws when the peer refuses.
Peer peerOf(std::string_view algorithm, const Problem& problem, const device::Properties& properties, bool pair) {
  Peer peer;
  const std::string why = makePeer(algorithm, problem, properties, commonWish(problem, properties, pair), peer);
  if (!why.empty()) throw std::invalid_argument(why);
  return peer;
}

struct ProjectedLayer {
  const char* text;
  Operands operands;
  bool pair;
};
class TrafficProjection : public testing::TestWithParam<ProjectedLayer> {};

TEST_P(TrafficProjection, EqualsTheWholeLayer) {
  const auto& [text, operands, pair] = GetParam();
  const uint64_t seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << text << ", seed " << seed);
  const Problem problem = problemOf(text, operands);
  bench::Measurement measurement(problem, seed);
  for (const std::string_view algorithm : bench::peerNames()) {
    SCOPED_TRACE(algorithm);
    Peer peer;
    if (const std::string why = makePeer(algorithm, problem, blackwell(8), commonWish(problem, blackwell(8), pair), peer);
        !why.empty()) {
      EXPECT_TRUE(algorithm == "shift_window" || (algorithm != "shift_stream" && operands == Operands::MxFp8)) << why;
      continue;
    }
    const bench::Projection projection = project(peer, measurement, 3);
    EXPECT_LT(projection.tilesRun, peer.tiles) << "nothing was projected";
    const bench::Run whole = measurement.all(peer);
    EXPECT_EQ(whole.checkedPixels, problem.outputPixels());
    EXPECT_EQ(projection.counted, whole.counted) << describe(projection.counted) << "\nbut the whole layer has\n"
                                                 << describe(whole.counted);
    EXPECT_EQ(difference(whole.counted, peer.total), 0);
  }
}

// Every layer, both types in pairs and alone.
INSTANTIATE_TEST_SUITE_P(
    Layers, TrafficProjection,
    testing::Values(ProjectedLayer{"7x14x40x64 f16 * 64x3x3x64 pad 1,1,1,1 -> f16", Operands::F16, true},
                    ProjectedLayer{"7x14x40x64 f16 * 64x3x3x64 pad 1,1,1,1 -> f16", Operands::MxFp8, false},
                    ProjectedLayer{"5x17x33x32 f16 * 128x3x3x32 pad 1,1,1,1 -> f16", Operands::F16, false},
                    ProjectedLayer{"5x17x33x32 f16 * 128x3x3x32 pad 1,1,1,1 -> f16", Operands::MxFp8, true},
                    ProjectedLayer{"3x23x66x64 f16 * 32x5x3x64 pad 2,2,0,1 stride 2,1 -> f16", Operands::F16, true},
                    ProjectedLayer{"3x23x66x64 f16 * 32x5x3x64 pad 2,2,0,1 stride 2,1 -> f16", Operands::MxFp8, false}),
    [](const auto& info) {
      return std::to_string(info.index) + (info.param.operands == Operands::F16 ? "_f16" : "_mxfp8") +
             (info.param.pair ? "_pair" : "_single");
    });

// The first peer that takes a layer decides the tile of all, so the order is part of the comparison.
TEST(Traffic, PeersAreInTheOrderOfTheRegistry) {
  const std::vector<std::string_view> names = bench::peerNames();
  const auto place = [&](std::string_view name) { return std::find(names.begin(), names.end(), name) - names.begin(); };
  EXPECT_EQ(place("shift_stream"), 0);
  EXPECT_LT(place("shift_stream_masked"), place("shift_window"));
  EXPECT_LT(place("shift_window"), place("halo"));
  EXPECT_LT(place("halo_collector"), place("im2col"));
  EXPECT_LT(place("im2col"), std::ssize(names));
}

// 3x3 layers with K <= 64 and W >= 56 of ResNet-50, VGG-16 and a UNet, in pairs: the bytes that the design promises. With few
// images the planner cuts them into lower blocks of rows, to occupy all multiprocessors, and rows between blocks are loaded twice:
// whole columns are what is promised.
TEST(Traffic, ShiftStreamMovesLessThanIm2col) {
  for (const char* text : {"32x56x56x64 f16 * 64x3x3x64 pad 1,1,1,1 -> f16", "2x56x224x64 f16 * 64x3x3x64 pad 1,1,1,1 -> f16",
                           "2x64x64x320 f16 * 4x3x3x320 pad 1,1,1,1 -> f16"})
    for (const Operands operands : {Operands::F16, Operands::MxFp8}) {
      SCOPED_TRACE(text);
      const Problem problem = problemOf(text, operands);
      bench::Wish whole = commonWish(problem, blackwell(148), true);
      whole.blockRows = static_cast<uint32_t>(problem.p());
      Peer stream;
      ASSERT_EQ(makePeer("shift_stream", problem, blackwell(148), whole, stream), "");
      const Peer base = peerOf("im2col", problem, blackwell(148), true);
      bench::Measurement measurement(problem, 1);
      const plan::Traffic a = project(stream, measurement, 3).counted, b = project(base, measurement, 3).counted;
      EXPECT_LE(difference(a, stream.total), 0.01);
      EXPECT_LE(difference(b, base.total), 0.01);
      EXPECT_LE(static_cast<double>(a.sharedReadBytes()), 0.42 * static_cast<double>(b.sharedReadBytes()));
      EXPECT_LE(static_cast<double>(a.activationBytes), 0.2 * static_cast<double>(b.activationBytes));
    }
}

// The check of outputs itself must be able to fail: a plan for other operands stores other numbers.
TEST(Traffic, NoticesWrongOutputs) {
  const Problem problem = problemOf("1x9x33x16 f16 * 32x3x3x16 pad 1,1,1,1 -> f16", Operands::F16);
  Problem other = problem;
  other.padTop = 0, other.padBottom = 2;
  Peer peer = peerOf("im2col", other, blackwell(2), false);
  bench::Measurement measurement(problem, 1);
  EXPECT_THROW(measurement.all(peer), std::runtime_error);
  peer = peerOf("im2col", problem, blackwell(2), false);
  EXPECT_NO_THROW(measurement.all(peer));
  peer.total.storedRows += 1;
  EXPECT_THROW(measurement.all(peer), std::runtime_error) << "a pixel fewer than planned";
}

TEST(Traffic, ReadsShapeFiles) {
  for (const auto& entry : std::filesystem::directory_iterator(TRAFFIC_SHAPES))
    EXPECT_FALSE(bench::readLayers(entry.path().string(), Operands::AsWritten).empty()) << entry.path();
  const std::string path = testing::TempDir() + "traffic_shapes.txt";
  const auto fileWith = [&](const char* line) {
    std::ofstream(path) << "# a comment\n\n" << line << "\n";
    return path;
  };
  const auto layers =
      bench::readLayers(fileWith("3 x 8x56x56x64 f16 * 64x3x3x64 pad 1,1,1,1 -> f16 | conv2 3x3  # b"), Operands::MxFp8);
  ASSERT_EQ(layers.size(), 1u);
  EXPECT_EQ(layers[0].count, 3);
  EXPECT_EQ(layers[0].name, "conv2 3x3");
  EXPECT_EQ(layers[0].problem.inputScale.blockSize, 32);
  for (const char* line : {"x 8x56x56x64 f16 * 64x3x3x64 -> f16 | no count", "0 x 8x56x56x64 f16 * 64x3x3x64 -> f16 | none",
                           "2 x 8x56x56x64 f16 | no filter", "2 x 8x56x56x64 f16 * 64x3x3x64 -> f16", ""})
    EXPECT_THROW(bench::readLayers(fileWith(line), Operands::AsWritten), std::runtime_error) << line;
}

}  // namespace
}  // namespace shiftconv::tests
