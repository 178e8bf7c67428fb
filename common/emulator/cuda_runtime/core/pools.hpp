// Memory pools: names only. Memory of every pool comes from, and goes back to, the device at once.
#pragma once

#include <map>

#include "common/emulator/cuda_runtime/core/streams.hpp"

namespace shiftconv::runtime {

struct Pool {
  std::map<int, uint64_t> attributes;  ///< that a program has set
};

class PoolTable {
 public:
  static PoolTable& instance();
  cudaMemPool_t standard() { return handleOf(standard_); }
  cudaMemPool_t current() { return current_; }
  void setCurrent(cudaMemPool_t pool);
  cudaMemPool_t create();
  void destroy(cudaMemPool_t pool);
  /// Throws Failure cudaErrorInvalidValue.
  Pool& find(cudaMemPool_t pool);
  void set(cudaMemPool_t pool, int attribute, const void* value);
  void get(cudaMemPool_t pool, int attribute, void* value);

 private:
  static cudaMemPool_t handleOf(Pool& pool) { return reinterpret_cast<cudaMemPool_t>(&pool); }
  Pool standard_;
  cudaMemPool_t current_ = handleOf(standard_);
  std::map<cudaMemPool_t, std::unique_ptr<Pool>> pools_;
};

/// Memory for work of the stream; a node of the graph while it captures. Throws Failure.
uint64_t allocateAt(Stream& stream, uint64_t bytes);

}  // namespace shiftconv::runtime
