// What every device must do: memory, streams, modules, launches, tensor maps, and errors that say what went wrong.
#include <array>
#include <numeric>
#include <thread>

#include "tests/device/seam_fixture.hpp"

namespace shiftconv::device::tests {
namespace {

TEST_F(SeamTest, CopiesAndFillsMemory) {
  std::vector<uint8_t> bytes(1000);
  std::iota(bytes.begin(), bytes.end(), uint8_t{1});
  const Address address = upload(bytes);
  EXPECT_EQ(address % 256, 0u);
  ASSERT_SUCCESS(device_->fill(address + 10, 0xAB, 7, 0));
  std::fill_n(bytes.begin() + 10, 7, uint8_t{0xAB});
  EXPECT_EQ(download<uint8_t>(address, bytes.size()), bytes);
  EXPECT_EQ(download<uint8_t>(address + 990, 10), std::vector<uint8_t>(bytes.end() - 10, bytes.end()));
}

TEST_F(SeamTest, TransfersOfNothingAreFine) {
  EXPECT_TRUE(device_->copyToDevice(0, nullptr, 0, 0).ok());
  EXPECT_TRUE(device_->copyToHost(nullptr, 0, 0, 0).ok());
  EXPECT_TRUE(device_->fill(0, 1, 0, 0).ok());
}

TEST_F(SeamTest, RefusesToReleaseWhatItDidNotAllocate) {
  const Address address = memory(512);
  const Status status = device_->release(address + 256);
  EXPECT_FALSE(status.ok());
  EXPECT_FALSE(status.message().empty());
}

TEST_F(SeamTest, ReportsMemoryThatDoesNotExist) {
  Address address = 0;
  const Status status = device_->allocate(size_t{1} << 46, address);
  EXPECT_EQ(status.code(), StatusCode::OutOfMemory) << status.message();
  EXPECT_FALSE(status.message().empty());
}

TEST_F(SeamTest, LaunchesWithScalarsAndPointers) {
  constexpr uint32_t kCount = 1000;  // not a multiple of the block
  std::vector<float> in(kCount);
  for (uint32_t i = 0; i < kCount; ++i) in[i] = 0.25f * static_cast<float>(i) - 7;
  const Address input = upload(in), output = memory(kCount * sizeof(float));
  ASSERT_SUCCESS(device_->fill(output, 0xCD, kCount * sizeof(float), 0));
  const Kernel* affine = kernel("affine");
  ASSERT_TRUE(affine);
  const float scale = -1.5f;
  const std::array<const void*, 4> arguments{&input, &output, &scale, &kCount};
  ASSERT_SUCCESS(device_->launch(*affine, grid(8, 128), arguments, 0));
  const auto out = download<float>(output, kCount);
  for (uint32_t i = 0; i < kCount; ++i) ASSERT_EQ(out[i], scale * in[i] + static_cast<float>(i)) << i;
}

TEST_F(SeamTest, StreamsOrderTheirWork) {
  Stream stream = 0;
  ASSERT_SUCCESS(device_->createStream(stream));
  ASSERT_NE(stream, 0u);
  const std::vector<float> in{1, 2, 3, 4};
  const Address first = upload(in, stream), second = memory(16);
  const Kernel* affine = kernel("affine");
  ASSERT_TRUE(affine);
  const float scale = 2;
  const uint32_t count = 4;
  const std::array<const void*, 4> there{&first, &second, &scale, &count}, back{&second, &first, &scale, &count};
  ASSERT_SUCCESS(device_->launch(*affine, grid(1, 32), there, stream));
  ASSERT_SUCCESS(device_->launch(*affine, grid(1, 32), back, stream));
  EXPECT_EQ(download<float>(first, 4, stream), (std::vector<float>{4, 11, 18, 25}));  // 2 * (2*x + i) + i
  ASSERT_SUCCESS(device_->destroyStream(stream));
}

TEST_F(SeamTest, TimesWhatAStreamDoes) {
  Stream stream = 0;
  ASSERT_SUCCESS(device_->createStream(stream));
  constexpr size_t kBytes = size_t{64} << 20;
  const Address large = memory(kBytes);
  const auto fills = [&](int count) {
    return [&, count]() -> Status {
      for (int i = 0; i < count; ++i)
        if (Status status = device_->fill(large, 0x5A, kBytes, stream); !status.ok()) return status;
      return {};
    };
  };
  double seconds = -1;
  ASSERT_SUCCESS(device_->time(stream, fills(4), seconds));
  EXPECT_GT(seconds, 4 * kBytes / 1e13);  // more than ten terabytes a second no memory takes
  std::array<uint8_t, 4> end{};
  ASSERT_SUCCESS(device_->copyToHost(end.data(), large + kBytes - end.size(), end.size(), stream));
  ASSERT_SUCCESS(device_->synchronize(stream));
  EXPECT_EQ(end, (std::array<uint8_t, 4>{0x5A, 0x5A, 0x5A, 0x5A}));
  // What cannot be enqueued is no time.
  seconds = -1;
  const Status failed = device_->time(
      stream, [] { return Status(StatusCode::Unsupported, "not today"); }, seconds);
  EXPECT_EQ(failed.message(), "not today");
  EXPECT_EQ(seconds, -1);
  EXPECT_FALSE(device_->driverVersion().empty());
  ASSERT_SUCCESS(device_->destroyStream(stream));
}

TEST_F(SeamTest, LaunchesClusters) {
  const Address out = memory(12 * sizeof(uint32_t));
  const Kernel* ranks = kernel("cluster_ranks");
  ASSERT_TRUE(ranks);
  const std::array<const void*, 1> arguments{&out};
  ASSERT_SUCCESS(device_->launch(*ranks, grid(12, 32, 0, 4), arguments, 0));
  EXPECT_EQ(download<uint32_t>(out, 12), (std::vector<uint32_t>{0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3}));
  // More than the 8 that every GPU of this kind has.
  std::vector<uint32_t> sixteen(16);
  std::iota(sixteen.begin(), sixteen.end(), 0u);
  const Address more = memory(16 * sizeof(uint32_t));
  const std::array<const void*, 1> others{&more};
  ASSERT_SUCCESS(device_->launch(*ranks, grid(16, 32, 0, 16), others, 0));
  EXPECT_EQ(download<uint32_t>(more, 16), sixteen);
}

TEST_F(SeamTest, LaunchesInThreeDimensions) {
  const Address out = memory(9 * sizeof(uint32_t));
  const Kernel* extents = kernel("extents");
  ASSERT_TRUE(extents);
  const std::array<const void*, 1> arguments{&out};
  const LaunchConfig config{.grid = {4, 6, 10}, .block = {8, 3, 7}, .cluster = {2, 3, 1}};
  ASSERT_SUCCESS(device_->launch(*extents, config, arguments, 0));
  EXPECT_EQ(download<uint32_t>(out, 9), (std::vector<uint32_t>{4, 6, 10, 8, 3, 7, 2, 3, 1}));
  ASSERT_SUCCESS(device_->launch(*extents, {.grid = {4, 6, 10}, .block = {8, 3, 7}, .cluster = {1, 1, 5}}, arguments, 0));
  EXPECT_EQ(download<uint32_t>(out + 24, 3), (std::vector<uint32_t>{1, 1, 5}));
}

TEST_F(SeamTest, GivesKernelsAllOptInSharedMemory) {
  std::vector<uint32_t> in(64);
  std::iota(in.begin(), in.end(), 100u);
  const Address input = upload(in), output = memory(in.size() * 4);
  const Kernel* through = kernel("through_shared");
  ASSERT_TRUE(through);
  const uint32_t bytes = device_->properties().sharedBytesPerBlock;
  ASSERT_GT(bytes, 200u * 1024);
  const std::array<const void*, 3> arguments{&input, &output, &bytes};
  ASSERT_SUCCESS(device_->launch(*through, grid(1, 64, bytes), arguments, 0));
  EXPECT_EQ(download<uint32_t>(output, 64), std::vector<uint32_t>(in.rbegin(), in.rend()));
}

/// A 20 x 100 matrix with a pitch of 112 elements, seen through boxes of 16 x 64 with 128-byte swizzle.
class TensorMaps : public SeamTest {
 protected:
  static constexpr int64_t kRows = 20, kColumns = 100, kPitch = 112, kBoxRows = 16, kBoxColumns = 64;

  void SetUp() override {
    SeamTest::SetUp();
    if (IsSkipped()) return;
    matrix_.resize(kRows * kPitch);
    for (size_t i = 0; i < matrix_.size(); ++i) matrix_[i] = static_cast<uint16_t>(i + 1);
    map_.type = layout::MapType::F16;
    map_.rank = 2;
    map_.globalAddress = upload(matrix_);
    map_.dims = {kColumns, kRows};
    map_.strides = {kPitch * 2};
    map_.box = {kBoxColumns, kBoxRows};
    map_.swizzle = layout::MapSwizzle::B128;
  }

  std::vector<uint16_t> matrix_;
  TiledMap map_;
};

TEST_F(TensorMaps, LoadsASwizzledBoxWithZeroFill) {
  TensorMap encoded;
  ASSERT_SUCCESS(device_->encodeTiled(map_, encoded));
  const Kernel* load = kernel("load_box");
  ASSERT_TRUE(load);
  constexpr uint32_t kBytes = kBoxRows * kBoxColumns * 2;
  struct Corner {
    int32_t x, y;
  };
  // The innermost coordinate must be a multiple of 16 bytes: anything else is an illegal instruction on an H200 (observed with
  // driver 580.159, with and without swizzle), whatever the other coordinates are.
  for (const Corner corner : {Corner{0, 0}, {-8, -3}, {40, 9}, {64, 5}, {8, 19}, {104, 0}, {0, -20}}) {
    const Address out = memory(kBytes);
    ASSERT_SUCCESS(device_->fill(out, 0xCD, kBytes, 0));
    const std::array<const void*, 5> arguments{&encoded, &out, &corner.x, &corner.y, &kBytes};
    ASSERT_SUCCESS(device_->launch(*load, grid(1, 64, kBytes + 1024), arguments, 0));
    const auto box = download<uint16_t>(out, kBytes / 2);
    for (int64_t row = 0; row < kBoxRows; ++row)
      for (int64_t column = 0; column < kBoxColumns; ++column) {
        const int64_t y = corner.y + row, x = corner.x + column;
        const bool inside = x >= 0 && x < kColumns && y >= 0 && y < kRows;
        // 128-byte swizzle: the 16-byte chunk number within a row of 128 bytes is XORed with the row number modulo 8.
        const int64_t chunk = (column / 8) ^ (row % 8);
        const uint16_t expected = inside ? matrix_[static_cast<size_t>(y * kPitch + x)] : uint16_t{0};
        ASSERT_EQ(box[static_cast<size_t>(row * 64 + chunk * 8 + column % 8)], expected)
            << "box at " << corner.x << "," << corner.y << " row " << row << " column " << column;
      }
  }
}

/// What a kernel has of its own, here 8 bytes of a vector of 16, is not for the launch to give.
TEST_F(TensorMaps, LeaveRoomForTheStaticMemoryOfTheirKernel) {
  TensorMap encoded;
  ASSERT_SUCCESS(device_->encodeTiled(map_, encoded));
  const Kernel* load = kernel("load_box");
  ASSERT_TRUE(load);
  constexpr uint32_t kBytes = kBoxRows * kBoxColumns * 2;
  const Address out = memory(kBytes);
  const int32_t corner = 0;
  const std::array<const void*, 5> arguments{&encoded, &out, &corner, &corner, &kBytes};
  const uint32_t most = device_->properties().sharedBytesPerBlock - 16;
  ASSERT_SUCCESS(device_->launch(*load, grid(1, 64, most), arguments, 0));
  EXPECT_FALSE(device_->launch(*load, grid(1, 64, most + 16), arguments, 0).ok());
}

TEST_F(TensorMaps, RefusalsNameTheArgument) {
  TensorMap encoded;
  const auto refused = [&](auto change, const char* word) {
    TiledMap wrong = map_;
    change(wrong);
    const Status status = device_->encodeTiled(wrong, encoded);
    EXPECT_EQ(status.code(), StatusCode::InvalidArgument);
    EXPECT_NE(status.message().find(word), std::string::npos) << status.message();
  };
  refused([](TiledMap& map) { map.globalAddress += 8; }, "ddress");
  refused([](TiledMap& map) { map.strides[0] = 225; }, "tride");
  refused([](TiledMap& map) { map.box[1] = 257; }, "ox");
  refused([](TiledMap& map) { map.box[0] = 72; }, "wizzle");
  refused([](TiledMap& map) { map.dims[1] = 0; }, "Dim");
  refused([](TiledMap& map) { map.rank = 6; }, "ank");
}

/// A 3x3 window over 2 images of 6x7 pixels of 16 f16 channels, padded by one.
Im2colMap pixelMap() {
  Im2colMap map;
  map.tensor.rank = 4;
  map.tensor.globalAddress = 1 << 20;
  map.tensor.dims = {16, 7, 6, 2};
  map.tensor.strides = {32, 7 * 32, 6 * 7 * 32};
  map.pixels = {.lowerCorner = {-1, -1}, .upperCorner = {-1, -1}, .channelsPerPixel = 16, .pixelsPerColumn = 32};
  return map;
}

TEST_F(SeamTest, EncodesIm2colMapsAndExplainsRefusals) {
  TensorMap encoded;
  ASSERT_SUCCESS(device_->encodeIm2col(pixelMap(), encoded));
  const auto refused = [&](auto change, const char* word) {
    Im2colMap wrong = pixelMap();
    change(wrong);
    const Status status = device_->encodeIm2col(wrong, encoded);
    EXPECT_EQ(status.code(), StatusCode::InvalidArgument);
    EXPECT_NE(status.message().find(word), std::string::npos) << status.message();
  };
  refused([](Im2colMap& map) { map.tensor.rank = 2; }, "ank");
  refused([](Im2colMap& map) { map.pixels.lowerCorner[0] = -129; }, "pixelBoxLowerCorner[0]");
  refused([](Im2colMap& map) { map.pixels.channelsPerPixel = 257; }, "channelsPerPixel");
  refused([](Im2colMap& map) { map.pixels.pixelsPerColumn = 1025; }, "pixelsPerColumn");
}

TEST_F(SeamTest, ProgrammaticDependentLaunchesKeepTheirResults) {
  constexpr uint32_t kCount = 64;
  const Kernel* affine = kernel("affine");
  ASSERT_TRUE(affine);
  const Address input = upload(std::vector<float>(kCount, 2.0f)), output = memory(kCount * sizeof(float));
  const float scale = 3;
  const std::array<const void*, 4> arguments{&input, &output, &scale, &kCount};
  LaunchConfig config = grid(2, 32, 0, 2);
  config.programmaticDependent = true;
  for (int i = 0; i < 2; ++i) ASSERT_SUCCESS(device_->launch(*affine, config, arguments, 0));
  const auto out = download<float>(output, kCount);
  for (uint32_t i = 0; i < kCount; ++i) ASSERT_EQ(out[i], 6 + static_cast<float>(i));
}

TEST_F(SeamTest, SaysWhichKernelIsMissing) {
  ASSERT_TRUE(kernel("affine"));
  const Kernel* none = nullptr;
  const Status status = device_->findKernel(*module_, "no_such_kernel", none);
  EXPECT_EQ(status.code(), StatusCode::NotFound);
  EXPECT_EQ(status.message(), "module " + std::string(image().name) + " has no kernel \"no_such_kernel\"");
  EXPECT_EQ(none, nullptr);
}

TEST_F(SeamTest, RefusesTextThatIsNoModule) {
  const Module* module = nullptr;
  const PtxImage nonsense{"sm_100a", "this is not PTX"};
  const Status status = device_->loadModule({"nonsense", {&nonsense, 1}, {}}, module);
  EXPECT_FALSE(status.ok());
  EXPECT_FALSE(status.message().empty());
  EXPECT_EQ(module, nullptr);
}

TEST_F(SeamTest, RefusesImpossibleLaunchesAndStaysUsable) {
  const Address out = memory(64);
  const Kernel* ranks = kernel("cluster_ranks");
  ASSERT_TRUE(ranks);
  const std::array<const void*, 1> arguments{&out};
  for (const LaunchConfig& impossible : {grid(1, 1025), grid(1, 32, 1u << 20), grid(3, 32, 0, 2), grid(0, 32)}) {
    const Status status = device_->launch(*ranks, impossible, arguments, 0);
    EXPECT_FALSE(status.ok());
    EXPECT_FALSE(status.message().empty());
  }
  ASSERT_SUCCESS(device_->launch(*ranks, grid(2, 32), arguments, 0));
  EXPECT_EQ(download<uint32_t>(out, 2), (std::vector<uint32_t>{0, 0}));
}

TEST_F(SeamTest, TakesLaunchesFromManyThreads) {
  constexpr uint32_t kCount = 64;
  constexpr size_t kThreads = 4;
  const Kernel* affine = kernel("affine");
  ASSERT_TRUE(affine);
  const Address input = upload(std::vector<float>(kCount, 1.0f));
  ASSERT_SUCCESS(device_->synchronize(0));  // which other streams do not wait for
  std::array<Address, kThreads> outputs{};
  for (Address& output : outputs) output = memory(kCount * sizeof(float));
  std::array<Status, kThreads> statuses;
  {
    std::vector<std::jthread> threads;
    for (size_t t = 0; t < kThreads; ++t)
      threads.emplace_back([&, t] {
        Stream stream = 0;
        statuses[t] = device_->createStream(stream);
        const auto scale = static_cast<float>(t);
        const std::array<const void*, 4> arguments{&input, &outputs[t], &scale, &kCount};
        for (int i = 0; i < 5 && statuses[t].ok(); ++i) statuses[t] = device_->launch(*affine, grid(2, 32), arguments, stream);
        if (statuses[t].ok()) statuses[t] = device_->synchronize(stream);
        if (statuses[t].ok()) statuses[t] = device_->destroyStream(stream);
      });
  }
  for (size_t t = 0; t < kThreads; ++t) {
    ASSERT_TRUE(statuses[t].ok()) << statuses[t].message();
    const auto out = download<float>(outputs[t], kCount);
    for (uint32_t i = 0; i < kCount; ++i) ASSERT_EQ(out[i], static_cast<float>(t) + static_cast<float>(i));
  }
}

}  // namespace
}  // namespace shiftconv::device::tests
