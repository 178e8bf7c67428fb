// Every distinct kind of layer of the lists of networks, with smaller images and fewer channels, by the algorithms that the planner
// takes for the layers themselves: on both emulated architectures, with the hazard checker, every element.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

#include "bench/networks/network_layers.hpp"
#include "conv/problem/text.hpp"
#include "tests/conv/convolution_case.hpp"
#include "tests/temporary_folder.hpp"

namespace shiftconv::tests::network_kinds_test {
namespace {

/// Large counts become small ones that fill vectors as well or as badly.
int64_t fewer(int64_t channels, int64_t most) { return channels <= most ? channels : most + channels % 16; }

struct Axis {
  int64_t &extent, taps, stride, dilation, before, after, upsample;
};

/// Some outputs more than one, so that windows overlap and end at an edge.
void shorten(const Axis& axis, int64_t outputs) {
  const int64_t reach = axis.dilation * (axis.taps - 1) + 1;
  const int64_t needed = std::max(reach - axis.before - axis.after, std::min<int64_t>(reach, 5)) + (outputs - 1) * axis.stride;
  axis.extent = std::min(axis.extent, (needed + axis.upsample - 1) / axis.upsample);
}

Problem reduced(Problem p) {
  p.n = 2;
  if (p.groups == p.c && p.groups > 1) {
    const int64_t multiple = p.k / p.c;
    p.groups = p.c = fewer(p.c, 32), p.k = multiple * p.c;
  } else if (p.groups > 1) {
    const int64_t c = fewer(p.groupChannels(), 32), k = fewer(p.k / p.groups, 32);
    p.groups = std::min<int64_t>(p.groups, c <= 8 ? 6 : 3);
    p.c = p.groups * c, p.k = p.groups * k;
  } else {
    const int64_t first = fewer(p.splitC, 16);
    p.c = p.splitC != 0 ? first + fewer(p.c - p.splitC, 16) : fewer(p.c, 32);
    p.splitC = first, p.k = fewer(p.k, 48);
  }
  const int64_t kept = p.splitD;
  shorten({p.d, p.t, p.strideD, p.dilationD, p.padFront, p.padBack, p.upsampleD}, 2);
  p.d = std::max(p.d, kept == 0 ? 1 : kept + 1);
  shorten({p.h, p.r, p.strideH, p.dilationH, p.padTop, p.padBottom, p.upsampleH}, 3);
  shorten({p.w, p.s, p.strideW, p.dilationW, p.padLeft, p.padRight, p.upsampleW}, 5);
  return p;
}

struct Kind {
  std::string problem, algorithm, layer;
};

/// By the smaller problem, and by the algorithm of the layer at batch 1 and 32.
std::vector<Kind> kindsOn(const char* preset) {
  const DeviceProperties properties = DeviceProperties::preset(preset);
  std::map<std::tuple<std::string, std::string>, std::string> found;
  for (const char* folder : {"/networks", "/further_networks"})
    for (const bench::NetworkLayer& layer : bench::readNetworks(std::string(LISTS_FOLDER) + folder, {1, 32}, "")) {
      const std::string algorithm = Plan(Convolution::parse(layer.text), properties).algorithm();
      found.try_emplace({describe(reduced(layer.problem)), algorithm}, layer.text);
    }
  std::vector<Kind> kinds;
  for (const auto& [key, layer] : found) kinds.push_back({std::get<0>(key), std::get<1>(key), layer});
  return kinds;
}

struct Part {
  const char *preset, *device;
  size_t number;
};
constexpr size_t kParts = 4;

class NetworkKinds : public testing::TestWithParam<Part> {};

TEST_P(NetworkKinds, EqualTheReference) {
  const Part& part = GetParam();
  Device device(part.device);
  device.setOption("hazards", "error");
  const std::vector<Kind> kinds = kindsOn(part.preset);
  EXPECT_GT(kinds.size(), 150u);
  size_t asPlanned = 0, tried = 0;
  for (size_t i = part.number; i < kinds.size(); i += kParts) {
    const Kind& kind = kinds[i];
    ConvolutionCase test;
    test.problem = Convolution::parse(kind.problem);
    // What takes the layer takes the smaller one, too, but for limits that are about size.
    const bool takes = refusal(test.problem, device.properties(), kind.algorithm).empty();
    test.algorithm = takes ? kind.algorithm : Plan(test.problem, device.properties()).algorithm();
    ++tried, asPlanned += takes ? 1 : 0;
    const uint64_t seed = std::hash<std::string>()(kind.problem);
    EXPECT_EQ(check(test, device, seed), "") << kind.problem << " by " << test.algorithm << " for " << kind.layer << ", seed "
                                             << seed;
  }
  RecordProperty("kinds", std::to_string(tried));
  EXPECT_GT(10 * asPlanned, 9 * tried);
}

std::vector<Part> parts() {
  std::vector<Part> all;
  for (size_t number = 0; number < kParts; ++number) {
    all.push_back({"B200", "emulated", number});
    all.push_back({"H200", "emulated:sm_90a", number});
  }
  return all;
}
INSTANTIATE_TEST_SUITE_P(Parts, NetworkKinds, testing::ValuesIn(parts()),
                         [](const auto& info) { return std::string(info.param.preset) + "_" + std::to_string(info.param.number); });

TEST(Chains, AreReadWithTheBatchAndPlannedByTensorCoreEngines) {
  const std::vector<bench::Chain> chains = bench::readChains(std::string(LISTS_FOLDER) + "/chains", {1, 8});
  ASSERT_GE(chains.size(), 16u);
  const DeviceProperties properties = DeviceProperties::preset("H200");
  for (size_t i = 0; i < chains.size(); ++i) {
    EXPECT_EQ(chains[i].name, chains[i / 2 * 2].name);
    EXPECT_EQ(chains[i].batch, i % 2 == 0 ? 1 : 8);
    EXPECT_GE(chains[i].layers.size(), 3u) << chains[i].name;
    for (const Problem& layer : chains[i].layers) {
      EXPECT_EQ(layer.n, chains[i].batch);
      EXPECT_NE(Plan(Convolution::parse(describe(layer)), properties).algorithm(), "direct") << describe(layer);
    }
  }
}

/// A chain's lines, and what reading it says.
std::string saidOf(const std::string& lines) {
  const TemporaryFolder folder;
  std::ofstream(folder / "blocks.txt") << lines;
  try {
    bench::readChains(folder / "", {2});
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return {};
}

TEST(Chains, AreOfLayersThatReadWhatTheOneBeforeWrote) {
  const std::string first = "# two layers\nNx9x7x16 f16 * 24x3x3x16 pad 1,1,1,1 stride 2,1 -> f16\n";
  EXPECT_EQ(saidOf(first + "Nx5x7x24 f16 * 8x1x1x24 -> f16\n"), "");
  for (const char* const other :
       {"3x5x7x24 f16 * 8x1x1x24 -> f16", "Nx9x7x24 f16 * 8x1x1x24 -> f16", "Nx5x9x24 f16 * 8x1x1x24 -> f16",
        "Nx5x7x16 f16 * 8x1x1x16 -> f16", "Nx5x7x24 bf16 * 8x1x1x24 -> f16"}) {
    const std::string said = saidOf(first + other);
    EXPECT_NE(said.find("blocks.txt:3: its input is not the output of the layer before it"), std::string::npos)
        << other << ": " << said;
  }
  EXPECT_NE(saidOf(first + "Nx5x7x24 f16 * 8x1x1 -> f16").find("blocks.txt:3"), std::string::npos);
  EXPECT_NE(saidOf("# nothing\n").find("the list has no layer"), std::string::npos);
}

}  // namespace
}  // namespace shiftconv::tests::network_kinds_test
