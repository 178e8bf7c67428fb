#include "common/emulator/cuda_runtime/core/call.hpp"

#include <fmt/format.h>

#include <atomic>
#include <mutex>
#include <new>
#include <set>

#include "common/emulator/cuda_runtime/core/error_names.hpp"
#include "common/emulator/cuda_runtime/core/settings.hpp"

namespace shiftconv::runtime {
namespace {

/// One lock for everything: the emulated device runs one thing at a time anyway. Recursive, as entry points use each other.
std::recursive_mutex& lock() {
  static auto* const mutex = new std::recursive_mutex;  // outlives exit handlers of the program
  return *mutex;
}

std::atomic<cudaError_t> sticky{cudaSuccess};
std::atomic<bool> runtimeInUse{false};
thread_local cudaError_t last = cudaSuccess;
thread_local unsigned depth = 0;  ///< entry points of this thread that hold the lock

struct Depth {
  Depth() { ++depth; }
  ~Depth() { --depth; }
};

bool isQuery(Api api) { return api == Api::RuntimeQuery || api == Api::DriverQuery; }

cudaError_t guarded(const char* name, Api api, const BodyReference& body) {
  if (!isQuery(api) && sticky.load() != cudaSuccess) return sticky.load();
  try {
    return body();
  } catch (const Failure& failure) {
    if (failure.sticky) loseContext(failure.code);
    if (failure.sticky || traced()) say(fmt::format("{}: {} ({})", name, failure.what(), errorName(failure.code)));
    return failure.code;
  } catch (const std::bad_alloc&) {
    return cudaErrorMemoryAllocation;
  } catch (const std::exception& error) {
    say(fmt::format("{}: {}", name, error.what()));
    return cudaErrorUnknown;
  }
}

}  // namespace

cudaError_t runCall(const char* name, Api api, const BodyReference& body) {
  const std::lock_guard guard(lock());
  if (RunResult* result = runResult()) ++result->calls;
  cudaError_t code;
  {
    const Depth entered;
    code = guarded(name, api, body);
  }
  const bool runtime = api == Api::Runtime || api == Api::RuntimeQuery;
  if (api == Api::Runtime) runtimeInUse = true;
  if (runtime && code != cudaSuccess && code != cudaErrorNotReady) last = code;
  if (traced() && depth == 0) say(fmt::format("{} -> {}", name, errorName(code)));
  return code;
}

CUresult driverCodeOf(cudaError_t code) {
  const auto same = static_cast<CUresult>(code);
  return driverErrorName(same) != nullptr ? same : CUDA_ERROR_INVALID_VALUE;
}

void loseContext(cudaError_t code) {
  cudaError_t none = cudaSuccess;
  sticky.compare_exchange_strong(none, code);
  if (RunResult* result = runResult()) ++result->failures;
}

bool isRuntimeInUse() { return runtimeInUse.load(); }

cudaError_t stickyError() { return sticky.load(); }

cudaError_t lastError(bool clear) {
  const cudaError_t code = last;
  // A sticky error that some call of this thread has returned stays.
  if (clear && code != sticky.load()) last = cudaSuccess;
  return code;
}

void runHostFunction(void (*function)(void*), void* data) {
  const unsigned held = depth;
  for (unsigned i = 0; i < held; ++i) lock().unlock();
  function(data);
  for (unsigned i = 0; i < held; ++i) lock().lock();
}

int refuseEntryPoint(const char* name) {
  const std::lock_guard guard(lock());
  static auto* const named = new std::set<std::string>;
  if (named->insert(name).second) say(fmt::format("the program calls {}, which the emulated device does not have", name));
  last = cudaErrorNotSupported;
  return cudaErrorNotSupported;
}

}  // namespace shiftconv::runtime
