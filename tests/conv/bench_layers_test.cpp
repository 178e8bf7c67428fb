// The layers that the benchmark on a GPU reads.
#include <gtest/gtest.h>

#include <fstream>

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

TEST(BenchLayers, HaveEveryLayerInBf16AndWithAnEpilogue) {
  const auto variants = readLayers(LAYERS_FOLDER "/layers_h200_variants.txt", "", false);
  ASSERT_EQ(variants.size(), 52u);
  size_t inBf16 = 0, fused = 0;
  for (const Layer& layer : variants) {
    inBf16 += layer.problem.inputType == DataType::BF16 && layer.problem.outputType == DataType::BF16;
    fused += layer.problem.hasBias && layer.problem.activation == Activation::Relu;
  }
  EXPECT_EQ(inBf16, 26u);
  EXPECT_EQ(fused, 26u);
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

}  // namespace
}  // namespace shiftconv::gpu
