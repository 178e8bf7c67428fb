// A tensor in global memory with random bytes, allocated so tightly that any read past it is a fault, and element-wise
// access to it that knows nothing of tiles.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "common/emulator/error.hpp"
#include "common/emulator/machine/memory.hpp"
#include "common/emulator/tma/copy_engine.hpp"
#include "common/emulator/tma/tensor_map.hpp"

namespace shiftconv::emulator::tma {

using Index = std::array<int64_t, 5>;
using Bytes = std::vector<std::byte>;

class CopyTest : public testing::Test {
 protected:
  static constexpr uint32_t kSharedBytes = 192 * 1024;

  int64_t between(int64_t low, int64_t high) { return std::uniform_int_distribution<int64_t>(low, high)(random); }

  /// Allocates the memory that `map` spans, fills it with random bits and sets map.globalAddress.
  void allocate(TiledMap& map) {
    const uint32_t element = elementBits(map.type) / 8;
    uint64_t bytes = map.dims[0] * element;
    for (uint32_t i = 1; i < map.rank; ++i) bytes += (map.dims[i] - 1) * map.strides[i - 1];
    map.globalAddress = global.allocate(bytes);
    content.resize(bytes);
    for (std::byte& byte : content) byte = static_cast<std::byte>(random());
    std::memcpy(reinterpret_cast<void*>(map.globalAddress), content.data(), bytes);
  }

  static uint64_t offsetOf(const TiledMap& map, const Index& index) {
    uint64_t offset = static_cast<uint64_t>(index[0]) * (elementBits(map.type) / 8);
    for (uint32_t i = 1; i < map.rank; ++i) offset += static_cast<uint64_t>(index[i]) * map.strides[i - 1];
    return offset;
  }

  static bool inTensor(const TiledMap& map, const Index& index) {
    for (uint32_t i = 0; i < map.rank; ++i)
      if (index[i] < 0 || index[i] >= static_cast<int64_t>(map.dims[i])) return false;
    return true;
  }

  /// Calls visit(tensor index, position in the dense tile) for every element of the tiled box, dimension 0 fastest.
  static void forEachElement(const TiledMap& map, const TileStart& start,
                             const std::function<void(const Index&, uint32_t)>& visit) {
    std::array<int64_t, 5> entries{1, 1, 1, 1, 1};
    for (uint32_t i = 0; i < map.rank; ++i) {
      const uint32_t step = i == 0 ? 1 : map.elementStrides[i];
      entries[i] = static_cast<int64_t>(std::ceil(static_cast<double>(map.box[i]) / step));
    }
    uint32_t position = 0;
    for (int64_t i4 = 0; i4 < entries[4]; ++i4)
      for (int64_t i3 = 0; i3 < entries[3]; ++i3)
        for (int64_t i2 = 0; i2 < entries[2]; ++i2)
          for (int64_t i1 = 0; i1 < entries[1]; ++i1)
            for (int64_t i0 = 0; i0 < entries[0]; ++i0) {
              const std::array<int64_t, 5> i{i0, i1, i2, i3, i4};
              Index index{};
              for (uint32_t d = 0; d < map.rank; ++d) index[d] = start.coordinates[d] + i[d] * (d == 0 ? 1 : map.elementStrides[d]);
              visit(index, position++);
            }
  }

  /// Where byte `position` of a dense tile with rows of `rowBytes` lies, relative to the tile, before swizzling: under a swizzle
  /// each row begins a new span (observed on an H200).
  static uint32_t spaced(uint32_t position, uint32_t rowBytes, Swizzle mode) {
    const uint32_t pitch = mode == Swizzle::None ? rowBytes : swizzlePattern(mode).span;
    return position / rowBytes * pitch + position % rowBytes;
  }

  /// Shared memory must hold exactly `expected` at `offset` on (dense rows of `rowBytes`, spaced and swizzled here) and be
  /// untouched elsewhere. rowBytes 0: rows fill the span.
  void expectShared(const machine::SharedMemory& shared, uint32_t offset, Swizzle mode, const Bytes& expected,
                    uint32_t rowBytes = 0) {
    const SwizzlePattern swizzle = swizzlePattern(mode);
    if (rowBytes == 0) rowBytes = mode == Swizzle::None ? static_cast<uint32_t>(expected.size()) : swizzle.span;
    Bytes image(shared.size(), std::byte{0xCB});
    std::vector<bool> covered(shared.size());
    for (uint32_t i = 0; i < expected.size(); ++i) {
      const uint32_t place = swizzle(offset + spaced(i, rowBytes, mode));
      image[place] = expected[i];
      covered[place] = true;
    }
    for (uint32_t i = 0; i < shared.size(); ++i) {
      ASSERT_EQ(shared.data()[i], image[i]) << "shared byte " << i << ", tile at " << offset;
      ASSERT_EQ(shared.isWritten(i, 1), covered[i]) << "shared byte " << i;
    }
  }

  static std::string errorOf(const std::function<void()>& action, ErrorKind kind) {
    try {
      action();
    } catch (const EmulatorError& error) {
      EXPECT_EQ(error.kind(), kind) << error.what();
      return error.what();
    }
    ADD_FAILURE() << "no error";
    return {};
  }

  static constexpr uint64_t kSeed = 4711;
  std::mt19937_64 random{kSeed};
  machine::GlobalMemory global;
  Bytes content;  ///< what allocate() wrote
};

}  // namespace shiftconv::emulator::tma
