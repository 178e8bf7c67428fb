// CUDA arrays: copies from and to them, in rows, blocks and volumes.
#include "tests/runtime/programs/check.hpp"

std::vector<short> numbers(size_t count) {
  std::vector<short> values(count);
  for (size_t i = 0; i < count; ++i) values[i] = static_cast<short>(7 * i + 3);
  return values;
}

constexpr size_t kElement = 2 * sizeof(short);  // two channels of 16 bits

void images() {
  constexpr size_t kWidth = 13, kHeight = 6, kRow = kWidth * kElement;
  const cudaChannelFormatDesc format = cudaCreateChannelDesc(16, 16, 0, 0, cudaChannelFormatKindSigned);
  cudaArray_t array = nullptr, other = nullptr;
  CHECK(cudaMallocArray(&array, &format, kWidth, kHeight, 0));
  CHECK(cudaMallocArray(&other, &format, kWidth + 3, kHeight + 1, cudaArraySurfaceLoadStore));
  cudaChannelFormatDesc gotFormat{};
  cudaExtent extent{};
  unsigned flags = 77;
  CHECK(cudaArrayGetInfo(&gotFormat, &extent, &flags, other));
  EXPECT(gotFormat.x == 16 && gotFormat.y == 16 && gotFormat.z == 0 && gotFormat.f == cudaChannelFormatKindSigned);
  EXPECT(extent.width == kWidth + 3 && extent.height == kHeight + 1 && extent.depth == 0 && flags == cudaArraySurfaceLoadStore);

  std::vector<short> source = numbers(kWidth * kHeight * 2), got(source.size(), -1);
  CHECK(cudaMemcpyToArray(array, 0, 0, source.data(), kRow * kHeight, cudaMemcpyHostToDevice));
  CHECK(cudaMemcpy2DFromArray(got.data(), kRow, array, 0, 0, kRow, kHeight, cudaMemcpyDeviceToHost));
  EXPECT_SAME(got, source);
  // A block of 4 x 2 elements from (5, 3), with a pitch, and through another array.
  constexpr size_t kPitch = 5 * kElement;
  std::vector<short> block(10 * 2, -1), expected(10 * 2, -1);
  CHECK(cudaMemcpy2DArrayToArray(other, 2 * kElement, 1, array, 5 * kElement, 3, 4 * kElement, 2, cudaMemcpyDeviceToDevice));
  cudaStream_t stream = nullptr;
  CHECK(cudaStreamCreate(&stream));
  CHECK(cudaMemcpy2DFromArrayAsync(block.data(), kPitch, other, 2 * kElement, 1, 4 * kElement, 2, cudaMemcpyDeviceToHost, stream));
  CHECK(cudaStreamSynchronize(stream));
  for (size_t y = 0; y < 2; ++y)
    for (size_t i = 0; i < 8; ++i) expected[y * 10 + i] = source[((3 + y) * kWidth + 5) * 2 + i];
  EXPECT_SAME(block, expected);
  // 9 elements from the 11th of row 2 on go on in row 3.
  std::vector<short> line(9 * 2, -2);
  CHECK(cudaMemcpyFromArray(line.data(), array, 10 * kElement, 2, 9 * kElement, cudaMemcpyDeviceToHost));
  EXPECT_SAME(line, std::vector<short>(source.begin() + (2 * kWidth + 10) * 2, source.begin() + (2 * kWidth + 19) * 2));
  CHECK(cudaMemcpy2DToArray(array, kElement, 4, line.data(), 3 * kElement, 3 * kElement, 2, cudaMemcpyHostToDevice));
  for (size_t y = 0; y < 2; ++y)
    for (size_t i = 0; i < 6; ++i) source[((4 + y) * kWidth + 1) * 2 + i] = line[y * 6 + i];
  CHECK(cudaMemcpy2DFromArray(got.data(), kRow, array, 0, 0, kRow, kHeight, cudaMemcpyDeviceToHost));
  EXPECT_SAME(got, source);

  EXPECT_CODE(cudaMemcpy2DToArray(array, kElement, 0, source.data(), kRow, kRow, 1, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
  EXPECT_CODE(cudaMemcpy2DToArray(array, 0, kHeight, source.data(), kRow, kRow, 1, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
  EXPECT_CODE(cudaMemcpy2DFromArray(got.data(), kRow, array, 0, 1, kRow, kHeight, cudaMemcpyDeviceToHost), cudaErrorInvalidValue);
  EXPECT_CODE(cudaMemcpyFromArray(got.data(), array, 0, 0, kRow * kHeight + 1, cudaMemcpyDeviceToHost), cudaErrorInvalidValue);
  CHECK(cudaFreeArray(array));
  CHECK(cudaFreeArray(nullptr));
  EXPECT_CODE(cudaFreeArray(array), cudaErrorInvalidResourceHandle);
  for (const cudaChannelFormatDesc& wrong : {cudaCreateChannelDesc(12, 0, 0, 0, cudaChannelFormatKindSigned),
                                             cudaCreateChannelDesc(16, 8, 0, 0, cudaChannelFormatKindSigned),
                                             cudaCreateChannelDesc(8, 8, 8, 0, cudaChannelFormatKindUnsigned),
                                             cudaCreateChannelDesc(8, 0, 8, 0, cudaChannelFormatKindUnsigned)})
    EXPECT_CODE(cudaMallocArray(&array, &wrong, 4, 4, 0), cudaErrorInvalidChannelDescriptor);
  EXPECT_CODE(cudaMallocArray(&array, &format, 0, 4, 0), cudaErrorInvalidValue);
}

/// A volume whose positions count elements in the array and bytes in memory.
void volumes() {
  constexpr size_t kX = 5, kY = 4, kZ = 3;
  const cudaChannelFormatDesc format = cudaCreateChannelDesc(16, 16, 0, 0, cudaChannelFormatKindUnsigned);
  cudaArray_t array = nullptr;
  CHECK(cudaMalloc3DArray(&array, &format, make_cudaExtent(kX, kY, kZ), 0));
  std::vector<short> source = numbers(kX * kY * kZ * 2), got(source.size(), -1), expected(source.size(), -1);
  cudaMemcpy3DParms up{}, down{};
  up.srcPtr = make_cudaPitchedPtr(source.data(), kX * kElement, kX * kElement, kY);
  up.dstArray = array;
  up.extent = make_cudaExtent(kX, kY, kZ);
  up.kind = cudaMemcpyHostToDevice;
  CHECK(cudaMemcpy3D(&up));
  down.srcArray = array;
  down.srcPos = make_cudaPos(2, 1, 1);
  down.dstPtr = make_cudaPitchedPtr(got.data(), kX * kElement, kX * kElement, kY);
  down.dstPos = make_cudaPos(kElement, 1, 0);
  down.extent = make_cudaExtent(3, 2, 2);
  down.kind = cudaMemcpyDeviceToHost;
  CHECK(cudaMemcpy3D(&down));
  for (size_t z = 0; z < 2; ++z)
    for (size_t y = 0; y < 2; ++y)
      for (size_t i = 0; i < 6; ++i)
        expected[((z * kY + y + 1) * kX + 1) * 2 + i] = source[(((z + 1) * kY + y + 1) * kX + 2) * 2 + i];
  EXPECT_SAME(got, expected);
  down.srcPos.z = 2;
  EXPECT_CODE(cudaMemcpy3D(&down), cudaErrorInvalidValue);
  CHECK(cudaFreeArray(array));
}

int main() {
  images();
  volumes();
  (void)cudaGetLastError();
  return program::finish();
}
