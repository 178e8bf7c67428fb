// The runtime API, call by call: memory of host and device, pools, boxes and arrays.
#include <cstring>
#include <functional>
#include <vector>

#include "tests/runtime/calls_fixture.hpp"

namespace shiftconv::tests {
namespace {

class MemoryCalls : public Calls {};

TEST_F(MemoryCalls, HostMemoryKeepsItsFlags) {
  void *host = nullptr, *plain = nullptr;
  unsigned flags = 7;
  EXPECT_DONE(cudaHostAlloc(&host, 100, cudaHostAllocMapped | cudaHostAllocPortable));
  EXPECT_DONE(cudaMallocHost(&plain, 100));
  EXPECT_DONE(cudaHostGetFlags(&flags, host));
  EXPECT_EQ(flags, unsigned{cudaHostAllocMapped | cudaHostAllocPortable});
  EXPECT_DONE(cudaHostGetFlags(&flags, static_cast<char*>(plain) + 99));
  EXPECT_EQ(flags, unsigned{cudaHostAllocDefault});
  auto* const device = allocated<char>(16);
  EXPECT_CODE(cudaHostGetFlags(&flags, device), cudaErrorInvalidValue);
  EXPECT_CODE(cudaHostGetFlags(&flags, static_cast<char*>(plain) + 100), cudaErrorInvalidValue);
  EXPECT_CODE(cudaHostAlloc(nullptr, 100, 0), cudaErrorInvalidValue);
  EXPECT_CODE(cudaMallocHost(static_cast<void**>(nullptr), 100), cudaErrorInvalidValue);
  EXPECT_CODE(cudaFreeHost(device), cudaErrorInvalidValue);
  EXPECT_CODE(cudaFree(host), cudaErrorInvalidValue);
  EXPECT_DONE(cudaFreeHost(host));
  EXPECT_DONE(cudaFreeHost(plain));
  EXPECT_DONE(cudaFreeHost(nullptr));
  EXPECT_DONE(cudaFree(device));
}

TEST_F(MemoryCalls, AdviceIsForMemoryOfTheDevice) {
  void* managed = nullptr;
  EXPECT_DONE(cudaMallocManaged(&managed, 64, cudaMemAttachGlobal));
  const cudaMemLocation here{cudaMemLocationTypeDevice, {0}};
  EXPECT_DONE(cudaMemAdvise(managed, 64, cudaMemAdviseSetReadMostly, here));
  EXPECT_DONE(cudaMemPrefetchAsync(managed, 64, here, 0, nullptr));
  EXPECT_DONE(cudaStreamAttachMemAsync(nullptr, managed, 0, cudaMemAttachGlobal));
  EXPECT_CODE(cudaMemAdvise(managed, 65, cudaMemAdviseSetReadMostly, here), cudaErrorInvalidValue);
  EXPECT_CODE(cudaMemPrefetchAsync(managed, 65, here, 0, nullptr), cudaErrorInvalidValue);
  const auto noStream = reinterpret_cast<cudaStream_t>(&nobody);
  EXPECT_CODE(cudaMemPrefetchAsync(managed, 64, here, 0, noStream), cudaErrorInvalidResourceHandle);
  EXPECT_CODE(cudaStreamAttachMemAsync(noStream, managed, 0, cudaMemAttachGlobal), cudaErrorInvalidResourceHandle);
  EXPECT_DONE(cudaFree(managed));
}

TEST_F(MemoryCalls, PoolsGiveMemoryAndKeepAttributes) {
  cudaMemPool_t pool = nullptr;
  cudaMemPoolProps properties{};
  EXPECT_DONE(cudaMemPoolCreate(&pool, &properties));
  void* memory = nullptr;
  EXPECT_DONE(cudaMallocFromPoolAsync(&memory, 64, pool, nullptr));
  EXPECT_DONE(cudaMemsetAsync(memory, 5, 64, nullptr));
  EXPECT_EQ(fromDevice<uint8_t>(memory, 64), std::vector<uint8_t>(64, 5));
  EXPECT_DONE(cudaFreeAsync(memory, nullptr));
  EXPECT_DONE(cudaFreeAsync(nullptr, nullptr));
  EXPECT_DONE(cudaMemPoolTrimTo(pool, 0));
  EXPECT_DONE(cudaMemPoolSetAccess(pool, nullptr, 0));
  const auto nobodys = reinterpret_cast<cudaMemPool_t>(&nobody);
  EXPECT_CODE(cudaMallocFromPoolAsync(&memory, 64, nobodys, nullptr), cudaErrorInvalidValue);
  EXPECT_CODE(cudaMallocFromPoolAsync(nullptr, 64, pool, nullptr), cudaErrorInvalidValue);
  EXPECT_CODE(cudaMallocAsync(static_cast<void**>(nullptr), 64, nullptr), cudaErrorInvalidValue);
  EXPECT_CODE(cuMemAllocAsync(nullptr, 64, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_CODE(cudaMemPoolTrimTo(nobodys, 0), cudaErrorInvalidValue);
  EXPECT_CODE(cudaMemPoolSetAccess(nobodys, nullptr, 0), cudaErrorInvalidValue);
  EXPECT_CODE(cudaMemPoolDestroy(nobodys), cudaErrorInvalidValue);
  EXPECT_CODE(cudaDeviceSetMemPool(0, nobodys), cudaErrorInvalidValue);
  EXPECT_CODE(cudaDeviceSetMemPool(1, pool), cudaErrorInvalidDevice);
  // Four bytes of an int, eight of a threshold, and not one more.
  for (const auto& [attribute, bytes, standard] : {std::tuple{cudaMemPoolReuseFollowEventDependencies, 4u, 1u},
                                                   {cudaMemPoolReuseAllowOpportunistic, 4u, 1u},
                                                   {cudaMemPoolReuseAllowInternalDependencies, 4u, 1u},
                                                   {cudaMemPoolAttrReleaseThreshold, 8u, 0u}}) {
    SCOPED_TRACE(attribute);
    uint64_t got[2] = {~uint64_t{0}, ~uint64_t{0}}, value = 0x0102030405060708;
    const uint64_t mask = bytes == 4 ? 0xffffffff : ~uint64_t{0};
    EXPECT_DONE(cudaMemPoolGetAttribute(pool, attribute, got));
    EXPECT_EQ(got[0], standard | ~mask);
    EXPECT_DONE(cudaMemPoolSetAttribute(pool, attribute, &value));
    EXPECT_DONE(cudaMemPoolGetAttribute(pool, attribute, got));
    EXPECT_EQ(got[0], (value & mask) | ~mask);
    EXPECT_EQ(got[1], ~uint64_t{0});
  }
  uint64_t value = 0;
  EXPECT_CODE(cudaMemPoolSetAttribute(pool, static_cast<cudaMemPoolAttr>(0), &value), cudaErrorInvalidValue);
  EXPECT_CODE(cudaMemPoolGetAttribute(pool, static_cast<cudaMemPoolAttr>(77), &value), cudaErrorInvalidValue);
  EXPECT_CODE(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, nullptr), cudaErrorInvalidValue);
  EXPECT_CODE(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReleaseThreshold, nullptr), cudaErrorInvalidValue);
  EXPECT_DONE(cudaMemPoolDestroy(pool));
}

/// Rows of 5 bytes, 7 and 11 apart, in two planes of 4 and 5 rows: the box from (2, 1, 0) on goes to (1, 2, 0). Each call in its
/// stream, from and to device memory.
TEST_F(MemoryCalls, BoxesAreCopiedAndFilledInStreams) {
  cudaStream_t stream = nullptr;
  EXPECT_DONE(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  std::vector<uint8_t> source(2 * 4 * 7);
  for (size_t i = 0; i < source.size(); ++i) source[i] = static_cast<uint8_t>(i + 1);
  auto* const from = allocated<uint8_t>(source.size());
  auto* const to = allocated<uint8_t>(2 * 5 * 11);
  EXPECT_DONE(cudaMemcpy(from, source.data(), source.size(), cudaMemcpyHostToDevice));
  const auto expected = [&](size_t planes, size_t rows) {
    std::vector<uint8_t> all(2 * 5 * 11, 0xEE);
    for (size_t z = 0; z < planes; ++z)
      for (size_t y = 0; y < rows; ++y)
        for (size_t x = 0; x < 5; ++x) all[(z * 5 + y + 2) * 11 + x + 1] = source[(z * 4 + y + 1) * 7 + x + 2];
    return all;
  };
  cudaMemcpy3DParms box{};
  box.srcPtr = {from, 7, 7, 4}, box.srcPos = {2, 1, 0};
  box.dstPtr = {to, 11, 11, 5}, box.dstPos = {1, 2, 0};
  box.extent = {5, 3, 2};
  box.kind = cudaMemcpyDeviceToDevice;
  cudaMemcpy3DPeerParms peer{};
  peer.srcPtr = box.srcPtr, peer.srcPos = box.srcPos, peer.dstPtr = box.dstPtr, peer.dstPos = box.dstPos, peer.extent = box.extent;
  const struct {
    const char* name;
    size_t planes, rows;
    std::function<cudaError_t()> copy;
  } copies[] = {{"3D", 2, 3, [&] { return cudaMemcpy3D(&box); }},
                {"3DAsync", 2, 3, [&] { return cudaMemcpy3DAsync(&box, stream); }},
                {"3DPeer", 2, 3, [&] { return cudaMemcpy3DPeer(&peer); }},
                {"2DAsync", 1, 3,
                 [&] { return cudaMemcpy2DAsync(to + 2 * 11 + 1, 11, from + 7 + 2, 7, 5, 3, cudaMemcpyDeviceToDevice, stream); }},
                {"PeerAsync", 1, 1, [&] { return cudaMemcpyPeerAsync(to + 2 * 11 + 1, 0, from + 7 + 2, 0, 5, stream); }},
                {"Peer", 1, 1, [&] { return cudaMemcpyPeer(to + 2 * 11 + 1, 0, from + 7 + 2, 0, 5); }}};
  for (const auto& [name, planes, rows, copy] : copies) {
    SCOPED_TRACE(name);
    EXPECT_DONE(cudaMemset(to, 0xEE, 2 * 5 * 11));
    EXPECT_DONE(copy());
    EXPECT_DONE(cudaStreamSynchronize(stream));
    EXPECT_EQ(fromDevice<uint8_t>(to, 2 * 5 * 11), expected(planes, rows));
  }
  EXPECT_CODE(cudaMemcpyPeer(to, 0, from, 1, 5), cudaErrorInvalidDevice);
  EXPECT_CODE(cudaMemcpyPeerAsync(to, 1, from, 0, 5, stream), cudaErrorInvalidDevice);
  cudaMemcpy3DParms narrow = box;
  narrow.srcPtr.pitch = 4, narrow.extent = {5, 1, 2};
  EXPECT_CODE(cudaMemcpy3D(&narrow), cudaErrorInvalidPitchValue) << "a second plane is further rows, too";
  narrow.extent = {5, 1, 1};
  EXPECT_DONE(cudaMemcpy3D(&narrow));
  for (int cudaMemcpy3DPeerParms::*const device : {&cudaMemcpy3DPeerParms::srcDevice, &cudaMemcpy3DPeerParms::dstDevice}) {
    cudaMemcpy3DPeerParms other = peer;
    other.*device = 1;
    EXPECT_CODE(cudaMemcpy3DPeer(&other), cudaErrorInvalidDevice);
  }
  EXPECT_CODE(cudaMemcpy3D(nullptr), cudaErrorInvalidValue);
  EXPECT_CODE(cudaMemcpy3DAsync(nullptr, stream), cudaErrorInvalidValue);
  EXPECT_CODE(cudaMemcpy3DPeer(nullptr), cudaErrorInvalidValue);
  const auto filled = [](size_t planes, size_t rows, size_t width, uint8_t value) {
    std::vector<uint8_t> all(2 * 5 * 11);
    for (size_t z = 0; z < planes; ++z)
      for (size_t y = 0; y < rows; ++y)
        for (size_t x = 0; x < width; ++x) all[(z * 5 + y) * 11 + x] = value;
    return all;
  };
  EXPECT_DONE(cudaMemset(to, 0, 2 * 5 * 11));
  EXPECT_DONE(cudaMemset2DAsync(to, 11, 0x117, 6, 4, stream));
  EXPECT_DONE(cudaStreamSynchronize(stream));
  EXPECT_EQ(fromDevice<uint8_t>(to, 2 * 5 * 11), filled(1, 4, 6, 0x17)) << "of the value the low byte";
  EXPECT_DONE(cudaMemset(to, 0, 2 * 5 * 11));
  EXPECT_DONE(cudaMemset3DAsync({to, 11, 11, 5}, 9, {4, 3, 2}, stream));
  EXPECT_DONE(cudaStreamSynchronize(stream));
  EXPECT_EQ(fromDevice<uint8_t>(to, 2 * 5 * 11), filled(2, 3, 4, 9));
  EXPECT_CODE(cudaMemset2DAsync(to, 5, 0, 6, 4, stream), cudaErrorInvalidPitchValue);
  EXPECT_DONE(cudaFree(from));
  EXPECT_DONE(cudaFree(to));
  EXPECT_DONE(cudaStreamDestroy(stream));
}

TEST_F(MemoryCalls, ArraysTakeRowsInStreams) {
  cudaArray_t array = nullptr;
  cudaChannelFormatDesc format = cudaCreateChannelDesc(16, 16, 0, 0, cudaChannelFormatKindUnsigned), got{};
  EXPECT_DONE(cudaMallocArray(&array, &format, 5, 4, 0));
  EXPECT_DONE(cudaGetChannelDesc(&got, array));
  EXPECT_EQ(std::memcmp(&got, &format, sizeof got), 0);
  std::vector<uint8_t> rows(3 * 13), whole(4 * 20), expected(4 * 20);
  for (size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<uint8_t>(i + 1);
  EXPECT_DONE(cudaMemcpy2DToArray(array, 0, 0, whole.data(), 20, 20, 4, cudaMemcpyHostToDevice));
  EXPECT_DONE(cudaMemcpy2DToArrayAsync(array, 8, 1, rows.data(), 13, 12, 3, cudaMemcpyHostToDevice, nullptr));
  EXPECT_DONE(cudaMemcpy2DFromArray(whole.data(), 20, array, 0, 0, 20, 4, cudaMemcpyDeviceToHost));
  for (size_t y = 0; y < 3; ++y)
    for (size_t x = 0; x < 12; ++x) expected[(y + 1) * 20 + 8 + x] = rows[y * 13 + x];
  EXPECT_EQ(whole, expected);
  EXPECT_CODE(cudaMemcpy2DToArrayAsync(array, 9, 1, rows.data(), 13, 12, 3, cudaMemcpyHostToDevice, nullptr),
              cudaErrorInvalidValue);
  EXPECT_CODE(cudaMemcpy2DToArrayAsync(array, 8, 2, rows.data(), 13, 12, 3, cudaMemcpyHostToDevice, nullptr),
              cudaErrorInvalidValue);
  EXPECT_CODE(cudaGetChannelDesc(nullptr, array), cudaErrorInvalidValue);
  EXPECT_DONE(cudaFreeArray(array));
  EXPECT_CODE(cudaGetChannelDesc(&got, array), cudaErrorInvalidResourceHandle);
  // What an array cannot be made of.
  const auto refused = [&](cudaChannelFormatDesc wrong, cudaExtent extent, cudaError_t code) {
    EXPECT_CODE(cudaMalloc3DArray(&array, &wrong, extent, 0), code);
  };
  refused({16, 16, 16, 0, cudaChannelFormatKindUnsigned}, {5, 4, 0}, cudaErrorInvalidChannelDescriptor);
  refused({16, 0, 16, 0, cudaChannelFormatKindUnsigned}, {5, 4, 0}, cudaErrorInvalidChannelDescriptor);
  refused({16, 8, 0, 0, cudaChannelFormatKindUnsigned}, {5, 4, 0}, cudaErrorInvalidChannelDescriptor);
  refused({12, 0, 0, 0, cudaChannelFormatKindUnsigned}, {5, 4, 0}, cudaErrorInvalidChannelDescriptor);
  refused({16, 0, 0, 0, cudaChannelFormatKindNone}, {5, 4, 0}, cudaErrorNotSupported);
  refused(format, {0, 4, 0}, cudaErrorInvalidValue);
  refused(format, {5, 0, 2}, cudaErrorInvalidValue);
  EXPECT_CODE(cudaMallocArray(nullptr, &format, 5, 4, 0), cudaErrorInvalidValue);
  EXPECT_CODE(cudaMallocArray(&array, nullptr, 5, 4, 0), cudaErrorInvalidValue);
}

}  // namespace
}  // namespace shiftconv::tests
