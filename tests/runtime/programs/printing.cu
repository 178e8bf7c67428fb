// printf of the device, between what the host prints.
#include "tests/runtime/programs/check.hpp"

__global__ void greet(const char* who) {
  printf("block %d of %u: %s, %.2f, %c, %5lld|%-4x|%%\n", static_cast<int>(blockIdx.x), gridDim.x, who, 0.5 * blockIdx.x,
         'a' + blockIdx.x, -7ll * blockIdx.x, 255u);
}

int main() {
  const char text[] = "device";
  char* who = program::onDevice(std::vector<char>(text, text + sizeof text));
  std::puts("before");
  greet<<<1, 1>>>(who);
  CHECK(cudaDeviceSynchronize());
  std::puts("after");
  return program::finish();
}
