// What the program says about a run, on standard output and in the sheet's footer.
#pragma once

#include <string>
#include <vector>

#include "examples/feature_maps/convolution_runner.hpp"
#include "examples/feature_maps/options.hpp"
#include "examples/feature_maps/verification.hpp"

namespace feature_maps {

struct CheckedLayer {
  LayerReport report;
  Verification check;  ///< without elements when verification was switched off
};

/// "emulated sm_100a, schedule earliest, hardware numerics".
std::string deviceLine(const ConvolutionRunner& runner, const Options& options);
/// Plan, time and error of each.
void printLayers(const std::vector<CheckedLayer>& layers);
void printCounters(const ConvolutionRunner& runner, bool all);
/// Prints the verdict; returns the program's exit code.
int printVerdict(const std::vector<CheckedLayer>& layers, const Options& options);
/// A few lines for people who only see the sheet.
std::vector<std::string> footerLines(const std::vector<CheckedLayer>& layers, const std::string& device);

}  // namespace feature_maps
