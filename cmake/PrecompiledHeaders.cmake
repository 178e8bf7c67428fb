# What nearly every source includes is parsed once for each set of options instead of once for each source. Sources include what they
# use all the same: nothing else holds them together when CMAKE_DISABLE_PRECOMPILE_HEADERS is on.
#
# Included behind all targets. Tests have headers of their own (tests/CMakeLists.txt).

set(_shiftconv_headers <algorithm> <array> <bit> <cstdint> <cstring> <fmt/format.h> <functional> <map> <memory> <optional> <span> <sstream>
    <string> <string_view> <unordered_map> <utility> <vector>)

# Programs with a command line, whose own code takes next to no time when it runs, are compiled without optimisation: most of their
# compiler's time is CLI11.
set(SHIFTCONV_TOOL_OPTIONS $<$<AND:$<CONFIG:RelWithDebInfo>,$<COMPILE_LANGUAGE:CXX>>:-O0>)

# One for each kind of code (position independent, of a program, or of a program with a command line) and each optimisation
# (CompilerSettings.cmake).
function(_shiftconv_headers_of kind optimisation result)
  set(owner ${kind}_headers_${optimisation})
  if(NOT TARGET ${owner})
    file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/${owner}.cpp CONTENT "int main() {}\n")
    if(kind STREQUAL library)
      add_library(${owner} STATIC ${PROJECT_BINARY_DIR}/${owner}.cpp)
    else()
      add_executable(${owner} ${PROJECT_BINARY_DIR}/${owner}.cpp)
    endif()
    target_link_libraries(${owner} PRIVATE shiftconv_options)
    if(optimisation STREQUAL programs)
      target_compile_options(${owner} PRIVATE ${SHIFTCONV_PROGRAM_OPTIONS})
    endif()
    if(kind STREQUAL tool)
      target_compile_options(${owner} PRIVATE ${SHIFTCONV_TOOL_OPTIONS})
    endif()
    target_precompile_headers(${owner} PRIVATE ${_shiftconv_headers})
  endif()
  set(${result} ${owner} PARENT_SCOPE)
endfunction()

function(_shiftconv_precompile directory)
  get_property(targets DIRECTORY ${directory} PROPERTY BUILDSYSTEM_TARGETS)
  get_property(options DIRECTORY ${directory} PROPERTY COMPILE_OPTIONS)
  set(optimisation libraries)
  if(SHIFTCONV_PROGRAM_OPTIONS IN_LIST options)
    set(optimisation programs)
  endif()
  foreach(target IN LISTS targets)
    get_target_property(type ${target} TYPE)
    get_target_property(sources ${target} SOURCES)
    get_target_property(own ${target} PRECOMPILE_HEADERS)
    get_target_property(reused ${target} PRECOMPILE_HEADERS_REUSE_FROM)
    get_target_property(libraries ${target} LINK_LIBRARIES)
    get_target_property(its_options ${target} COMPILE_OPTIONS)
    if(NOT its_options)
      set(its_options)
    endif()
    # Headers belong to the options that they were compiled with.
    if(own OR reused OR NOT "${its_options}" STREQUAL "${options}" OR NOT "${sources}" MATCHES "\\.cpp(;|$)" OR "${sources}" MATCHES "\\.c(;|$)")
      continue()
    elseif(type STREQUAL EXECUTABLE AND "${libraries}" MATCHES "CLI11::CLI11")
      _shiftconv_headers_of(tool ${optimisation} owner)
      target_compile_options(${target} PRIVATE ${SHIFTCONV_TOOL_OPTIONS})
    elseif(type STREQUAL EXECUTABLE)
      _shiftconv_headers_of(program ${optimisation} owner)
    elseif(type MATCHES "^(STATIC|SHARED|OBJECT)_LIBRARY$")
      _shiftconv_headers_of(library ${optimisation} owner)
    else()
      continue()
    endif()
    target_precompile_headers(${target} REUSE_FROM ${owner})
  endforeach()
  get_property(folders DIRECTORY ${directory} PROPERTY SUBDIRECTORIES)
  foreach(folder IN LISTS folders)
    _shiftconv_precompile(${folder})
  endforeach()
endfunction()
_shiftconv_precompile(${PROJECT_SOURCE_DIR})
