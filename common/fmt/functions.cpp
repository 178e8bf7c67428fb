// The functions of fmt, for static linking: distributions bring the library only as a shared object, and no library of this project
// should need that where it runs. Headers alone (FMT_HEADER_ONLY) would take a compiler two seconds more for every source; here one
// source is compiled so, with an option that keeps what nobody in it calls.
#define FMT_HEADER_ONLY 1
#include <fmt/format.h>
