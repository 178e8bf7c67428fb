// A loop whose rounds run on several threads.
#pragma once

#include <atomic>
#include <cstddef>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace shiftconv {

/// Calls body(i) for i in 0..count-1 on `threads` threads. Rethrows the first exception; rounds not begun by then are left out.
template <class Body>
void inParallel(size_t count, unsigned threads, const Body& body) {
  std::atomic<size_t> next = 0;
  std::exception_ptr failure;
  std::once_flag failed;
  {
    std::vector<std::jthread> workers;
    for (unsigned t = 0; t < threads; ++t)
      workers.emplace_back([&] {
        try {
          for (size_t i; (i = next.fetch_add(1)) < count;) body(i);
        } catch (...) {
          std::call_once(failed, [&] { failure = std::current_exception(); });
          next = count;
        }
      });
  }
  if (failure) std::rethrow_exception(failure);
}

}  // namespace shiftconv
