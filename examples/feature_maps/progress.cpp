#include "examples/feature_maps/progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

namespace feature_maps {

namespace {

constexpr int kBarWidth = 32;
constexpr int kLineEvery = 10;  ///< percent, where there is no terminal

}  // namespace

Progress::Progress(double totalWork) : totalWork_(totalWork), terminal_(isatty(fileno(stderr)) != 0), ticker_([this] { tick(); }) {}

Progress::~Progress() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  stopping_.notify_all();
  ticker_.join();
  if (terminal_) fmt::print(stderr, "\r\x1b[K");
}

void Progress::begin(const std::string& label, double work) {
  const std::lock_guard lock(mutex_);
  label_ = label;
  stepWork_ = work;
  stepStart_ = Clock::now();
  show();
}

void Progress::end() {
  const std::lock_guard lock(mutex_);
  doneWork_ += stepWork_;
  doneSeconds_ += secondsSince(stepStart_);
  stepWork_ = 0;
  show();
}

void Progress::tick() {
  std::unique_lock lock(mutex_);
  while (!stopping_.wait_for(lock, std::chrono::milliseconds(250), [this] { return stop_; })) show();
}

double Progress::fractionOfStep() const {
  if (doneWork_ == 0 || stepWork_ == 0) return 0;
  const double expectedSeconds = stepWork_ * doneSeconds_ / doneWork_;
  return std::min(0.95, secondsSince(stepStart_) / expectedSeconds);
}

void Progress::show() {
  const double fraction = std::clamp((doneWork_ + stepWork_ * fractionOfStep()) / totalWork_, 0.0, 1.0);
  const int percent = std::max(shownPercent_, static_cast<int>(100 * fraction));
  if (terminal_) {
    const auto filled = static_cast<size_t>(percent * kBarWidth / 100);
    fmt::print(stderr, "\r\x1b[K[{}{}] {:3d}%  {:5.1f} s  {}", std::string(filled, '#'), std::string(kBarWidth - filled, '.'),
               percent, secondsSince(start_), label_);
  } else if (label_ != shownLabel_ || percent / kLineEvery > shownPercent_ / kLineEvery) {
    fmt::print(stderr, "{:3d}%  {:5.1f} s  {}\n", percent, secondsSince(start_), label_);
    shownLabel_ = label_;
  }
  std::fflush(stderr);
  shownPercent_ = percent;
}

}  // namespace feature_maps
