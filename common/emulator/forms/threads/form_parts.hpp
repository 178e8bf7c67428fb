// Pieces of the rows that make up the machine's own instruction families.
#pragma once

#include "common/emulator/isa/form.hpp"

namespace shiftconv::emulator::machine {

// memoryForms() is assembled from these.
isa::FormFamily loadStoreForms();  ///< ld ldu st
isa::FormFamily addressForms();    ///< cvta isspacep mapa getctarank prefetch prefetchu applypriority discard createpolicy
isa::FormFamily atomicForms();     ///< atom red
isa::FormFamily asyncCopyForms();  ///< cp.async without .bulk

// controlForms() is assembled from these.
isa::FormFamily branchForms();   ///< bra brx call ret exit trap brkpt
isa::FormFamily barrierForms();  ///< bar barrier nanosleep activemask pmevent

}  // namespace shiftconv::emulator::machine
