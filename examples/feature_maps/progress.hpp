// How far the program is: a bar on a terminal, lines with percentages elsewhere.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

namespace feature_maps {

/// Writes to stderr. A step is known by its amount of work, in any unit that suits all steps. Steps cannot report from
/// inside (a launch is one call), so the fraction within one is estimated from the time that earlier work took.
class Progress {
 public:
  explicit Progress(double totalWork);
  ~Progress();

  void begin(const std::string& label, double work);
  void end();

 private:
  using Clock = std::chrono::steady_clock;
  static double secondsSince(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }
  void tick();
  void show();
  double fractionOfStep() const;

  const double totalWork_;
  const bool terminal_;
  const Clock::time_point start_ = Clock::now();

  std::mutex mutex_;
  std::condition_variable stopping_;
  bool stop_ = false;
  std::string label_;
  double stepWork_ = 0;
  Clock::time_point stepStart_ = Clock::now();
  double doneWork_ = 0, doneSeconds_ = 0;
  int shownPercent_ = -1;
  std::string shownLabel_;
  std::thread ticker_;
};

}  // namespace feature_maps
