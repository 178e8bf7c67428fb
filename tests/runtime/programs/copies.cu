// Memory of every kind, and copies and fills of every shape.
#include "tests/runtime/programs/check.hpp"

__global__ void increment(int* values, int count) {
  const int i = static_cast<int>(threadIdx.x);
  if (i < count) values[i] += 1;
}

std::vector<unsigned char> bytes(size_t count, unsigned salt) {
  program::Random random(salt);
  std::vector<unsigned char> values(count);
  for (unsigned char& value : values) value = static_cast<unsigned char>(random());
  return values;
}

void pitched() {
  constexpr size_t kWidth = 37, kHeight = 5, kHostPitch = 41;
  const std::vector<unsigned char> source = bytes(kHostPitch * kHeight, 1);
  unsigned char* image = nullptr;
  size_t pitch = 0;
  CHECK(cudaMallocPitch(&image, &pitch, kWidth, kHeight));
  EXPECT(pitch >= kWidth && pitch % 32 == 0);
  CHECK(cudaMemset2D(image, pitch, 0xee, pitch, kHeight));
  CHECK(cudaMemcpy2D(image, pitch, source.data(), kHostPitch, kWidth, kHeight, cudaMemcpyHostToDevice));
  std::vector<unsigned char> expected(pitch * kHeight, 0xee);
  for (size_t y = 0; y < kHeight; ++y) std::memcpy(&expected[y * pitch], &source[y * kHostPitch], kWidth);
  EXPECT_SAME(program::fromDevice(image, expected.size()), expected);
  EXPECT_CODE(cudaMemcpy2D(image, kWidth - 1, source.data(), kHostPitch, kWidth, kHeight, cudaMemcpyHostToDevice),
              cudaErrorInvalidPitchValue);
}

void volumes() {
  constexpr size_t kX = 11, kY = 3, kZ = 4;
  std::vector<unsigned char> source = bytes(kX * kY * kZ, 2);
  cudaPitchedPtr volume{};
  CHECK(cudaMalloc3D(&volume, make_cudaExtent(kX, kY, kZ)));
  CHECK(cudaMemset3D(volume, 0x11, make_cudaExtent(volume.pitch, kY, kZ)));
  cudaMemcpy3DParms copy{};
  copy.srcPtr = make_cudaPitchedPtr(source.data(), kX, kX, kY);
  copy.dstPtr = volume;
  copy.dstPos = make_cudaPos(1, 0, 1);
  copy.extent = make_cudaExtent(kX - 1, kY, kZ - 1);
  copy.kind = cudaMemcpyHostToDevice;
  CHECK(cudaMemcpy3D(&copy));
  std::vector<unsigned char> expected(volume.pitch * kY * kZ, 0x11);
  for (size_t z = 0; z + 1 < kZ; ++z)
    for (size_t y = 0; y < kY; ++y)
      std::memcpy(&expected[((z + 1) * kY + y) * volume.pitch + 1], &source[(z * kY + y) * kX], kX - 1);
  EXPECT_SAME(program::fromDevice(static_cast<unsigned char*>(volume.ptr), expected.size()), expected);
}

/// Rows that lie end to end in planes that do not.
void planes() {
  constexpr size_t kX = 8, kY = 3, kZ = 3, kHeight = 5;  // 3 of 5 rows of each plane
  const std::vector<unsigned char> source = bytes(kX * kHeight * kZ, 4);
  std::vector<unsigned char> expected(kX * kY * kZ);
  unsigned char* packed = program::onDevice(std::vector<unsigned char>(expected.size(), 0xdd));
  cudaMemcpy3DParms copy{};
  copy.srcPtr = make_cudaPitchedPtr(const_cast<unsigned char*>(source.data()), kX, kX, kHeight);
  copy.dstPtr = make_cudaPitchedPtr(packed, kX, kX, kY);
  copy.extent = make_cudaExtent(kX, kY, kZ);
  copy.kind = cudaMemcpyHostToDevice;
  CHECK(cudaMemcpy3D(&copy));
  for (size_t z = 0; z < kZ; ++z) std::memcpy(&expected[z * kX * kY], &source[z * kX * kHeight], kX * kY);
  EXPECT_SAME(program::fromDevice(packed, expected.size()), expected);
  // The other way round.
  unsigned char* spread = program::onDevice(std::vector<unsigned char>(source.size(), 0xdd));
  copy.srcPtr = copy.dstPtr;
  copy.dstPtr = make_cudaPitchedPtr(spread, kX, kX, kHeight);
  copy.kind = cudaMemcpyDeviceToDevice;
  CHECK(cudaMemcpy3D(&copy));
  std::vector<unsigned char> scattered(source.size(), 0xdd);
  for (size_t z = 0; z < kZ; ++z) std::memcpy(&scattered[z * kX * kHeight], &source[z * kX * kHeight], kX * kY);
  EXPECT_SAME(program::fromDevice(spread, scattered.size()), scattered);
}

void hostMemory() {
  constexpr int kCount = 64;
  int *pinned = nullptr, *managed = nullptr;
  std::vector<int> registered(kCount);
  CHECK(cudaMallocHost(&pinned, kCount * sizeof(int)));
  CHECK(cudaMallocManaged(&managed, kCount * sizeof(int)));
  CHECK(cudaHostRegister(registered.data(), kCount * sizeof(int), cudaHostRegisterMapped));
  EXPECT_CODE(cudaHostRegister(registered.data() + 1, sizeof(int), 0), cudaErrorHostMemoryAlreadyRegistered);
  for (int* memory : {pinned, managed, registered.data()}) {
    for (int i = 0; i < kCount; ++i) memory[i] = i;
    int* device = memory;
    if (memory != managed) CHECK(cudaHostGetDevicePointer(&device, memory, 0));
    increment<<<1, kCount>>>(device, kCount - 1);
    CHECK(cudaDeviceSynchronize());
    for (int i = 0; i < kCount; ++i) EXPECT(memory[i] == i + (i < kCount - 1));
    cudaPointerAttributes facts{};
    CHECK(cudaPointerGetAttributes(&facts, memory + 3));
    EXPECT(facts.type == (memory == managed ? cudaMemoryTypeManaged : cudaMemoryTypeHost));
  }
  CHECK(cudaHostUnregister(registered.data()));
  EXPECT_CODE(cudaHostUnregister(registered.data()), cudaErrorHostMemoryNotRegistered);
  cudaPointerAttributes facts{};
  CHECK(cudaPointerGetAttributes(&facts, registered.data()));
  EXPECT(facts.type == cudaMemoryTypeUnregistered);
  CHECK(cudaFreeHost(pinned));
  CHECK(cudaFree(managed));
}

void pools() {
  cudaMemPool_t pool = nullptr;
  CHECK(cudaDeviceGetDefaultMemPool(&pool, 0));
  unsigned long long threshold = 1 << 20, used = 0;
  CHECK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold));
  cudaStream_t stream = nullptr;
  CHECK(cudaStreamCreate(&stream));
  unsigned char* memory = nullptr;
  CHECK(cudaMallocAsync(&memory, 100, stream));
  CHECK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &used));
  EXPECT(used >= 100);
  CHECK(cudaMemsetAsync(memory, 0x5a, 100, stream));
  std::vector<unsigned char> got(100);
  CHECK(cudaMemcpyAsync(got.data(), memory, 100, cudaMemcpyDeviceToHost, stream));
  CHECK(cudaFreeAsync(memory, stream));
  CHECK(cudaStreamSynchronize(stream));
  EXPECT_SAME(got, std::vector<unsigned char>(100, 0x5a));
  EXPECT_CODE(cudaMemset(memory, 0, 1), cudaErrorInvalidValue);  // it is gone
}

int main() {
  const std::vector<unsigned char> source = bytes(1000, 3);
  unsigned char *first = program::onDevice(source), *second = nullptr;
  CHECK(cudaMalloc(&second, 1000));
  CHECK(cudaMemcpy(second, first, 1000, cudaMemcpyDeviceToDevice));
  EXPECT_SAME(program::fromDevice(second, 1000), source);
  CHECK(cudaMemset(second, 0, 1000));
  CHECK(cudaMemcpyPeer(second, 0, first, 0, 999));
  std::vector<unsigned char> expected = source;
  expected[999] = 0;
  EXPECT_SAME(program::fromDevice(second, 1000), expected);
  EXPECT_CODE(cudaMemcpy(second, source.data(), 1001, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
  EXPECT_CODE(cudaMemcpy(expected.data(), source.data(), 10, cudaMemcpyDeviceToHost), cudaErrorInvalidValue);
  pitched();
  volumes();
  planes();
  hostMemory();
  pools();
  CHECK(cudaFree(first));
  EXPECT_CODE(cudaFree(first), cudaErrorInvalidValue);
  (void)cudaGetLastError();
  return program::finish();
}
