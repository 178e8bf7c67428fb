// Scale-factor layouts: the published nested layout, written as one, against the index function.
#include "common/layout/scale_factor_layout.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace shiftconv::layout {
namespace {

/// CUTLASS's block-scaled layout: shape ((32, 4, row tiles), (4, block tiles)), strides ((16, 4, 512 * block tiles), (1, 512)).
int64_t nestedOffset(int64_t row, int64_t block, int64_t blockTiles) {
  const int64_t coordinate[] = {row % 32, row / 32 % 4, row / 128, block % 4, block / 4};
  const int64_t stride[] = {16, 4, 512 * blockTiles, 1, 512};
  int64_t offset = 0;
  for (int i = 0; i < 5; ++i) offset += coordinate[i] * stride[i];
  return offset;
}

TEST(ScaleFactorLayout, InterleavesTilesOf128Rows) {
  for (const auto& [rows, blocks] : {std::pair<int64_t, int64_t>{1, 1}, {128, 4}, {129, 5}, {300, 13}}) {
    const int64_t bytes = scaleFactorBytes(ScaleFactorLayout::Interleaved128x4, rows, blocks);
    EXPECT_EQ(bytes, (rows + 127) / 128 * ((blocks + 3) / 4) * 512);
    std::vector<int> uses(static_cast<size_t>(bytes));
    for (int64_t row = 0; row < (rows + 127) / 128 * 128; ++row)
      for (int64_t block = 0; block < (blocks + 3) / 4 * 4; ++block) {
        const int64_t offset = scaleFactorOffset(ScaleFactorLayout::Interleaved128x4, row, block, blocks);
        ASSERT_EQ(offset, nestedOffset(row, block, (blocks + 3) / 4)) << row << ", " << block;
        ++uses.at(static_cast<size_t>(offset));
      }
    EXPECT_EQ(uses, std::vector<int>(uses.size(), 1)) << "every byte once";
  }
}

TEST(ScaleFactorLayout, KeepsPlainOnesDense) {
  EXPECT_EQ(scaleFactorBytes(ScaleFactorLayout::RowMajor, 3, 5), 15);
  EXPECT_EQ(scaleFactorOffset(ScaleFactorLayout::RowMajor, 2, 3, 5), 13);
}

}  // namespace
}  // namespace shiftconv::layout
