#include "bench/conv/gpu/cuda.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>

#define SHIFTCONV_SYMBOL_TEXT(name) SHIFTCONV_SYMBOL_TEXT_OF(name)
#define SHIFTCONV_SYMBOL_TEXT_OF(name) #name

namespace shiftconv::gpu {
namespace {

[[noreturn]] void fail(const std::string& message) {
  fmt::print(stderr, "{}\n", message);
  std::exit(2);
}

Driver open() {
  void* library = dlopen("libcuda.so.1", RTLD_NOW);
  if (library == nullptr) fail(fmt::format("no CUDA driver: {}", dlerror()));
  Driver d;
#define SHIFTCONV_GPU_LOAD(name)                                                            \
  d.name = reinterpret_cast<decltype(d.name)>(dlsym(library, SHIFTCONV_SYMBOL_TEXT(name))); \
  if (d.name == nullptr) fail("the CUDA driver has no " SHIFTCONV_SYMBOL_TEXT(name));
  SHIFTCONV_GPU_FUNCTIONS(SHIFTCONV_GPU_LOAD)
#undef SHIFTCONV_GPU_LOAD
  CUdevice device = 0;
  CUcontext context = nullptr;
  if (d.cuInit(0) != CUDA_SUCCESS || d.cuDeviceGet(&device, 0) != CUDA_SUCCESS ||
      d.cuDevicePrimaryCtxRetain(&context, device) != CUDA_SUCCESS || d.cuCtxSetCurrent(context) != CUDA_SUCCESS)
    fail("the CUDA driver found no usable device");
  return d;
}

}  // namespace

const Driver& driver() {
  static const Driver instance = open();
  return instance;
}

void check(CUresult result, const char* what) {
  if (result == CUDA_SUCCESS) return;
  const char* reason = "?";
  driver().cuGetErrorString(result, &reason);
  fail(fmt::format("{} failed: {}", what, reason));
}

int attribute(CUdevice_attribute which) {
  int value = 0;
  SHIFTCONV_GPU(cuDeviceGetAttribute(&value, which, 0));
  return value;
}

std::string deviceName() {
  char name[128] = {};
  SHIFTCONV_GPU(cuDeviceGetName(name, sizeof name - 1, 0));
  return name;
}

Buffer::Buffer(size_t bytes) : bytes_(bytes) { SHIFTCONV_GPU(cuMemAlloc(&address_, bytes)); }
Buffer::~Buffer() { driver().cuMemFree(address_); }

Module::Module(std::span<const std::byte> image) { SHIFTCONV_GPU(cuModuleLoadData(&module_, image.data())); }

CUfunction Module::kernel(const std::string& name) const {
  CUfunction function = nullptr;
  check(driver().cuModuleGetFunction(&function, module_, name.c_str()), name.c_str());
  return function;
}

CUtensorMap encode(layout::TiledMap map, CUdeviceptr base) {
  CUtensorMap encoded;
  cuuint64_t dims[5], strides[5];
  cuuint32_t box[5], elementStrides[5];
  for (uint32_t i = 0; i < 5; ++i) {
    dims[i] = map.dims[i];
    strides[i] = map.strides[i];
    box[i] = map.box[i];
    elementStrides[i] = map.elementStrides[i];
  }
  check(driver().cuTensorMapEncodeTiled(
            &encoded, static_cast<CUtensorMapDataType>(map.type), map.rank, reinterpret_cast<void*>(base + map.globalAddress), dims,
            strides, box, elementStrides, static_cast<CUtensorMapInterleave>(map.interleave),
            static_cast<CUtensorMapSwizzle>(map.swizzle), static_cast<CUtensorMapL2promotion>(map.l2Promotion),
            static_cast<CUtensorMapFloatOOBfill>(map.fill)),
        "cuTensorMapEncodeTiled");
  return encoded;
}

void launch(CUfunction kernel, const LaunchConfig& config, std::span<const void* const> arguments, CUstream stream) {
  CUlaunchConfig c{};
  c.gridDimX = config.grid.x;
  c.gridDimY = config.grid.y;
  c.gridDimZ = config.grid.z;
  c.blockDimX = config.block.x;
  c.blockDimY = config.block.y;
  c.blockDimZ = config.block.z;
  c.sharedMemBytes = config.dynamicSharedBytes;
  c.hStream = stream;
  CUlaunchAttribute attributes[2];
  c.attrs = attributes;
  if (config.cluster.count() > 1) {
    attributes[c.numAttrs].id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
    attributes[c.numAttrs++].value.clusterDim = {config.cluster.x, config.cluster.y, config.cluster.z};
  }
  if (config.programmaticDependent) {
    attributes[c.numAttrs].id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
    attributes[c.numAttrs++].value.programmaticStreamSerializationAllowed = 1;
  }
  SHIFTCONV_GPU(cuLaunchKernelEx(&c, kernel, const_cast<void**>(arguments.data()), nullptr));
}

bool capturable(CUstream stream, const std::function<bool(CUstream)>& enqueue) {
  SHIFTCONV_GPU(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
  const bool enqueued = enqueue(stream);
  CUgraph graph = nullptr;
  const bool captured = driver().cuStreamEndCapture(stream, &graph) == CUDA_SUCCESS && graph != nullptr;
  if (graph != nullptr) SHIFTCONV_GPU(cuGraphDestroy(graph));
  return enqueued && captured;
}

void Replay::begin() {
  SHIFTCONV_GPU(cuEventCreate(&start_, CU_EVENT_DEFAULT));
  SHIFTCONV_GPU(cuEventCreate(&stop_, CU_EVENT_DEFAULT));
  SHIFTCONV_GPU(cuStreamBeginCapture(stream_, CU_STREAM_CAPTURE_MODE_RELAXED));
}
void Replay::end() {
  SHIFTCONV_GPU(cuStreamEndCapture(stream_, &graph_));
  SHIFTCONV_GPU(cuGraphInstantiate(&exec_, graph_, 0));
}
Replay::~Replay() {
  driver().cuGraphExecDestroy(exec_);
  driver().cuGraphDestroy(graph_);
}

void Replay::launch() const { SHIFTCONV_GPU(cuGraphLaunch(exec_, stream_)); }

/// Between start_ and a stop that is recorded here.
double Replay::elapsed(int replays) const {
  SHIFTCONV_GPU(cuEventRecord(stop_, stream_));
  SHIFTCONV_GPU(cuEventSynchronize(stop_));
  float milliseconds = 0;
  SHIFTCONV_GPU(cuEventElapsedTime(&milliseconds, start_, stop_));
  return static_cast<double>(milliseconds) * 1000 / repeats_ / replays;
}

double Replay::time(double idleMilliseconds) {
  SHIFTCONV_GPU(cuStreamSynchronize(stream_));
  if (idleMilliseconds > 0) std::this_thread::sleep_for(std::chrono::duration<double, std::milli>(idleMilliseconds));
  return timeBehind();
}

double Replay::timeBehind() {
  SHIFTCONV_GPU(cuEventRecord(start_, stream_));
  launch();
  return elapsed(1);
}

double Replay::timeSustained(int replays) {
  for (int i = 0; i < replays; ++i) launch();
  SHIFTCONV_GPU(cuEventRecord(start_, stream_));
  for (int i = 0; i < replays; ++i) launch();
  return elapsed(replays);
}

}  // namespace shiftconv::gpu
