// Tiled loads and stores against an index-by-index oracle, and the behaviours observed on an H200.
#include "tests/emulator/tma/copy_fixture.hpp"

namespace shiftconv::emulator::tma {
namespace {

class TiledCopy : public CopyTest {
 protected:
  static constexpr DataType kPlainTypes[] = {DataType::U8,  DataType::U16, DataType::U32, DataType::S32, DataType::U64,
                                             DataType::S64, DataType::F16, DataType::F32, DataType::F64, DataType::BF16};
  static constexpr Swizzle kSwizzles[] = {
      Swizzle::None, Swizzle::B32, Swizzle::B64, Swizzle::B128, Swizzle::B128Atom32, Swizzle::B128Atom32Flip8, Swizzle::B128Atom64};

  /// Random type, rank, sizes, swizzle (rows fill its span or less), element strides; dense or padded strides, unless `wild`: then
  /// any multiples of 16.
  TiledMap randomMap(bool wild) {
    TiledMap map;
    map.type = kPlainTypes[between(0, std::size(kPlainTypes) - 1)];
    map.rank = static_cast<uint32_t>(between(1, 5));
    map.swizzle = kSwizzles[between(0, std::size(kSwizzles) - 1)];
    const uint32_t element = elementBits(map.type) / 8;
    map.box[0] =
        static_cast<uint32_t>(between(1, map.swizzle == Swizzle::None ? 6 : swizzlePattern(map.swizzle).span / 16)) * 16 / element;
    map.dims[0] = static_cast<uint64_t>(between(1, 2 * map.box[0]));
    uint64_t extent = map.dims[0] * element;
    for (uint32_t i = 1; i < map.rank; ++i) {
      map.dims[i] = static_cast<uint64_t>(between(1, 7));
      map.box[i] = static_cast<uint32_t>(between(1, 6));
      map.elementStrides[i] = between(0, 2) == 0 ? static_cast<uint32_t>(between(2, 4)) : 1;
      map.strides[i - 1] =
          wild ? static_cast<uint64_t>(between(0, 40)) * 16 : (extent + 15) / 16 * 16 + static_cast<uint64_t>(between(0, 1)) * 32;
      extent = map.strides[i - 1] * map.dims[i];
    }
    if (elementBits(map.type) > 8 && map.type != DataType::U16 && map.type != DataType::U32 && map.type != DataType::S32 &&
        map.type != DataType::U64 && map.type != DataType::S64)
      map.fill = static_cast<Fill>(between(0, 1));
    return map;
  }

  /// Coordinate 0 is a multiple of 16 bytes.
  TileStart randomStart(const TiledMap& map, int64_t lowest) {
    TileStart start;
    const int32_t step = 128 / static_cast<int32_t>(elementBits(map.type));
    for (uint32_t i = 0; i < map.rank; ++i) {
      const auto size = static_cast<int64_t>(map.dims[i]);
      start.coordinates[i] = static_cast<int32_t>(between(std::max(lowest, -size - 2), size + 2));
    }
    start.coordinates[0] = start.coordinates[0] / step * step;
    return start;
  }

  /// What the tile must hold, dense: elements of `content`, or the fill.
  Bytes expectedTile(const TiledMap& map, const TileStart& start) {
    const uint32_t element = elementBits(map.type) / 8;
    // 0x7FF7 again and again, whatever the type (observed on an H200), little endian.
    Bytes fill(element);
    if (map.fill != Fill::Zero)
      for (uint32_t i = 0; i < element; ++i) fill[i] = i % 2 == 0 ? std::byte{0xf7} : std::byte{0x7f};
    Bytes tile;
    forEachElement(map, start, [&](const Index& index, uint32_t) {
      const std::byte* from = inTensor(map, index) ? content.data() + offsetOf(map, index) : fill.data();
      tile.insert(tile.end(), from, from + element);
    });
    return tile;
  }

  /// Loads and compares everything; the tile lies at `offset`.
  void checkLoad(const TiledMap& map, const TileStart& start, uint32_t offset) {
    TensorMapImage image;
    ASSERT_EQ(encodeTiled(map, image), "");
    const auto decoded = decode(image);
    ASSERT_TRUE(decoded);
    machine::SharedMemory shared(kSharedBytes);
    const Bytes expected = expectedTile(map, start);
    ASSERT_NO_THROW(requireCopyable(*decoded, start));
    const CopyBytes moved = loadTile(*decoded, start, global, shared, offset);
    EXPECT_EQ(moved.shared, expected.size()) << "complete-tx counts the whole box";
    expectShared(shared, offset, map.swizzle, expected, rowBytes(map));
  }

  static uint32_t rowBytes(const TiledMap& map) { return map.box[0] * elementBits(map.type) / 8; }
  DecodedMap decodedOf(const TiledMap& map) { return {map, std::nullopt}; }
};

TEST_F(TiledCopy, RandomLoadsMatchTheOracle) {
  for (int repetition = 0; repetition < 400; ++repetition) {
    TiledMap map = randomMap(repetition % 2 == 1);
    allocate(map);
    uint64_t tileBytes = map.swizzle == Swizzle::None ? rowBytes(map) : swizzlePattern(map.swizzle).span;
    for (uint32_t i = 1; i < map.rank; ++i) tileBytes *= map.box[i];
    const auto offset = static_cast<uint32_t>(between(0, static_cast<int64_t>(kSharedBytes - tileBytes) / 128)) * 128;
    SCOPED_TRACE(testing::Message() << "seed " << kSeed << " repetition " << repetition << " swizzle " << toString(map.swizzle));
    checkLoad(map, randomStart(map, INT32_MIN), offset);
    if (HasFatalFailure()) return;
    global.release(map.globalAddress);
  }
}

TEST_F(TiledCopy, RandomStoresMatchTheOracle) {
  for (int repetition = 0; repetition < 400; ++repetition) {
    TiledMap map = randomMap(false);
    const uint64_t elements = map.dims[0];
    const uint32_t element = elementBits(map.type) / 8;
    // A store changes the rest of the 16 bytes that hold the end of a row (observed on an H200).
    map.dims[0] = (elements * element + 15) / 16 * 16 / element;
    allocate(map);
    const TiledMap whole = map;
    map.dims[0] = elements;
    const TileStart start = randomStart(map, 0);
    SCOPED_TRACE(testing::Message() << "seed " << kSeed << " repetition " << repetition << " swizzle " << toString(map.swizzle));
    const DecodedMap decoded = decodedOf(map);
    const auto offset = static_cast<uint32_t>(between(8, 64)) * 128;
    const SwizzlePattern swizzle = swizzlePattern(map.swizzle);

    // Only what lands in the tensor is written beforehand: the rest may stay undefined.
    machine::SharedMemory shared(kSharedBytes);
    Bytes expected = content;
    uint64_t expectedBytes = 0;
    forEachElement(map, start, [&](const Index& index, uint32_t position) {
      if (!inTensor(whole, index) || start.coordinates[0] >= static_cast<int64_t>(elements)) return;
      for (uint32_t i = 0; i < element; ++i) {
        const auto value = static_cast<std::byte>(random());
        *shared.write(swizzle(offset + spaced(position * element + i, rowBytes(map), map.swizzle)), 1, 1) = value;
        expected[offsetOf(map, index) + i] = value;
      }
      expectedBytes += element;
    });
    ASSERT_NO_THROW(requireStorable(decoded, start));
    const CopyBytes moved = storeTile(decoded, start, gatherTile(decoded, start, shared, offset), global);
    EXPECT_EQ(moved.global, expectedBytes);
    ASSERT_EQ(std::memcmp(reinterpret_cast<const void*>(map.globalAddress), expected.data(), expected.size()), 0);
    global.release(map.globalAddress);
  }
}

// The following maps and boxes were run on an H200; every element came out as expected there.
TEST_F(TiledCopy, ObservedOverlappingWindows) {
  TiledMap map{.type = DataType::F16,
               .rank = 3,
               .dims = {64, 32, 8},
               .strides = {128, 30 * 128},
               .box = {64, 32, 4},
               .swizzle = Swizzle::B128};
  allocate(map);
  checkLoad(map, {}, 1024);
  // At row -1 the entries of dimension 1 below 0 are zero although valid memory lies there.
  const TileStart above{.coordinates = {0, -1, 2}};
  checkLoad(map, above, 1024);
  machine::SharedMemory shared(kSharedBytes);
  loadTile(decodedOf(map), above, global, shared, 1024);
  for (uint32_t i = 0; i < 128; ++i) EXPECT_EQ(shared.data()[1024 + i], std::byte{0});
}

TEST_F(TiledCopy, ObservedNonMonotonicStrides) {
  TiledMap map{.type = DataType::F16, .rank = 3, .dims = {64, 4, 100}, .strides = {32 * 128, 128}, .box = {64, 4, 3}};
  allocate(map);
  checkLoad(map, {.coordinates = {0, 0, 5}}, 0);
}

TEST_F(TiledCopy, ObservedZeroStrideBroadcasts) {
  TiledMap map{.type = DataType::F16, .rank = 3, .dims = {64, 8, 4}, .strides = {128, 0}, .box = {64, 8, 4}};
  allocate(map);
  checkLoad(map, {}, 128);
}

TEST_F(TiledCopy, SwizzleUsesTheAbsoluteAddressNotTheTile) {
  TiledMap map{.type = DataType::F16, .rank = 2, .dims = {64, 8}, .strides = {128}, .box = {64, 8}, .swizzle = Swizzle::B128};
  allocate(map);
  machine::SharedMemory shared(kSharedBytes);
  const uint32_t offset = 1024 + 3 * 128;  // row r of the tile is line r + 3
  loadTile(decodedOf(map), {}, global, shared, offset);
  for (uint32_t row = 0; row < 8; ++row)
    for (uint32_t chunk = 0; chunk < 8; ++chunk)
      EXPECT_EQ(std::memcmp(shared.data() + offset + row * 128 + (chunk ^ ((row + 3) % 8)) * 16,
                            content.data() + row * 128 + chunk * 16, 16),
                0);
}

TEST_F(TiledCopy, CoordinatesAtTheEndsOf32Bits) {
  TiledMap map{.type = DataType::U8, .rank = 2, .dims = {16, 3}, .strides = {16}, .box = {16, 2}};
  allocate(map);
  for (int32_t x : {INT32_MIN, INT32_MIN + 16, INT32_MAX - 31, INT32_MAX - 15})
    for (int32_t y : {INT32_MIN, 0, INT32_MAX}) checkLoad(map, {.coordinates = {x, y}}, 256);
}

double asFloat(const std::byte* bytes) {
  float value;
  std::memcpy(&value, bytes, 4);
  return value;
}

/// Nearest even at 10 fraction bits by arithmetic in double, which is exact here.
double nearestTf32(double value) {
  if (value == 0 || !std::isfinite(value)) return value;
  int exponent = 0;
  std::frexp(value, &exponent);
  const double quantum = std::ldexp(1.0, std::max(exponent - 11, -149 + 13));
  return std::nearbyint(value / quantum) * quantum;
}

// As an H200 does it: FTZ changes nothing, neither alone nor with TFLOAT32; NaN becomes 0x7FFFE000.
TEST_F(TiledCopy, ConvertsTf32OnTheWayIn) {
  for (DataType type : {DataType::F32Ftz, DataType::TF32, DataType::TF32Ftz}) {
    TiledMap map{.type = type, .rank = 2, .dims = {256, 16}, .strides = {1024}, .box = {256, 16}};
    allocate(map);
    for (uint32_t i = 0; i < content.size() / 4; ++i) {  // exponents all over, ties and subnormals often
      auto bits = static_cast<uint32_t>(random());
      if (i % 4 == 1) bits &= 0x807fffff;
      if (i % 4 == 2) bits = (bits & 0xffffe000) | 0x1000;
      if ((bits & 0x7f800000) == 0x7f800000 && i % 2) bits &= 0xff800000;  // infinities
      std::memcpy(content.data() + 4 * i, &bits, 4);
    }
    std::memcpy(reinterpret_cast<void*>(map.globalAddress), content.data(), content.size());
    machine::SharedMemory shared(kSharedBytes);
    loadTile(decodedOf(map), {}, global, shared, 0);
    for (uint32_t i = 0; i < content.size() / 4; ++i) {
      const double in = asFloat(content.data() + 4 * i), out = asFloat(shared.data() + 4 * i);
      if (type == DataType::F32Ftz) {
        ASSERT_EQ(std::memcmp(content.data() + 4 * i, shared.data() + 4 * i, 4), 0);
      } else if (std::isnan(in)) {
        const uint32_t nan = 0x7fffe000;
        ASSERT_EQ(std::memcmp(&nan, shared.data() + 4 * i, 4), 0);
      } else {
        const double expected = static_cast<float>(nearestTf32(in));  // beyond the largest float: infinity

        ASSERT_EQ(out, expected) << toString(type) << " of " << std::hexfloat << in;
        ASSERT_EQ(std::signbit(out), std::signbit(expected));
      }
    }
    global.release(map.globalAddress);
  }
}

TEST_F(TiledCopy, RefusesWhatItCannotDo) {
  TiledMap map{.type = DataType::F16, .rank = 2, .dims = {64, 8}, .strides = {128}, .box = {32, 8}};
  for (int32_t x : {-16, -8, 8, 24}) EXPECT_NO_THROW(requireCopyable(decodedOf(map), {.coordinates = {x, 1}})) << x;
  for (int32_t x : {-9, -4, 1, 4, 12})
    EXPECT_NE(errorOf(
                  [&] {
                    requireCopyable(decodedOf(map), {.coordinates = {x, 1}});
                  },
                  ErrorKind::Descriptor)
                  .find("coordinate 0 must be a multiple of 8"),
              std::string::npos)
        << x;
  map.interleave = Interleave::B16;
  EXPECT_NE(errorOf([&] { requireCopyable(decodedOf(map), {}); }, ErrorKind::Unsupported).find("interleaved"), std::string::npos);
}

TEST_F(TiledCopy, FaultsNameTheAddressOrTheCoordinate) {
  TiledMap map{.type = DataType::F16, .rank = 2, .dims = {64, 8}, .strides = {128}, .box = {64, 8}};
  allocate(map);
  machine::SharedMemory shared(4096);
  const DecodedMap decoded = decodedOf(map);
  EXPECT_NE(errorOf([&] { loadTile(decoded, {}, global, shared, 1024 + 64); }, ErrorKind::Misaligned).find("0x440"),
            std::string::npos);
  EXPECT_NE(errorOf([&] { loadTile(decoded, {}, global, shared, 4096 - 512); }, ErrorKind::OutOfBounds).find("0xe00"),
            std::string::npos);
  EXPECT_NE(errorOf([&] { gatherTile(decoded, {}, shared, 64); }, ErrorKind::Misaligned).find("0x40"), std::string::npos);
  EXPECT_NE(errorOf([&] { gatherTile(decoded, {}, shared, 4096); }, ErrorKind::OutOfBounds).find("0x1000"), std::string::npos);
  EXPECT_NE(errorOf(
                [&] {
                  requireStorable(decoded, {.coordinates = {0, -1}});
                },
                ErrorKind::OutOfBounds)
                .find("{0, -1}: coordinate 1 is negative"),
            std::string::npos);

  DecodedMap longer = decoded;  // a map that promises more rows than the allocation has
  longer.tensor.dims[1] = 9;
  errorOf([&] { loadTile(longer, {.coordinates = {0, 4}}, global, shared, 0); }, ErrorKind::OutOfBounds);
  errorOf([&] { storeTile(longer, {.coordinates = {0, 4}}, Bytes(1024), global); }, ErrorKind::OutOfBounds);
}

}  // namespace
}  // namespace shiftconv::emulator::tma
