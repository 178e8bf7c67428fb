// Tells people that a long launch is still running.
#pragma once

#include <fmt/format.h>

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <string>
#include <thread>

namespace ptxrun {

/// While it lives, a line on standard error every ten seconds: "ptxrun: launch 1 of 3 has run for 20 s".
class Patience {
 public:
  explicit Patience(std::string what) : thread_([this, what = std::move(what)] { wait(what); }) {}
  ~Patience() {
    {
      const std::lock_guard lock(mutex_);
      done_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }
  Patience(const Patience&) = delete;
  Patience& operator=(const Patience&) = delete;

 private:
  void wait(const std::string& what) {
    constexpr std::chrono::seconds kInterval{10};
    std::unique_lock lock(mutex_);
    for (auto passed = kInterval; !changed_.wait_for(lock, kInterval, [this] { return done_; }); passed += kInterval)
      fmt::print(stderr, "ptxrun: {} has run for {} s\n", what, passed.count());
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  bool done_ = false;
  std::thread thread_;  ///< begins last
};

}  // namespace ptxrun
