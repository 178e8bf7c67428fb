// Clocks of a layer on a B200, modelled from what was counted.
#pragma once

#include <array>
#include <string_view>

#include "bench/traffic/peers.hpp"

namespace shiftconv::bench {

/// What nobody has published: whether tcgen05.cp runs beside MMAs, and how many clocks of the tensor core a tcgen05.shift takes.
struct Constants {
  std::string_view name;
  bool copyIsSerial;
  double shiftClocks;  ///< the two were read out on B200s by others, as hand-written and as compiled code
};
inline constexpr std::array<Constants, 3> kConstants{
    {{"default", false, 0}, {"cp serial, shift 12", true, 12}, {"cp serial, shift 44", true, 44}}};

struct Modelled {
  double seconds = 0;
  std::string_view bound;
};
Modelled model(const Peer& peer, const plan::Traffic& traffic, const device::Properties& properties, const Constants& constants);

}  // namespace shiftconv::bench
