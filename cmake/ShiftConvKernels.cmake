# Device code without CMake's CUDA language: the build needs nvcc, ptxas and fatbinary, links nothing of the CUDA
# runtime, and keeps the PTX text, because that text is also what the emulator executes.
#
#   shiftconv_add_kernels(NAME <module> SOURCE <file.cu> ARCHS <sm_100a> <sm_90a> [TARGETS_DIFFER | PORTABLE])
#       Static library <module>_image with SASS, and object library <module>_text with compressed PTX, for those of these architectures
#       that are in SHIFTCONV_ARCHITECTURES (a module may be left with neither, and devices refuse to load it then):
#           sm_100a   PTX compute_100a, SASS sm_100a, sm_103a, sm_110a (PORTABLE: sm_100, sm_110)
#           sm_90a    PTX compute_90a, SASS sm_90a
#       and the header <module>_image.hpp with
#           device::ModuleImage  shiftconv::images::<module>()     one fatbin
#       What links <module>_image gets the texts, too, where device::ptxFor (embedded_ptx.hpp) finds them; not so targets with the
#       property SHIFTCONV_EMULATED_BY_PLUGIN, whose emulated devices come out of a library that has them.
#       The cubins are assembled from exactly the embedded PTX, for targets other than its own with their name in place and
#       without what sm_103a lacks (AssembleCubin.cmake). TARGETS_DIFFER: the source asks for its target, and is compiled for each.
#       Register spills or a stack frame in any of the cubins fail the build. Target properties SHIFTCONV_PTX_sm_<arch> and
#       SHIFTCONV_CUBIN_sm_<arch> hold the files' paths. Target machine_code assembles those of all modules.
#       With SHIFTCONV_PTX_ONLY the fatbin has PTX instead, for drivers to compile, and there are no cubins. PORTABLE: the source needs no
#       feature of one architecture, and such a build compiles it once for all of them, to PTX of sm_90. Machine code still comes from PTX
#       of each architecture: the compiler makes other code for Blackwell.
#       Such a build also leaves out the kernels that left_out_of_quick_builds.txt in the source's folder names, one in a line. Their
#       definitions stand in SHIFTCONV_KERNEL of conv/kernels/left_out.cuh.
#
#   shiftconv_add_ptx(NAME <target> SOURCE <file.cu> ARCH <compute_100a> OUTPUT <path/in/build/tree.ptx> [LIKE <other.ptx>]
#                     [INCLUDE <folder>] [ON_DEMAND])
#       A plain PTX file, for test kernels. Depend on <target>, or on the file. LIKE: the source includes what that of another PTX
#       file includes, and is compiled again when that is; the compiler takes a quarter of a second to find out by itself. INCLUDE:
#       a folder whose headers go ahead of the project's. ON_DEMAND: not built with everything else.
#
#   shiftconv_cuda_headers
#       Interface target with the toolkit's include directory (cuda.h, nvtx3).

# The first toolkit of release 13 among: SHIFTCONV_CUDA_ROOT, CUDA_HOME, CUDA_PATH, nvcc on PATH, the wheels that
# bootstrap unpacks into build/cuda, and /usr/local/cuda.
function(_shiftconv_find_cuda result)
  find_program(SHIFTCONV_NVCC_ON_PATH nvcc NO_CACHE)
  set(candidates ${SHIFTCONV_CUDA_ROOT} $ENV{CUDA_HOME} $ENV{CUDA_PATH})
  if(SHIFTCONV_NVCC_ON_PATH)
    file(REAL_PATH ${SHIFTCONV_NVCC_ON_PATH} nvcc)
    cmake_path(GET nvcc PARENT_PATH bin)
    cmake_path(GET bin PARENT_PATH root)
    list(APPEND candidates ${root})
  endif()
  list(APPEND candidates ${PROJECT_SOURCE_DIR}/build/cuda /usr/local/cuda)

  set(rejected)
  foreach(root IN LISTS candidates)
    if(NOT EXISTS ${root}/bin/nvcc)
      continue()
    endif()
    execute_process(COMMAND ${root}/bin/nvcc --version OUTPUT_VARIABLE text ERROR_QUIET)
    if(text MATCHES "release 13\\." AND EXISTS ${root}/bin/ptxas AND EXISTS ${root}/bin/fatbinary)
      set(${result} ${root} PARENT_SCOPE)
      return()
    endif()
    string(APPEND rejected "\n  ${root}: not a complete CUDA 13 toolkit")
  endforeach()
  message(FATAL_ERROR
    "No nvcc of CUDA 13 found.${rejected}\n"
    "Run ./bootstrap build, which fetches one into build/cuda, or set CUDA_HOME or -DSHIFTCONV_CUDA_ROOT.")
endfunction()

_shiftconv_find_cuda(_shiftconv_cuda_root)
set(SHIFTCONV_CUDA_ROOT ${_shiftconv_cuda_root} CACHE PATH "CUDA 13 toolkit: bin/nvcc, nvvm, include" FORCE)
message(STATUS "CUDA toolkit: ${SHIFTCONV_CUDA_ROOT}")

set(_shiftconv_kernel_flags -std=c++20 -lineinfo -I${PROJECT_SOURCE_DIR} -Werror all-warnings)
option(SHIFTCONV_KERNEL_LINE_INFO "Line tables and PTX in the kernels' machine code, for profilers: three times the size" OFF)
set(SHIFTCONV_ARCHITECTURES sm_90a sm_100a CACHE STRING "Architectures that there are kernels for; the tests need both")
option(SHIFTCONV_PTX_ONLY "Kernels stay PTX, and nothing is assembled: for the emulated device and for tests. Such a build cannot be installed" OFF)
set(_shiftconv_kernel_scripts ${CMAKE_CURRENT_LIST_DIR})
if(NOT SHIFTCONV_PTX_ONLY)
  add_custom_target(machine_code)
endif()

add_library(shiftconv_cuda_headers INTERFACE)
target_include_directories(shiftconv_cuda_headers SYSTEM INTERFACE ${SHIFTCONV_CUDA_ROOT}/include)

# Programs that no ordinary test runs: builds for those tests leave them out, unless they are asked for by name.
function(shiftconv_leave_out_of_quick_builds)
  if(SHIFTCONV_PTX_ONLY)
    set_target_properties(${ARGN} PROPERTIES EXCLUDE_FROM_ALL ON)
  endif()
endfunction()

# The header in `result` that leaves out what this folder's list names; empty without a list, or in a build of all kernels.
function(_shiftconv_left_out result)
  set(${result} "" PARENT_SCOPE)
  set(list ${CMAKE_CURRENT_SOURCE_DIR}/left_out_of_quick_builds.txt)
  if(NOT SHIFTCONV_PTX_ONLY OR NOT EXISTS ${list})
    return()
  endif()
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${list})
  file(STRINGS ${list} kernels REGEX "^[^#]")
  list(TRANSFORM kernels REPLACE "(.+)" "#define SHIFTCONV_LEAVES_OUT_\\1 , LEFT_OUT\n")
  list(JOIN kernels "" text)
  set(header ${CMAKE_CURRENT_BINARY_DIR}/left_out_of_quick_builds.h)
  file(CONFIGURE OUTPUT ${header} CONTENT "${text}" @ONLY)  # written when it changes
  set(${result} ${header} PARENT_SCOPE)
endfunction()

function(_shiftconv_ptx_command source arch output like include)
  cmake_path(GET output PARENT_PATH folder)
  file(MAKE_DIRECTORY ${folder})
  set(include_first)
  if(include)
    set(include_first -I${include})
  endif()
  _shiftconv_left_out(left_out)
  if(left_out)
    list(APPEND include_first -include ${left_out})
  endif()
  set(list_headers)
  set(headers ${like})
  if(NOT like)
    set(list_headers -MD -MT ${output} -MF ${output}.d)
    set(headers DEPFILE ${output}.d)
  endif()
  add_custom_command(
    OUTPUT ${output}
    COMMAND ${SHIFTCONV_CUDA_ROOT}/bin/nvcc -ptx -arch=${arch} ${include_first} ${_shiftconv_kernel_flags} ${list_headers} -o ${output} ${source}
    MAIN_DEPENDENCY ${source}
    DEPENDS ${SHIFTCONV_CUDA_ROOT}/bin/nvcc ${headers}
    COMMENT "PTX ${arch}: ${source}"
    VERBATIM)
endfunction()

# One cubin through cmake/AssembleCubin.cmake, which rejects spills. `depfile` is empty for PTX sources.
function(_shiftconv_cubin_command source arch output depfile)
  set(depfile_arguments)
  if(depfile)
    set(depfile_arguments DEPFILE ${depfile})
  endif()
  add_custom_command(
    OUTPUT ${output}
    COMMAND ${CMAKE_COMMAND} -DCUDA_ROOT=${SHIFTCONV_CUDA_ROOT} -DSOURCE=${source} -DARCH=${arch} -DOUTPUT=${output}
            "-DFLAGS=${_shiftconv_kernel_flags}" -DDEPFILE=${depfile} -DLINE_INFO=${SHIFTCONV_KERNEL_LINE_INFO}
            -P ${_shiftconv_kernel_scripts}/AssembleCubin.cmake
    DEPENDS ${source} ${SHIFTCONV_CUDA_ROOT}/bin/ptxas ${_shiftconv_kernel_scripts}/AssembleCubin.cmake
    ${depfile_arguments}
    COMMENT "SASS ${arch}: ${source}"
    VERBATIM)
endfunction()

# Which SASS belongs to the PTX of an architecture; the first is assembled from the embedded text. Code without features of one
# architecture runs on all devices of its major version from its minor version on (CUDA Programming Guide, Binary Compatibility), so
# PORTABLE sources have sm_100 for 10.3, too. For 10.0 it is that of sm_100a: the cubins differ in three bytes of their notes.
set(_shiftconv_sass_of_sm_100a sm_100a sm_103a sm_110a)
set(_shiftconv_portable_sass_of_sm_100a sm_100 sm_110)
set(_shiftconv_sass_of_sm_90a sm_90a)
set(_shiftconv_portable_sass_of_sm_90a sm_90a)

function(shiftconv_add_kernels)
  cmake_parse_arguments(PARSE_ARGV 0 KERNEL "TARGETS_DIFFER;PORTABLE" "NAME;SOURCE" "ARCHS")
  if(NOT KERNEL_NAME OR NOT KERNEL_SOURCE OR NOT KERNEL_ARCHS OR KERNEL_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "shiftconv_add_kernels(NAME <module> SOURCE <file.cu> ARCHS <sm_100a> <sm_90a>): got '${ARGN}'")
  endif()
  foreach(arch IN LISTS KERNEL_ARCHS)
    if(NOT DEFINED _shiftconv_sass_of_${arch})
      message(FATAL_ERROR "shiftconv_add_kernels(NAME ${KERNEL_NAME}): ARCHS has '${arch}', which is neither sm_100a nor sm_90a")
    endif()
    if(NOT arch IN_LIST SHIFTCONV_ARCHITECTURES)
      list(REMOVE_ITEM KERNEL_ARCHS ${arch})
    endif()
  endforeach()
  if(KERNEL_ARCHS AND KERNEL_PORTABLE AND SHIFTCONV_PTX_ONLY)
    set(KERNEL_ARCHS sm_90)
  endif()
  cmake_path(ABSOLUTE_PATH KERNEL_SOURCE BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR})
  set(module ${KERNEL_NAME})
  set(folder ${CMAKE_CURRENT_BINARY_DIR}/${module}_image)
  set(fatbin ${folder}/${module}.fatbin)

  set(portable)
  if(KERNEL_PORTABLE)
    set(portable portable_)
  endif()
  set(texts)
  set(inputs)
  set(images)
  set(code)
  set(properties)
  set(SHIFTCONV_MODULE_PTX_TEXTS)
  foreach(arch IN LISTS KERNEL_ARCHS)
    set(ptx ${folder}/${module}.${arch}.ptx)
    string(REPLACE sm_ compute_ virtual ${arch})
    _shiftconv_ptx_command(${KERNEL_SOURCE} ${virtual} ${ptx} "" "")
    add_custom_command(
      OUTPUT ${ptx}.zst
      COMMAND shiftconv_compress ${ptx} ${ptx}.zst $<IF:$<BOOL:${SHIFTCONV_PTX_ONLY}>,3,19>
      DEPENDS ${ptx} shiftconv_compress
      COMMENT "Compressing ${module}.${arch}.ptx"
      VERBATIM)
    list(APPEND texts ${ptx}.zst)
    list(APPEND properties SHIFTCONV_PTX_${arch} ${ptx})
    string(APPEND SHIFTCONV_MODULE_PTX_TEXTS "        text ${arch}, \"${ptx}.zst\"\n")
    if(SHIFTCONV_PTX_ONLY)
      string(REPLACE sm_ "" number ${arch})
      list(APPEND inputs ${ptx})
      list(APPEND images --image3=kind=ptx,sm=${number},file=${ptx})
      continue()
    endif()
    foreach(real IN LISTS _shiftconv_${portable}sass_of_${arch})
      set(cubin ${folder}/${module}.${real}.cubin)
      if(real STREQUAL arch OR NOT KERNEL_TARGETS_DIFFER)
        _shiftconv_cubin_command(${ptx} ${real} ${cubin} "")
      else()
        _shiftconv_cubin_command(${KERNEL_SOURCE} ${real} ${cubin} ${cubin}.d)
      endif()
      list(APPEND inputs ${cubin})
      list(APPEND properties SHIFTCONV_CUBIN_${real} ${cubin})
      string(REPLACE sm_ "" number ${real})
      list(APPEND images --image3=kind=elf,sm=${number},file=${cubin})
    endforeach()
  endforeach()
  set(SHIFTCONV_MODULE_CODE)
  if(images)
    set(SHIFTCONV_MODULE_CODE ".incbin \"${fatbin}\"")
    set(code ${fatbin})
  endif()
  add_custom_command(
    OUTPUT ${fatbin}
    # Compressed, as nvcc does with the images that it embeds: the driver unpacks the one that it loads.
    COMMAND ${SHIFTCONV_CUDA_ROOT}/bin/fatbinary --64 --compress-all --compress-mode=$<IF:$<BOOL:${SHIFTCONV_PTX_ONLY}>,speed,size>
            --create=${fatbin} ${images}
    DEPENDS ${inputs}
    COMMENT "Fatbin ${module}"
    VERBATIM)

  if(NOT SHIFTCONV_PTX_ONLY)
    add_custom_target(${module}_machine_code DEPENDS ${inputs})
    add_dependencies(machine_code ${module}_machine_code)
  endif()

  set(SHIFTCONV_MODULE ${module})
  configure_file(${_shiftconv_kernel_scripts}/kernel_image.S.in ${folder}/${module}_image.S @ONLY)
  configure_file(${_shiftconv_kernel_scripts}/kernel_text.S.in ${folder}/${module}_text.S @ONLY)
  configure_file(${_shiftconv_kernel_scripts}/kernel_image.hpp.in ${folder}/${module}_image.hpp @ONLY)
  set_source_files_properties(${folder}/${module}_image.S PROPERTIES OBJECT_DEPENDS "${code}")
  set_source_files_properties(${folder}/${module}_text.S PROPERTIES OBJECT_DEPENDS "${texts}")
  add_library(${module}_text OBJECT ${folder}/${module}_text.S)
  add_library(${module}_image STATIC ${folder}/${module}_image.S)
  target_include_directories(${module}_image INTERFACE ${folder})
  # The table of texts finds its rows in whatever is linked, so that objects must be named, and not an archive that nobody asks for.
  target_link_libraries(${module}_image INTERFACE
    $<$<NOT:$<BOOL:$<TARGET_PROPERTY:SHIFTCONV_EMULATED_BY_PLUGIN>>>:$<TARGET_OBJECTS:${module}_text>>)
  if(properties)
    set_target_properties(${module}_image PROPERTIES ${properties})
  endif()
endfunction()

function(shiftconv_add_ptx)
  cmake_parse_arguments(PARSE_ARGV 0 PTX "ON_DEMAND" "NAME;SOURCE;ARCH;OUTPUT;LIKE;INCLUDE" "")
  if(NOT PTX_NAME OR NOT PTX_SOURCE OR NOT PTX_ARCH OR NOT PTX_OUTPUT OR PTX_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR
      "shiftconv_add_ptx(NAME <target> SOURCE <file.cu> ARCH <compute_100a> OUTPUT <file.ptx> [LIKE <other.ptx>] [INCLUDE <folder>] [ON_DEMAND]): got '${ARGN}'")
  endif()
  cmake_path(ABSOLUTE_PATH PTX_SOURCE BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR})
  cmake_path(ABSOLUTE_PATH PTX_OUTPUT BASE_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR})
  _shiftconv_ptx_command(${PTX_SOURCE} ${PTX_ARCH} ${PTX_OUTPUT} "${PTX_LIKE}" "${PTX_INCLUDE}")
  set(all ALL)
  if(PTX_ON_DEMAND)
    set(all)
  endif()
  add_custom_target(${PTX_NAME} ${all} DEPENDS ${PTX_OUTPUT})
endfunction()
