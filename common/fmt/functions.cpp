// The functions of fmt, for static linking: distributions bring the library only as a shared object, and no library of this project
// should need that where it runs. Headers alone (FMT_HEADER_ONLY) would take a compiler two seconds more for every source; here one
// source is compiled so, with an option that keeps what nobody in it calls.
#define FMT_HEADER_ONLY 1
#include <fmt/format.h>

#include <locale>

// Templates that format.h only declares instances of.
FMT_BEGIN_NAMESPACE
namespace detail {
template locale_ref::locale_ref(const std::locale& locale);
template std::locale locale_ref::get<std::locale>() const;
}  // namespace detail
FMT_END_NAMESPACE
