// The driver API's memory, copies and tensor maps, call by call: what each leaves, and what it says to arguments that are wrong.
#include <functional>

#include "tests/runtime/calls_fixture.hpp"

namespace shiftconv::tests {
namespace {

class DriverMemory : public Calls {
 protected:
  static CUdeviceptr addressOf(const void* pointer) { return reinterpret_cast<CUdeviceptr>(pointer); }
};

TEST_F(DriverMemory, MemoryOfEveryKindSaysWhatItIs) {
  CUdeviceptr device = 0, managed = 0, pitched = 0;
  void *pinned = nullptr, *mapped = nullptr;
  size_t pitch = 0;
  EXPECT_DONE(cuMemAlloc(&device, 1000));
  EXPECT_DONE(cuMemAllocManaged(&managed, 1001, CU_MEM_ATTACH_GLOBAL));
  EXPECT_DONE(cuMemAllocHost(&pinned, 1002));
  EXPECT_DONE(cuMemHostAlloc(&mapped, 1003, CU_MEMHOSTALLOC_DEVICEMAP));
  EXPECT_DONE(cuMemAllocPitch(&pitched, &pitch, 513, 3, 4));
  EXPECT_EQ(pitch, 1024u);
  unsigned flags = 7;
  EXPECT_DONE(cudaHostGetFlags(&flags, mapped));
  EXPECT_EQ(flags, unsigned{CU_MEMHOSTALLOC_DEVICEMAP});
  EXPECT_DONE(cudaHostGetFlags(&flags, pinned));
  EXPECT_EQ(flags, 0u);
  const struct {
    CUdeviceptr address;
    size_t bytes;
    unsigned type;
    bool isManaged, hasHostAddress;
  } all[] = {{device, 1000, CU_MEMORYTYPE_DEVICE, false, false},
             {managed, 1001, CU_MEMORYTYPE_DEVICE, true, true},
             {addressOf(pinned), 1002, CU_MEMORYTYPE_HOST, false, true},
             {addressOf(mapped), 1003, CU_MEMORYTYPE_HOST, false, true},
             {pitched, 3 * 1024, CU_MEMORYTYPE_DEVICE, false, false}};
  for (const auto& [address, bytes, type, isManaged, hasHostAddress] : all) {
    SCOPED_TRACE(bytes);
    CUdeviceptr base = 0;
    size_t size = 0;
    const CUdeviceptr inside = address + bytes - 1;
    EXPECT_DONE(cuMemGetAddressRange(&base, nullptr, inside));
    EXPECT_DONE(cuMemGetAddressRange(nullptr, &size, inside));
    EXPECT_EQ(base, address);
    EXPECT_EQ(size, bytes);
    EXPECT_CODE(cuMemGetAddressRange(&base, &size, address + bytes), CUDA_ERROR_INVALID_VALUE);
    unsigned got = 0;
    CUdeviceptr devicePointer = 0, hostPointer = 0, start = 0;
    size_t range = 0;
    int ordinal = 7;
    bool gotManaged = !isManaged, gotMapped = false, synchronous = true;
    CUpointer_attribute attributes[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE,      CU_POINTER_ATTRIBUTE_DEVICE_POINTER,
                                        CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, CU_POINTER_ATTRIBUTE_RANGE_SIZE,
                                        CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,   CU_POINTER_ATTRIBUTE_IS_MANAGED,
                                        CU_POINTER_ATTRIBUTE_MAPPED,           CU_POINTER_ATTRIBUTE_SYNC_MEMOPS};
    void* data[] = {&got, &devicePointer, &start, &range, &ordinal, &gotManaged, &gotMapped, &synchronous};
    EXPECT_DONE(cuPointerGetAttributes(std::size(data), attributes, data, inside));
    EXPECT_EQ(got, type);
    EXPECT_EQ(devicePointer, inside);
    EXPECT_EQ(start, address);
    EXPECT_EQ(range, bytes);
    EXPECT_EQ(ordinal, 0);
    EXPECT_EQ(gotManaged, isManaged);
    EXPECT_TRUE(gotMapped);
    EXPECT_FALSE(synchronous);
    EXPECT_CODE(cuPointerGetAttribute(&hostPointer, CU_POINTER_ATTRIBUTE_HOST_POINTER, inside),
                hasHostAddress ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(hostPointer, hasHostAddress ? inside : 0);
  }
  unsigned type = 0;
  EXPECT_CODE(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, addressOf(&nobody)), CUDA_ERROR_INVALID_VALUE);
  EXPECT_CODE(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_CONTEXT, device), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_CODE(cuPointerGetAttribute(&type, static_cast<CUpointer_attribute>(77), device), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_CODE(cuPointerGetAttribute(nullptr, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, device), CUDA_ERROR_INVALID_VALUE);
  CUpointer_attribute one[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE};
  void* nowhere[] = {nullptr};
  EXPECT_CODE(cuPointerGetAttributes(1, one, nowhere, device), CUDA_ERROR_INVALID_VALUE);
  EXPECT_CODE(cuPointerGetAttributes(1, one, nullptr, device), CUDA_ERROR_INVALID_VALUE);
  EXPECT_CODE(cuPointerGetAttributes(1, nullptr, nowhere, device), CUDA_ERROR_INVALID_VALUE);
  EXPECT_DONE(cuPointerGetAttributes(0, nullptr, nullptr, device));
  // Each kind is freed by its own call.
  EXPECT_CODE(cuMemFreeHost(reinterpret_cast<void*>(device)), CUDA_ERROR_INVALID_VALUE);
  EXPECT_CODE(cuMemFree(addressOf(pinned)), CUDA_ERROR_INVALID_VALUE);
  EXPECT_CODE(cuMemFree(device + 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_DONE(cuMemFreeHost(pinned));
  EXPECT_DONE(cuMemFreeHost(mapped));
  for (const CUdeviceptr memory : {device, managed, pitched}) {
    EXPECT_DONE(cuMemFree(memory));
    EXPECT_CODE(cuMemFree(memory), CUDA_ERROR_INVALID_VALUE);
  }
  EXPECT_CODE(cuMemAlloc(&device, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_CODE(cuMemAllocPitch(&device, nullptr, 16, 2, 4), CUDA_ERROR_INVALID_VALUE);
  EXPECT_CODE(cuMemAllocManaged(nullptr, 16, CU_MEM_ATTACH_GLOBAL), CUDA_ERROR_INVALID_VALUE);
  EXPECT_CODE(cuMemAllocHost(nullptr, 16), CUDA_ERROR_INVALID_VALUE);
  EXPECT_CODE(cuMemHostAlloc(nullptr, 16, 0), CUDA_ERROR_INVALID_VALUE);
}

/// cuda.h of cuPointerGetAttributes: where the address is none of the device's, attributes get "default NULL values" and the call
/// succeeds. Callers ask so what they were given.
TEST_F(DriverMemory, ListsOfAttributesAreZeroForWhatAnAddressLacks) {
  CUdeviceptr device = 0;
  EXPECT_DONE(cuMemAlloc(&device, 100));
  for (const CUdeviceptr address : {addressOf(&nobody), device, CUdeviceptr{0}}) {
    SCOPED_TRACE(address == device ? "device memory" : "an unknown address");
    const bool isDevice = address == device;
    constexpr uint64_t kPoison = 0xa5a5a5a5a5a5a5a5;
    struct {
      CUpointer_attribute attribute;
      size_t bytes;
      uint64_t expected, got = kPoison;
    } all[] = {{CU_POINTER_ATTRIBUTE_MEMORY_TYPE, 4, isDevice ? uint64_t{CU_MEMORYTYPE_DEVICE} : 0},
               {CU_POINTER_ATTRIBUTE_DEVICE_POINTER, 8, isDevice ? device : 0},
               {CU_POINTER_ATTRIBUTE_HOST_POINTER, 8, 0},
               {CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, 1, 0},
               {CU_POINTER_ATTRIBUTE_IS_MANAGED, 1, 0},
               {CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, 4, 0},
               {CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, 8, isDevice ? device : 0},
               {CU_POINTER_ATTRIBUTE_RANGE_SIZE, 8, isDevice ? uint64_t{100} : 0},
               {CU_POINTER_ATTRIBUTE_MAPPED, 1, isDevice ? uint64_t{1} : 0}};
    std::vector<CUpointer_attribute> attributes;
    std::vector<void*> data;
    for (auto& one : all) attributes.push_back(one.attribute), data.push_back(&one.got);
    EXPECT_DONE(cuPointerGetAttributes(static_cast<unsigned>(data.size()), attributes.data(), data.data(), address));
    for (const auto& one : all) {
      SCOPED_TRACE(one.attribute);
      const uint64_t mask = one.bytes == 8 ? ~uint64_t{0} : (uint64_t{1} << 8 * one.bytes) - 1;
      EXPECT_EQ(one.got & mask, one.expected);
      EXPECT_EQ(one.got & ~mask, kPoison & ~mask) << "behind the value";
    }
  }
  CUpointer_attribute context[] = {CU_POINTER_ATTRIBUTE_CONTEXT};
  void* data[] = {&device};
  EXPECT_CODE(cuPointerGetAttributes(1, context, data, addressOf(&nobody)), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_DONE(cuMemFree(device));
}

TEST_F(DriverMemory, MemoryOfStreamsIsFreedInStreams) {
  size_t before = 0, during = 0, after = 0, total = 0;
  CUdeviceptr memory = 0;
  EXPECT_DONE(cuMemGetInfo(&before, &total));
  EXPECT_DONE(cuMemAllocAsync(&memory, 1 << 16, nullptr));
  EXPECT_DONE(cuMemGetInfo(&during, &total));
  EXPECT_EQ(during, before - (1 << 16));
  EXPECT_CODE(cuMemFreeAsync(memory + 4, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_DONE(cuMemFreeAsync(memory, nullptr));
  EXPECT_DONE(cuMemGetInfo(&after, &total));
  EXPECT_EQ(after, before);
  EXPECT_CODE(cuMemFreeAsync(memory, nullptr), CUDA_ERROR_INVALID_VALUE);
}

/// Rows of 5 bytes, 7 and 11 apart, from the third byte of the second row to the second byte of the fourth.
TEST_F(DriverMemory, RowsAreCopiedBetweenAllKindsOfMemory) {
  std::vector<uint8_t> source(7 * 6), target(11 * 8, 0xEE), expected(11 * 8, 0xEE);
  for (size_t i = 0; i < source.size(); ++i) source[i] = static_cast<uint8_t>(i + 1);
  for (size_t y = 0; y < 3; ++y)
    for (size_t x = 0; x < 5; ++x) expected[(y + 3) * 11 + x + 1] = source[(y + 1) * 7 + x + 2];
  auto* const deviceSource = allocated<uint8_t>(source.size());
  auto* const deviceTarget = allocated<uint8_t>(target.size(), 0xEE);
  EXPECT_DONE(cudaMemcpy(deviceSource, source.data(), source.size(), cudaMemcpyHostToDevice));
  for (const bool fromDevice : {false, true})
    for (const bool toDevice : {false, true})
      for (const bool asynchronous : {false, true}) {
        SCOPED_TRACE(testing::Message() << fromDevice << toDevice << asynchronous);
        std::fill(target.begin(), target.end(), uint8_t{0xEE});
        EXPECT_DONE(cudaMemset(deviceTarget, 0xEE, target.size()));
        CUDA_MEMCPY2D copy{};
        copy.srcMemoryType = fromDevice ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST;
        copy.srcHost = source.data(), copy.srcDevice = addressOf(deviceSource);
        copy.srcPitch = 7, copy.srcXInBytes = 2, copy.srcY = 1;
        copy.dstMemoryType = toDevice ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST;
        copy.dstHost = target.data(), copy.dstDevice = addressOf(deviceTarget);
        copy.dstPitch = 11, copy.dstXInBytes = 1, copy.dstY = 3;
        copy.WidthInBytes = 5, copy.Height = 3;
        EXPECT_DONE(asynchronous ? cuMemcpy2DAsync(&copy, nullptr) : cuMemcpy2D(&copy));
        EXPECT_DONE(cuCtxSynchronize());
        EXPECT_EQ(toDevice ? this->fromDevice<uint8_t>(deviceTarget, target.size()) : target, expected);
        copy.srcPitch = 4;
        EXPECT_CODE(cuMemcpy2D(&copy), CUDA_ERROR_INVALID_VALUE);
      }
  // A pitch matters where there is a second row.
  for (const auto& [width, height, code] : {std::tuple{7u, 2u, CUDA_SUCCESS},
                                            {8u, 2u, CUDA_ERROR_INVALID_VALUE},
                                            {8u, 1u, CUDA_SUCCESS},
                                            {8u, 0u, CUDA_SUCCESS},
                                            {0u, 2u, CUDA_SUCCESS}})
    for (const bool source7 : {false, true}) {
      SCOPED_TRACE(testing::Message() << width << " " << height << source7);
      CUDA_MEMCPY2D copy{};
      copy.srcMemoryType = copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
      copy.srcDevice = addressOf(deviceSource), copy.dstDevice = addressOf(deviceTarget);
      copy.srcPitch = source7 ? 7 : 20, copy.dstPitch = source7 ? 20 : 7;
      copy.WidthInBytes = width, copy.Height = height;
      EXPECT_CODE(cuMemcpy2D(&copy), code);
    }
  CUDA_MEMCPY2D array{};
  array.srcMemoryType = CU_MEMORYTYPE_ARRAY, array.dstMemoryType = CU_MEMORYTYPE_HOST;
  EXPECT_CODE(cuMemcpy2D(&array), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_CODE(cuMemcpy2D(nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_DONE(cudaFree(deviceSource));
  EXPECT_DONE(cudaFree(deviceTarget));
}

TEST_F(DriverMemory, CopiesAndFillsOfEveryKind) {
  CUstream stream = nullptr;
  EXPECT_DONE(cuStreamCreate(&stream, CU_STREAM_DEFAULT));
  auto* const a = allocated<uint8_t>(64);
  auto* const b = allocated<uint8_t>(64);
  std::vector<uint8_t> host(64), got(64);
  for (size_t i = 0; i < host.size(); ++i) host[i] = static_cast<uint8_t>(3 * i + 1);
  const CUdeviceptr to = addressOf(a), from = addressOf(b);
  const struct {
    const char* name;
    std::function<void()> copy;
  } copies[] = {{"HtoD", [&] { EXPECT_DONE(cuMemcpyHtoD(to + 5, host.data(), 17)); }},
                {"HtoDAsync", [&] { EXPECT_DONE(cuMemcpyHtoDAsync(to + 5, host.data(), 17, stream)); }},
                {"DtoD", [&] { EXPECT_DONE(cuMemcpyDtoD(to + 5, from, 17)); }},
                {"DtoDAsync", [&] { EXPECT_DONE(cuMemcpyDtoDAsync(to + 5, from, 17, stream)); }},
                {"any", [&] { EXPECT_DONE(cuMemcpy(to + 5, from, 17)); }},
                {"anyAsync", [&] { EXPECT_DONE(cuMemcpyAsync(to + 5, from, 17, stream)); }}};
  EXPECT_DONE(cudaMemcpy(b, host.data(), 64, cudaMemcpyHostToDevice));
  for (const auto& [name, copy] : copies) {
    SCOPED_TRACE(name);
    EXPECT_DONE(cudaMemset(a, 0, 64));
    copy();
    EXPECT_DONE(cuStreamSynchronize(stream));
    std::vector<uint8_t> expected(64);
    std::copy_n(host.begin(), 17, expected.begin() + 5);
    EXPECT_EQ(fromDevice<uint8_t>(a, 64), expected);
  }
  EXPECT_DONE(cuMemcpyDtoH(got.data() + 2, from + 3, 9));
  EXPECT_TRUE(got[1] == 0 && std::equal(host.begin() + 3, host.begin() + 12, got.begin() + 2) && got[11] == 0);
  std::fill(got.begin(), got.end(), uint8_t{0});
  EXPECT_DONE(cuMemcpyDtoHAsync(got.data() + 2, from + 3, 9, stream));
  EXPECT_DONE(cuStreamSynchronize(stream));
  EXPECT_TRUE(got[1] == 0 && std::equal(host.begin() + 3, host.begin() + 12, got.begin() + 2) && got[11] == 0);
  EXPECT_CODE(cuMemcpyHtoD(to + 60, host.data(), 5), CUDA_ERROR_INVALID_VALUE);
  EXPECT_CODE(cuMemcpyDtoD(to, addressOf(host.data()), 5), CUDA_ERROR_INVALID_VALUE);
  const struct {
    size_t bytes, count;
    uint32_t value;
    std::function<CUresult(bool)> fill;
  } fills[] = {
      {1, 13, 0xAB, [&](bool wait) { return wait ? cuMemsetD8(to + 8, 0xAB, 13) : cuMemsetD8Async(to + 8, 0xAB, 13, stream); }},
      {2, 7, 0xABCD,
       [&](bool wait) { return wait ? cuMemsetD16(to + 8, 0xABCD, 7) : cuMemsetD16Async(to + 8, 0xABCD, 7, stream); }},
      {4, 5, 0xABCDEF12,
       [&](bool wait) { return wait ? cuMemsetD32(to + 8, 0xABCDEF12, 5) : cuMemsetD32Async(to + 8, 0xABCDEF12, 5, stream); }}};
  for (const auto& [bytes, count, value, fill] : fills)
    for (const bool wait : {false, true}) {
      SCOPED_TRACE(testing::Message() << bytes << " bytes, " << wait);
      EXPECT_DONE(cudaMemset(a, 0, 64));
      EXPECT_DONE(fill(wait));
      EXPECT_DONE(cuStreamSynchronize(stream));
      std::vector<uint8_t> expected(64);
      for (size_t i = 0; i < count; ++i) std::memcpy(&expected[8 + i * bytes], &value, bytes);
      EXPECT_EQ(fromDevice<uint8_t>(a, 64), expected);
    }
  EXPECT_CODE(cuMemsetD16(to + 1, 1, 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_CODE(cuMemsetD32(to + 2, 1, 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_CODE(cuMemsetD8(to + 60, 1, 5), CUDA_ERROR_INVALID_VALUE);
  EXPECT_DONE(cuStreamDestroy(stream));
  EXPECT_DONE(cudaFree(a));
  EXPECT_DONE(cudaFree(b));
}

/// A map whose address is replaced is the one that is made with that address.
TEST_F(DriverMemory, TensorMapsTakeAnotherAddress) {
  auto* const memory = allocated<std::byte>(1 << 16);
  const cuuint64_t dims[] = {64, 9, 7, 2}, strides[] = {128, 9 * 128, 7 * 9 * 128};
  const cuuint32_t steps[] = {1, 1, 1, 1}, box[] = {64, 4, 2, 1};
  const int lower[] = {-1, -2}, upper[] = {1, 0};
  const auto im2col = [&](CUtensorMap* map, cuuint32_t rank, const int* low, const int* up, void* address) {
    return cuTensorMapEncodeIm2col(map, CU_TENSOR_MAP_DATA_TYPE_FLOAT16, rank, address, dims, strides, low, up, 64, 32, steps,
                                   CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_NONE,
                                   CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  };
  const auto tiled = [&](CUtensorMap* map, const cuuint32_t* extent, const cuuint64_t* sizes, void* address) {
    return cuTensorMapEncodeTiled(map, CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 4, address, sizes, strides, extent, steps,
                                  CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_NONE,
                                  CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  };
  alignas(64) CUtensorMap first, second, broken{};
  for (const bool isIm2col : {false, true}) {
    SCOPED_TRACE(isIm2col);
    EXPECT_DONE(isIm2col ? im2col(&first, 4, lower, upper, memory) : tiled(&first, box, dims, memory));
    EXPECT_DONE(isIm2col ? im2col(&second, 4, lower, upper, memory + 4096) : tiled(&second, box, dims, memory + 4096));
    EXPECT_NE(std::memcmp(&first, &second, sizeof first), 0);
    EXPECT_DONE(cuTensorMapReplaceAddress(&first, memory + 4096));
    EXPECT_EQ(std::memcmp(&first, &second, sizeof first), 0);
    EXPECT_CODE(cuTensorMapReplaceAddress(&first, memory + 8), CUDA_ERROR_INVALID_VALUE) << "not a multiple of 16";
  }
  EXPECT_CODE(im2col(&first, 2, lower, upper, memory), CUDA_ERROR_INVALID_VALUE) << "rank";
  EXPECT_DONE(im2col(&first, 3, lower, upper, memory));
  EXPECT_CODE(im2col(&first, 4, nullptr, upper, memory), CUDA_ERROR_INVALID_VALUE);
  EXPECT_CODE(im2col(&first, 4, lower, nullptr, memory), CUDA_ERROR_INVALID_VALUE);
  EXPECT_CODE(im2col(nullptr, 4, lower, upper, memory), CUDA_ERROR_INVALID_VALUE);
  EXPECT_CODE(tiled(&first, nullptr, dims, memory), CUDA_ERROR_INVALID_VALUE);
  EXPECT_CODE(tiled(&first, box, nullptr, memory), CUDA_ERROR_INVALID_VALUE);
  auto* const crooked = reinterpret_cast<CUtensorMap*>(reinterpret_cast<char*>(nobody.data()) + 8);
  EXPECT_CODE(tiled(crooked, box, dims, memory), CUDA_ERROR_INVALID_VALUE) << "not aligned to 64 bytes";
  EXPECT_CODE(cuTensorMapReplaceAddress(nullptr, memory), CUDA_ERROR_INVALID_VALUE);
  EXPECT_CODE(cuTensorMapReplaceAddress(&broken, memory), CUDA_ERROR_INVALID_VALUE);
  EXPECT_DONE(cudaFree(memory));
}

/// Ranks 1 to 5, of which the first has no strides; every argument that a rank needs, and numbers that name nothing.
TEST_F(DriverMemory, TensorMapsHaveOneToFiveDimensions) {
  auto* const memory = allocated<std::byte>(1 << 16);
  const cuuint64_t dims[] = {64, 3, 4, 2, 5, 6}, strides[] = {128, 384, 1536, 3072, 15360};
  const cuuint32_t steps[] = {1, 1, 1, 1, 1, 1}, box[] = {64, 2, 3, 1, 2, 1};
  alignas(64) CUtensorMap map;
  struct Numbers {
    int type = CU_TENSOR_MAP_DATA_TYPE_FLOAT16, interleave = 0, swizzle = 0, promotion = 0, fill = 0;
  };
  const auto encoded = [&](cuuint32_t rank, const cuuint64_t* pitches, const cuuint32_t* elementSteps, const Numbers& numbers) {
    return cuTensorMapEncodeTiled(
        &map, static_cast<CUtensorMapDataType>(numbers.type), rank, memory, dims, pitches, box, elementSteps,
        static_cast<CUtensorMapInterleave>(numbers.interleave), static_cast<CUtensorMapSwizzle>(numbers.swizzle),
        static_cast<CUtensorMapL2promotion>(numbers.promotion), static_cast<CUtensorMapFloatOOBfill>(numbers.fill));
  };
  for (const cuuint32_t rank : {1u, 2u, 3u, 4u, 5u}) {
    EXPECT_DONE(encoded(rank, strides, steps, {})) << rank;
    EXPECT_CODE(encoded(rank, nullptr, steps, {}), rank == 1 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE) << rank;
    EXPECT_CODE(encoded(rank, strides, nullptr, {}), CUDA_ERROR_INVALID_VALUE) << rank;
  }
  for (const cuuint32_t rank : {0u, 6u}) EXPECT_CODE(encoded(rank, strides, steps, {}), CUDA_ERROR_INVALID_VALUE) << rank;
  for (int Numbers::*const one : {&Numbers::type, &Numbers::interleave, &Numbers::swizzle, &Numbers::promotion, &Numbers::fill})
    for (const int none : {-1, 77}) {
      Numbers numbers;
      numbers.*one = none;
      EXPECT_CODE(encoded(2, strides, steps, numbers), CUDA_ERROR_INVALID_VALUE) << none;
    }
  EXPECT_DONE(cudaFree(memory));
}

}  // namespace
}  // namespace shiftconv::tests
