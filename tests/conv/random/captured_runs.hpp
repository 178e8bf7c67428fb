// Runs as one CUDA graph, for a program that links no CUDA runtime: the driver's own functions.
#pragma once

#include <dlfcn.h>

#include <stdexcept>
#include <string>

/// A function of libcuda, which the library has loaded already.
template <class... Arguments>
void callDriver(const char* name, Arguments... arguments) {
  static void* const cuda = dlopen("libcuda.so.1", RTLD_NOW);
  auto* const function = reinterpret_cast<int (*)(Arguments...)>(cuda == nullptr ? nullptr : dlsym(cuda, name));
  if (function == nullptr) throw std::runtime_error(std::string("libcuda.so.1 has no ") + name);
  if (const int error = function(arguments...); error != 0)
    throw std::runtime_error(std::string(name) + " failed with " + std::to_string(error));
}

/// Runs what `enqueue` enqueues in the stream, in one graph: without the host's gaps between runs. Returns after the last.
template <class Stream, class Enqueue>
void captured(Stream stream, Enqueue&& enqueue) {
  constexpr int kRelaxed = 2;  // CU_STREAM_CAPTURE_MODE_RELAXED
  void *context = nullptr, *graph = nullptr, *executable = nullptr;
  const auto handle = static_cast<void*>(stream);
  callDriver("cuStreamGetCtx", handle, &context);
  callDriver("cuCtxSetCurrent", context);
  callDriver("cuStreamBeginCapture_v2", handle, kRelaxed);
  enqueue();
  callDriver("cuStreamEndCapture", handle, &graph);
  callDriver("cuGraphInstantiateWithFlags", &executable, graph, 0ULL);
  callDriver("cuGraphLaunch", executable, handle);
  callDriver("cuStreamSynchronize", handle);
  callDriver("cuGraphExecDestroy", executable);
  callDriver("cuGraphDestroy", graph);
}
