// Copies of 4-bit and 6-bit elements: every element is looked up bit by bit, and padding must stay undefined.
#include "tests/emulator/tma/copy_fixture.hpp"

namespace shiftconv::emulator::tma {
namespace {

constexpr uint64_t kGroup = 16;  // elements that are stored together

class PackedCopy : public CopyTest {
 protected:
  /// `bits` bits from bit `first` of a little-endian byte string.
  static uint32_t bitsAt(const std::byte* bytes, uint64_t first, uint32_t bits) {
    uint32_t value = 0;
    for (uint32_t i = 0; i < bits; ++i) value |= (std::to_integer<uint32_t>(bytes[(first + i) / 8]) >> (first + i) % 8 & 1) << i;
    return value;
  }

  static void setBitsAt(std::byte* bytes, uint64_t first, uint32_t bits, uint32_t value) {
    for (uint32_t i = 0; i < bits; ++i) {
      std::byte& target = bytes[(first + i) / 8];
      const auto bit = static_cast<std::byte>(1u << (first + i) % 8);
      target = (value >> i & 1) != 0 ? target | bit : target & ~bit;
    }
  }

  /// A cube of packed elements, 3 pixels per side but for dimension 0.
  TiledMap cube(DataType type, Swizzle swizzle, uint64_t columns, uint32_t box) {
    TiledMap map{.type = type, .rank = 3, .dims = {columns, 5, 3}, .box = {box, 4, 2}, .swizzle = swizzle};
    map.strides = {(columns * elementBits(type) / 8 + 31) / 32 * 32 + 32, 0};
    map.strides[1] = map.strides[0] * 6;
    const uint64_t bytes = map.strides[1] * 3;
    map.globalAddress = global.allocate(bytes);
    content.resize(bytes);
    for (std::byte& byte : content) byte = static_cast<std::byte>(random());
    std::memcpy(reinterpret_cast<void*>(map.globalAddress), content.data(), bytes);
    return map;
  }

  static uint64_t firstBit(const TiledMap& map, const Index& index) {
    return 8 * (static_cast<uint64_t>(index[1]) * map.strides[0] + static_cast<uint64_t>(index[2]) * map.strides[1]) +
           static_cast<uint64_t>(index[0]) * elementBits(map.type);
  }

  /// First bit of the element at `position` of the dense tile, as loads leave it: groups of `groupBytes`.
  static uint64_t tileBit(const TiledMap& map, uint32_t position, uint64_t groupBytes) {
    return 8 * groupBytes * (position / kGroup) + position % kGroup * elementBits(map.type);
  }

  void checkLoad(const TiledMap& map, const TileStart& start, uint64_t groupBytes) {
    SCOPED_TRACE(testing::Message() << toString(map.type) << " swizzle " << toString(map.swizzle));
    TensorMapImage image;
    ASSERT_EQ(encodeTiled(map, image), "");
    const DecodedMap decoded = *decode(image);
    ASSERT_NO_THROW(requireCopyable(decoded, start));
    ASSERT_NO_THROW(requireLoadable(decoded));
    constexpr uint32_t kOffset = 3 * 128;
    machine::SharedMemory shared(kSharedBytes);
    const CopyBytes moved = loadTile(decoded, start, global, shared, kOffset);
    const uint64_t rows = 8, dataBytes = kGroup * elementBits(map.type) / 8;
    EXPECT_EQ(moved.shared, rows * map.box[0] / kGroup * groupBytes);
    EXPECT_EQ(moved.payload, rows * map.box[0] / kGroup * dataBytes) << "complete-tx does not count the padding";

    const SwizzlePattern swizzle = swizzlePattern(map.swizzle);
    Bytes dense(moved.shared);
    for (uint32_t i = 0; i < dense.size(); ++i) {
      const uint32_t place = swizzle(kOffset + i);
      dense[i] = shared.data()[place];
      ASSERT_EQ(shared.isWritten(place, 1), i % groupBytes < dataBytes) << "byte " << i << " of the tile";
    }
    for (uint32_t i = 0; i < kOffset; ++i) ASSERT_FALSE(shared.isWritten(i, 1));
    ASSERT_FALSE(shared.isWritten(kOffset + static_cast<uint32_t>(dense.size()), 1));
    forEachElement(map, start, [&](const Index& index, uint32_t position) {
      const uint32_t expected = inTensor(map, index) ? bitsAt(content.data(), firstBit(map, index), elementBits(map.type)) : 0;
      ASSERT_EQ(bitsAt(dense.data(), tileBit(map, position, groupBytes), elementBits(map.type)), expected)
          << "element " << position;
    });
  }
};

TEST_F(PackedCopy, LoadsDenseFourBitElements) {
  for (Swizzle swizzle : {Swizzle::None, Swizzle::B64, Swizzle::B128}) {
    const uint32_t box = swizzle == Swizzle::None ? 96 : swizzlePattern(swizzle).span * 2;
    const TiledMap map = cube(DataType::U4Align8, swizzle, 94, box);
    for (int32_t x : {0, -32, 64, 96})
      for (int32_t y : {0, -1, 3}) checkLoad(map, {.coordinates = {x, y, 1}}, 8);
  }
}

TEST_F(PackedCopy, LoadsPaddedElements) {
  for (DataType type : {DataType::U4Align16, DataType::U6Align16})
    for (Swizzle swizzle : {Swizzle::None, Swizzle::B128, Swizzle::B128Atom32}) {
      const TiledMap map = cube(type, swizzle, 256, 128);
      for (int32_t x : {0, 128, -128, 256})
        for (int32_t z : {0, -1, 2}) checkLoad(map, {.coordinates = {x, 2, z}}, 16);
    }
}

TEST_F(PackedCopy, GathersPaddedRows) {
  TiledMap map = cube(DataType::U6Align16, Swizzle::None, 256, 128);
  map.rank = 2;
  map.box = {128, 1};
  machine::SharedMemory shared(4096);
  const TileStart start{.coordinates = {128, 4, 0, 5, 2}, .fourRows = true};
  const DecodedMap decoded{map, std::nullopt};
  ASSERT_NO_THROW(requireCopyable(decoded, start));
  const CopyBytes moved = loadTile(decoded, start, global, shared, 0);
  EXPECT_EQ(moved.shared, 512u);
  EXPECT_EQ(moved.payload, 384u);
  for (uint32_t row = 0; row < 4; ++row)
    for (uint32_t i = 0; i < 128; ++i) {
      const uint64_t from = firstBit(map, {128 + i, start.coordinates[row + 1], 0});
      EXPECT_EQ(bitsAt(shared.data() + 128 * row, 128 * (i / 16) + i % 16 * 6, 6),
                start.coordinates[row + 1] < 5 ? bitsAt(content.data(), from, 6) : 0u);
    }
}

TEST_F(PackedCopy, StoresOneByteSixBitElements) {
  for (Swizzle mode : {Swizzle::None, Swizzle::B128, Swizzle::B128Atom32, Swizzle::B128Atom64})
    for (int32_t y : {0, 3}) {
      SCOPED_TRACE(testing::Message() << toString(mode) << " row " << y);
      const TiledMap map = cube(DataType::U6Align16, mode, 256, 128);
      TensorMapImage image;
      ASSERT_EQ(encodeTiled(map, image), "");
      const DecodedMap decoded = *decode(image);
      const TileStart start{.coordinates = {128, y, 1}};
      constexpr uint32_t kOffset = 5 * 128;
      machine::SharedMemory shared(kSharedBytes);
      Bytes expected = content;
      forEachElement(map, start, [&](const Index& index, uint32_t position) {
        if (!inTensor(map, index)) return;  // need not be written
        const auto value = static_cast<uint32_t>(random() & 255);
        *shared.write(swizzlePattern(mode)(kOffset + position), 1, 1) = static_cast<std::byte>(value);
        setBitsAt(expected.data(), firstBit(map, index), 6, value & 63);
      });
      ASSERT_NO_THROW(requireCopyable(decoded, start));
      ASSERT_NO_THROW(requireStorable(decoded, start));
      storeTile(decoded, start, gatherTile(decoded, start, shared, kOffset), global);
      ASSERT_EQ(std::memcmp(reinterpret_cast<const void*>(map.globalAddress), expected.data(), expected.size()), 0);
    }
}

TEST_F(PackedCopy, StoresDenseFourBitElements) {
  const TiledMap map = cube(DataType::U4Align8, Swizzle::None, 94, 96);
  const DecodedMap decoded{map, std::nullopt};
  const TileStart start{.coordinates = {32, 2, 0}};
  machine::SharedMemory shared(kSharedBytes);
  Bytes tile(96 * 8 / 2);
  for (std::byte& byte : tile) byte = static_cast<std::byte>(random());
  std::memcpy(shared.write(128, static_cast<uint32_t>(tile.size()), 16), tile.data(), tile.size());
  Bytes expected = content;
  forEachElement(map, start, [&](const Index& index, uint32_t position) {
    // a store changes all of the 16 bytes that hold the end of a row
    if (inTensor(map, {index[0] / 32 * 32, index[1], index[2]}))
      setBitsAt(expected.data(), firstBit(map, index), 4, bitsAt(tile.data(), 4 * position, 4));
  });
  storeTile(decoded, start, gatherTile(decoded, start, shared, 128), global);
  ASSERT_EQ(std::memcmp(reinterpret_cast<const void*>(map.globalAddress), expected.data(), expected.size()), 0);
}

TEST_F(PackedCopy, RefusesWhatTheTypesForbid) {
  const auto message = [&](const std::function<void()>& action) { return errorOf(action, ErrorKind::Descriptor); };
  const DecodedMap four{cube(DataType::U4Align16, Swizzle::None, 256, 128), std::nullopt};
  EXPECT_NE(message([&] { requireStorable(four, {}); }).find("loads only"), std::string::npos);
  EXPECT_NE(message([&] { requireCopyable(four, {.coordinates = {64, 0, 0}}); }).find("multiple of 128"), std::string::npos);
  const DecodedMap six{cube(DataType::U6Align16, Swizzle::B128Atom64, 256, 128), std::nullopt};
  EXPECT_NE(message([&] { requireLoadable(six); }).find("stores only"), std::string::npos);
  const DecodedMap dense{cube(DataType::U4Align8, Swizzle::None, 94, 96), std::nullopt};
  EXPECT_NE(message([&] { requireCopyable(dense, {.coordinates = {16, 0, 0}}); }).find("multiple of 32"), std::string::npos);
}

}  // namespace
}  // namespace shiftconv::emulator::tma
