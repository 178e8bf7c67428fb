# What every translation unit of the project is compiled with.

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "Debug, Release or RelWithDebInfo" FORCE)
endif()

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_C_STANDARD 99)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

# CMake's own RelWithDebInfo is -O2 -DNDEBUG. Assertions stay on in everything that is shipped or measured here,
# and line tables are enough for stack traces and profilers.
foreach(language C CXX)
  if("${CMAKE_${language}_FLAGS_RELWITHDEBINFO}" STREQUAL "-O2 -g -DNDEBUG")
    set(CMAKE_${language}_FLAGS_RELWITHDEBINFO "-O3 -g1" CACHE STRING "" FORCE)
  endif()
endforeach()

# Most sources are tests, examples and benchmarks, and what takes time when they run is in the libraries: at -O1 the long ones compile
# in 50 to 60% of the time.
set(SHIFTCONV_PROGRAM_OPTIONS $<$<AND:$<CONFIG:RelWithDebInfo>,$<COMPILE_LANGUAGE:CXX>>:-O1>)
macro(shiftconv_compile_programs)
  add_compile_options(${SHIFTCONV_PROGRAM_OPTIONS})
endmacro()
# For libraries that do little when they run, too.
function(shiftconv_compile_as_programs)
  foreach(target IN LISTS ARGN)
    target_compile_options(${target} PRIVATE ${SHIFTCONV_PROGRAM_OPTIONS})
  endforeach()
endfunction()

# With -DCMAKE_UNITY_BUILD=ON several sources of a target are compiled as one, and most of the time in headers is saved: for clean
# builds, as in ./bootstrap. Sources with local names that their neighbours have, too, stay alone.
set(CMAKE_UNITY_BUILD_BATCH_SIZE 8)
if(CMAKE_UNITY_BUILD AND CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  # A class in a source may have members of an unnamed namespace; GCC takes an included source for a header.
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-Wno-subobject-linkage>)
  # No line tables, and memory instead of garbage collection: together about a tenth of a source's time, for 100 MB more.
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-g0> "$<$<COMPILE_LANGUAGE:CXX>:SHELL:--param ggc-min-heapsize=2000000>")
endif()
function(shiftconv_compile_alone)
  set_source_files_properties(${ARGN} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()

find_program(SHIFTCONV_CCACHE ccache DOC "Compiler cache, used when present")
if(SHIFTCONV_CCACHE)
  foreach(language C CXX)
    if(NOT CMAKE_${language}_COMPILER_LAUNCHER)
      # What depends on a precompiled header is cached only with these.
      set(CMAKE_${language}_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros ${SHIFTCONV_CCACHE})
    endif()
  endforeach()
endif()

# It links a program in about a quarter of the time.
find_program(SHIFTCONV_MOLD mold DOC "Linker, used when present")
if(SHIFTCONV_MOLD AND CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  add_link_options(-fuse-ld=mold)
endif()

set(SHIFTCONV_SANITIZE "" CACHE STRING "Value for -fsanitize=, for example address,undefined")
if(SHIFTCONV_SANITIZE)
  add_compile_options($<$<COMPILE_LANGUAGE:C,CXX>:-fsanitize=${SHIFTCONV_SANITIZE}>
                      $<$<COMPILE_LANGUAGE:C,CXX>:-fno-sanitize-recover=all>
                      $<$<COMPILE_LANGUAGE:C,CXX>:-fno-omit-frame-pointer>)
  # Instrumented code confuses GCC's flow analysis inside the standard library (GCC bug 109561 and others).
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-Wno-maybe-uninitialized>)
  add_link_options(-fsanitize=${SHIFTCONV_SANITIZE})
  # GCC's thread sanitizer does not follow std::atomic_thread_fence, and warns of every use.
  if(SHIFTCONV_SANITIZE MATCHES thread AND CMAKE_CXX_COMPILER_ID STREQUAL GNU)
    add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-Wno-tsan>)
  endif()
endif()

# Every target of ours links this.
add_library(shiftconv_options INTERFACE)
target_compile_options(shiftconv_options INTERFACE
  $<$<COMPILE_LANGUAGE:C,CXX>:-Wall>
  $<$<COMPILE_LANGUAGE:C,CXX>:-Wextra>
  $<$<COMPILE_LANGUAGE:C,CXX>:-Wpedantic>
  $<$<COMPILE_LANGUAGE:C,CXX>:-Werror>
  $<$<COMPILE_LANGUAGE:C,CXX>:-fvisibility=hidden>
  $<$<COMPILE_LANGUAGE:CXX>:-fvisibility-inlines-hidden>)
# GCC 12 and 13 report overflows that cannot happen, inside inlined code of fmt and of std::vector's comparison (GCC bugs
# 105329, 105651 and their like).
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  foreach(warning stringop-overflow stringop-overread restrict array-bounds)
    target_compile_options(shiftconv_options INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wno-${warning}>)
  endforeach()
endif()
target_include_directories(shiftconv_options INTERFACE ${PROJECT_SOURCE_DIR})
