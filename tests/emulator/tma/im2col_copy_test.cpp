// Im2col loads against convolution arithmetic, and against pictures of the walk printed by others.
#include "tests/emulator/tma/copy_fixture.hpp"

namespace shiftconv::emulator::tma {
namespace {

struct Axis {
  int64_t size = 1, taps = 1, dilation = 1, stride = 1, padLow = 0, padHigh = 0;
  int64_t outputs() const { return (size + padLow + padHigh - (taps - 1) * dilation - 1) / stride + 1; }
  int32_t lower() const { return static_cast<int32_t>(-padLow); }
  int32_t upper() const { return static_cast<int32_t>(padHigh - (taps - 1) * dilation); }
};

class Im2colCopy : public CopyTest {
 protected:
  /// NHWC-like tensor: channels, then the axes (W first), then images.
  TiledMap tensor(DataType type, int64_t channels, const std::vector<Axis>& axes, int64_t images) {
    TiledMap map{.type = type, .rank = static_cast<uint32_t>(axes.size()) + 2};
    map.dims[0] = static_cast<uint64_t>(channels);
    uint64_t stride = map.dims[0] * elementBits(type) / 8;
    for (size_t i = 0; i < axes.size(); ++i) {
      map.dims[i + 1] = static_cast<uint64_t>(axes[i].size);
      map.elementStrides[i + 1] = static_cast<uint32_t>(axes[i].stride);
    }
    map.dims[map.rank - 1] = static_cast<uint64_t>(images);
    for (uint32_t i = 0; i + 1 < map.rank; ++i) {
      map.strides[i] = stride;
      stride *= map.dims[i + 1];
    }
    return map;
  }
};

// Row m of the GEMM is output pixel ((n*Z+z)*P+p)*Q+q; its input pixel for a filter tap is q*stride - pad + tap*dilation.
TEST_F(Im2colCopy, MatchesConvolutionArithmetic) {
  for (int repetition = 0; repetition < 300; ++repetition) {
    SCOPED_TRACE(testing::Message() << "seed " << kSeed << " repetition " << repetition);
    const auto spatial = static_cast<size_t>(between(1, 3));
    std::vector<Axis> axes(spatial);
    for (Axis& axis : axes) {
      do {
        axis = {.size = between(1, 7),
                .taps = between(1, 3),
                .dilation = between(1, 2),
                .stride = between(1, 3),
                .padLow = between(0, 2),
                .padHigh = between(0, 2)};
      } while (axis.size + axis.padLow + axis.padHigh < (axis.taps - 1) * axis.dilation + 1);
    }
    const int64_t images = between(1, 3), channels = 8 * between(1, 12);
    TiledMap map = tensor(DataType::F16, channels, axes, images);
    map.swizzle = between(0, 1) ? Swizzle::B128 : Swizzle::None;
    allocate(map);
    PixelBox pixels{.channelsPerPixel = 64, .pixelsPerColumn = static_cast<uint32_t>(between(1, 40))};
    int64_t total = images;
    for (size_t i = 0; i < spatial; ++i) {
      pixels.lowerCorner[i] = axes[i].lower();
      pixels.upperCorner[i] = axes[i].upper();
      total *= axes[i].outputs();
    }
    TensorMapImage image;
    ASSERT_EQ(encodeIm2col(map, pixels, image), "");
    const DecodedMap decoded = *decode(image);

    const int64_t first = between(0, total - 1);
    const int64_t firstChannel = 8 * between(-1, channels / 8);
    std::array<int64_t, 3> tap{};
    TileStart start;
    start.coordinates[0] = static_cast<int32_t>(firstChannel);
    int64_t rest = first;
    for (size_t i = 0; i < spatial; ++i) {
      tap[i] = between(0, axes[i].taps - 1);
      start.offsets[i] = static_cast<uint16_t>(tap[i] * axes[i].dilation);
      start.coordinates[i + 1] = static_cast<int32_t>(rest % axes[i].outputs() * axes[i].stride - axes[i].padLow);
      rest /= axes[i].outputs();
    }
    start.coordinates[spatial + 1] = static_cast<int32_t>(rest);

    Bytes expected;
    for (int64_t m = first; m < first + pixels.pixelsPerColumn; ++m) {
      Index index{};
      int64_t left = m;
      for (size_t i = 0; i < spatial; ++i) {
        index[i + 1] = left % axes[i].outputs() * axes[i].stride - axes[i].padLow + tap[i] * axes[i].dilation;
        left /= axes[i].outputs();
      }
      index[spatial + 1] = left;
      for (int64_t c = 0; c < 64; ++c) {
        index[0] = firstChannel + c;
        const std::byte zero[2]{};
        const std::byte* from = inTensor(map, index) ? content.data() + offsetOf(map, index) : zero;
        expected.insert(expected.end(), from, from + 2);
      }
    }
    ASSERT_NO_THROW(requireCopyable(decoded, start));
    machine::SharedMemory shared(32 * 1024);
    EXPECT_EQ(loadTile(decoded, start, global, shared, 2048 + 128).shared, expected.size());
    expectShared(shared, 2048 + 128, map.swizzle, expected);
    if (HasFatalFailure()) return;
    global.release(map.globalAddress);
  }
}

// Printed by a program that ran on hardware (triton-lang/triton, python/tutorials/gluon/13-conv-im2col.py): two 4x4 images
// whose pixels are numbered from 1 on, corners -1, walk from n 0, h 1, w 2.
TEST_F(Im2colCopy, ReproducesAPrintedRun) {
  TiledMap map = tensor(DataType::F32, 4, {{.size = 4}, {.size = 4}}, 2);
  map.globalAddress = global.allocate(2 * 16 * 16);
  for (int pixel = 0; pixel < 32; ++pixel)
    for (int channel = 0; channel < 4; ++channel)
      reinterpret_cast<float*>(map.globalAddress)[pixel * 4 + channel] = static_cast<float>(pixel + 1);
  const DecodedMap decoded{
      map, PixelBox{.lowerCorner = {-1, -1}, .upperCorner = {-1, -1}, .channelsPerPixel = 4, .pixelsPerColumn = 16}};
  machine::SharedMemory shared(4096);
  loadTile(decoded, {.coordinates = {0, 2, 1, 0}}, global, shared, 0);
  const float expected[] = {7, 0, 9, 10, 11, 0, 0, 0, 0, 0, 17, 18, 19, 0, 21, 22};
  for (int i = 0; i < 16; ++i) EXPECT_EQ(reinterpret_cast<const float*>(shared.data())[4 * i], expected[i]) << "pixel " << i;
}

TEST_F(Im2colCopy, StartOutsideOfTheBoxIsDiagnosed) {
  const TiledMap map = tensor(DataType::F16, 8, {{.size = 4}, {.size = 5}}, 2);
  const DecodedMap decoded{map,
                           PixelBox{.lowerCorner = {-1, 0}, .upperCorner = {-1, 0}, .channelsPerPixel = 8, .pixelsPerColumn = 8}};
  EXPECT_NO_THROW(requireCopyable(decoded, {.coordinates = {0, -1, 0, 0}}));
  EXPECT_NO_THROW(requireCopyable(decoded, {.coordinates = {0, 2, 4, 5}}));
  EXPECT_NE(errorOf(
                [&] {
                  requireCopyable(decoded, {.coordinates = {0, 3, 0, 0}});
                },
                ErrorKind::Descriptor)
                .find("coordinate 1 is 3, outside of the map's bounding box [-1, 2]"),
            std::string::npos);
  errorOf([&] { requireCopyable(decoded, {.coordinates = {0, 0, -1, 0}}); }, ErrorKind::Descriptor);
  EXPECT_NE(errorOf([&] { requireStorable(decoded, {}); }, ErrorKind::Descriptor).find("lower corner >= 0"), std::string::npos);
}

}  // namespace
}  // namespace shiftconv::emulator::tma
