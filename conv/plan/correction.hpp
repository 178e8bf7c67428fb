// What measurements added to the models: a correction has no theory, is fitted to recorded times, and says to which.
#pragma once

#include <algorithm>
#include <cmath>

namespace shiftconv::plan {

/// Fitted by least squares of the logarithms, over the candidates of the layers of ten public networks on an H200, those near the
/// best weighing most (bench/networks; tested on layers that the fit had not seen: five parts, each left out once).
struct Correction {
  double constant = 0, slope = 0, curvature = 0;
};

/// exp(constant + slope log t + curvature log^2 t) times the modelled time, t in microseconds of an H200. `share`: a logarithm
/// more, of what an algorithm knows of the candidate. Below an empty kernel's time nothing was measured, and little above 300 us,
/// where the curve would only be continued (patches of 16x16 to 1280 channels came out 20 times too short).
inline double corrected(double clocks, const Correction& correction, double share = 0) {
  constexpr double kClocksPerMicrosecond = 1980, kLeastMicroseconds = 1.3, kMostMicroseconds = 300;
  const double t = std::log(std::clamp(clocks / kClocksPerMicrosecond, kLeastMicroseconds, kMostMicroseconds));
  return clocks * std::exp(correction.constant + correction.slope * t + correction.curvature * t * t + share);
}

}  // namespace shiftconv::plan
