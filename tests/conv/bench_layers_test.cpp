// The layers that the benchmark on a GPU reads.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <set>

#include "bench/conv/gpu/engine_search.hpp"
#include "bench/conv/gpu/layers.hpp"
#include "bench/conv/gpu/regimes.hpp"
#include "conv/problem/text.hpp"
#include "conv/problem/validation.hpp"

namespace shiftconv::gpu {
namespace {

TEST(BenchLayers, AreThe26OfTheTable) {
  const auto layers = readLayers(LAYERS_FOLDER "/layers_h200.txt", "", false);
  ASSERT_EQ(layers.size(), 26u);
  for (const Layer& layer : layers) EXPECT_TRUE(validate(layer.problem).ok()) << layer.name;
  EXPECT_EQ(layers[0].name, "rn50_c2");
  EXPECT_EQ(layers[0].kind, "dense3x3");
  EXPECT_EQ(describe(layers[0].problem), "128x56x56x64 f16 * 64x3x3x64 pad 1,1,1,1 -> 128x56x56x64 f16");
  const auto bf16 = readLayers(LAYERS_FOLDER "/layers_h200.txt", "stem7x7s2,group32", true);
  ASSERT_EQ(bf16.size(), 2u);
  EXPECT_EQ(describe(bf16[0].problem), "128x224x224x4 bf16 * 64x7x7x4 pad 3,3,3,3 stride 2,2 -> 128x112x112x64 bf16");
  EXPECT_EQ(describe(bf16[1].problem), "64x28x28x256 bf16 * 256x3x3x8 groups 32 pad 1,1,1,1 -> 64x28x28x256 bf16");
}

/// The table's layer that a variant is of.
Problem original(const std::string& variant) {
  for (const Layer& layer : readLayers(LAYERS_FOLDER "/layers_h200.txt", "", false))
    if (variant.starts_with(layer.name + "_") && variant.find('_', layer.name.size() + 1) == std::string::npos)
      return layer.problem;
  ADD_FAILURE() << variant;
  return {};
}

TEST(BenchLayers, HaveEveryLayerInOtherTypesAndWithEpilogues) {
  const auto variants = readLayers(LAYERS_FOLDER "/layers_h200_variants.txt", "", false);
  std::map<std::string, size_t> counts;
  for (const Layer& layer : variants) {
    EXPECT_TRUE(validate(layer.problem).ok()) << layer.name;
    const std::string suffix = layer.name.substr(layer.name.rfind('_'));
    ++counts[suffix];
    Problem expected = original(layer.name);
    if (suffix == "_bf16") expected.inputType = expected.filterType = expected.outputType = DataType::BF16;
    if (suffix == "_e4m3") expected.inputType = expected.filterType = DataType::E4M3;
    if (suffix == "_fused" || suffix == "_residual") expected.hasBias = true, expected.activation = Activation::Relu;
    if (suffix == "_residual") expected.beta = 1;
    EXPECT_EQ(describe(layer.problem), describe(expected)) << layer.name;
  }
  // Of 26 layers three have pixels of less than 16 bytes in e4m3.
  EXPECT_EQ(counts, (std::map<std::string, size_t>{{"_bf16", 26}, {"_fused", 26}, {"_residual", 26}, {"_e4m3", 23}}));
}

TEST(BenchLayers, NameTheLineThatTheyCannotRead) {
  const std::string path = testing::TempDir() + "/layers_bad.txt";
  std::ofstream(path) << "a dense3x3 1 8 8 8 3 1 1 1\nb dense3x3 1 8 8 8 3 1 1 1 gelu\n";
  EXPECT_EXIT(readLayers(path, "", false), testing::ExitedWithCode(2), "b dense3x3 1 8 8 8 3 1 1 1 gelu");
  EXPECT_EXIT(readLayers("/nowhere/layers.txt", "", false), testing::ExitedWithCode(2), "/nowhere/layers.txt");
}

TEST(BenchTimes, HaveAMedian) {
  EXPECT_EQ(median({3, 1, 2}), 2);
  EXPECT_EQ(median({4, 1, 2, 3}), 2.5);
  EXPECT_EQ(median({}), 0);
}

/// Engines 2 (knobs 5: 0..9, 7: 0, 4, 8) and 6 (none). What they take, in microseconds: of engine 2 the distance from (6, 4), to
/// which it is 100 from what it chooses itself; value 8 of knob 7 has no plan.
struct Engines {
  std::vector<cudnn::Engine> engines{{2, {{5, 0, 9, 1}, {7, 0, 8, 4}}}, {6, {}}};
  std::vector<std::string> measured;

  std::optional<double> measure(const EngineChoice& choice) {
    measured.push_back(describe(choice));
    if (choice.engine == 6) return 120;
    std::map<int64_t, int64_t> knobs{{5, -60}, {7, -30}};
    for (const auto& [type, value] : choice.knobs) knobs[type] = value;
    if (knobs[7] == 8) return {};
    return 10 + static_cast<double>(std::abs(knobs[5] - 6) + std::abs(knobs[7] - 4));
  }
  EngineSearchResult search(size_t most, std::optional<std::pair<EngineChoice, double>> start = {}) {
    EngineSearch how;
    how.measure = [&](const EngineChoice& choice) { return measure(choice); };
    how.timeLeft = [&, most] { return measured.size() < most; };
    how.seed = 1;
    return searchEngines(engines, start, how);
  }
};

TEST(EngineSearch, ClimbsToTheBestAndThenTriesTheRest) {
  Engines all;
  const EngineSearchResult found = all.search(1000);
  ASSERT_TRUE(found.best);
  EXPECT_EQ(describe(*found.best), "eng2_k5=6_k7=4");
  EXPECT_EQ(found.microseconds, 10);
  EXPECT_TRUE(found.complete);
  EXPECT_EQ(found.engines, 2);
  EXPECT_EQ(found.combinations, 31);
  // Everything once: 30 pairs, 10 and 3 values of one knob alone, both engines by themselves.
  EXPECT_EQ(std::set<std::string>(all.measured.begin(), all.measured.end()).size(), all.measured.size());
  EXPECT_EQ(all.measured.size(), 45u);
  EXPECT_EQ(found.tried, 45);
  EXPECT_EQ(found.usable, 45 - 11);
  EXPECT_EQ((std::vector<std::string>(all.measured.begin(), all.measured.begin() + 3)),
            (std::vector<std::string>{"eng2", "eng6", "eng2_k5=0"}));

  Engines few;
  EXPECT_EQ(describe(*few.search(30).best), "eng2_k5=6_k7=4") << "without the rest";
}

TEST(EngineSearch, BeginsWithWhatIsKnownAndEndsWhenTimeIsUp) {
  Engines engines;
  const auto known = parseEngineChoice("eng2_k5=1_k7=4");
  ASSERT_TRUE(known);
  const EngineSearchResult found = engines.search(4, {{*known, 15.0}});
  EXPECT_EQ(engines.measured, (std::vector<std::string>{"eng2", "eng6", "eng2_k5=0_k7=4", "eng2_k5=2_k7=4"}));
  EXPECT_EQ(describe(*found.best), "eng2_k5=2_k7=4");
  EXPECT_FALSE(found.complete);

  Engines late;
  const EngineSearchResult nothing = late.search(0);
  EXPECT_FALSE(nothing.best || nothing.complete);
}

TEST(EngineSearch, ReadsTheNamesThatItWrites) {
  for (const char* name : {"eng62_k2=4_k13=0_k18=0", "eng0"}) EXPECT_EQ(describe(parseEngineChoice(name).value()), name);
  EXPECT_EQ(describe(parseEngineChoice("eng1_k3=2_k1=0").value()), "eng1_k1=0_k3=2");
  for (const char* name : {"", "eng", "engine1", "eng1_k2", "eng1_k2=", "eng1_k2=3x", "?"})
    EXPECT_FALSE(parseEngineChoice(name)) << name;
}

}  // namespace
}  // namespace shiftconv::gpu
