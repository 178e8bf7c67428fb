# Device code without CMake's CUDA language: the build needs nvcc, ptxas and fatbinary, links nothing of the CUDA
# runtime, and keeps the PTX text, because that text is also what the emulator executes.
#
#   shiftconv_add_kernels(NAME <module> SOURCE <file.cu>)
#       Static library <module>_image with PTX (compute_100a) and a fatbin (sm_100a, sm_103a, sm_110a) inside, and
#       the header <module>_image.hpp that gives access to both:
#           std::string_view            shiftconv::images::<module>_ptx()     ends with a NUL after the view
#           std::span<const std::byte>  shiftconv::images::<module>_fatbin()
#       The sm_100a cubin is assembled from exactly the embedded PTX. Register spills or a stack frame in any of the
#       cubins fail the build. Target properties SHIFTCONV_PTX and SHIFTCONV_CUBIN_sm_<arch> hold the files' paths.
#
#   shiftconv_add_ptx(NAME <target> SOURCE <file.cu> ARCH <compute_100a> OUTPUT <path/in/build/tree.ptx>)
#       A plain PTX file, for test kernels. Depend on <target>, or on the file.
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
set(_shiftconv_kernel_scripts ${CMAKE_CURRENT_LIST_DIR})

add_library(shiftconv_cuda_headers INTERFACE)
target_include_directories(shiftconv_cuda_headers SYSTEM INTERFACE ${SHIFTCONV_CUDA_ROOT}/include)

function(_shiftconv_ptx_command source arch output)
  cmake_path(GET output PARENT_PATH folder)
  file(MAKE_DIRECTORY ${folder})
  add_custom_command(
    OUTPUT ${output}
    COMMAND ${SHIFTCONV_CUDA_ROOT}/bin/nvcc -ptx -arch=${arch} ${_shiftconv_kernel_flags}
            -MD -MT ${output} -MF ${output}.d -o ${output} ${source}
    MAIN_DEPENDENCY ${source}
    DEPENDS ${SHIFTCONV_CUDA_ROOT}/bin/nvcc
    DEPFILE ${output}.d
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
            "-DFLAGS=${_shiftconv_kernel_flags}" -DDEPFILE=${depfile}
            -P ${_shiftconv_kernel_scripts}/AssembleCubin.cmake
    DEPENDS ${source} ${SHIFTCONV_CUDA_ROOT}/bin/ptxas ${_shiftconv_kernel_scripts}/AssembleCubin.cmake
    ${depfile_arguments}
    COMMENT "SASS ${arch}: ${source}"
    VERBATIM)
endfunction()

function(shiftconv_add_kernels)
  cmake_parse_arguments(PARSE_ARGV 0 KERNEL "" "NAME;SOURCE" "")
  if(NOT KERNEL_NAME OR NOT KERNEL_SOURCE OR KERNEL_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "shiftconv_add_kernels(NAME <module> SOURCE <file.cu>): got '${ARGN}'")
  endif()
  cmake_path(ABSOLUTE_PATH KERNEL_SOURCE BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR})
  set(module ${KERNEL_NAME})
  set(folder ${CMAKE_CURRENT_BINARY_DIR}/${module}_image)
  set(ptx ${folder}/${module}.ptx)
  set(fatbin ${folder}/${module}.fatbin)

  _shiftconv_ptx_command(${KERNEL_SOURCE} compute_100a ${ptx})
  _shiftconv_cubin_command(${ptx} sm_100a ${folder}/${module}.sm_100a.cubin "")
  foreach(arch sm_103a sm_110a)
    set(cubin ${folder}/${module}.${arch}.cubin)
    _shiftconv_cubin_command(${KERNEL_SOURCE} ${arch} ${cubin} ${cubin}.d)
  endforeach()

  set(cubins)
  set(images)
  foreach(arch 100a 103a 110a)
    list(APPEND cubins ${folder}/${module}.sm_${arch}.cubin)
    list(APPEND images --image3=kind=elf,sm=${arch},file=${folder}/${module}.sm_${arch}.cubin)
  endforeach()
  add_custom_command(
    OUTPUT ${fatbin}
    COMMAND ${SHIFTCONV_CUDA_ROOT}/bin/fatbinary --64 --create=${fatbin} ${images}
    DEPENDS ${cubins}
    COMMENT "Fatbin ${module}"
    VERBATIM)

  set(SHIFTCONV_MODULE ${module})
  set(SHIFTCONV_MODULE_PTX ${ptx})
  set(SHIFTCONV_MODULE_FATBIN ${fatbin})
  configure_file(${_shiftconv_kernel_scripts}/kernel_image.S.in ${folder}/${module}_image.S @ONLY)
  configure_file(${_shiftconv_kernel_scripts}/kernel_image.hpp.in ${folder}/${module}_image.hpp @ONLY)
  set_source_files_properties(${folder}/${module}_image.S PROPERTIES OBJECT_DEPENDS "${ptx};${fatbin}")
  add_library(${module}_image STATIC ${folder}/${module}_image.S)
  target_include_directories(${module}_image INTERFACE ${folder})
  set_target_properties(${module}_image PROPERTIES
    SHIFTCONV_PTX ${ptx}
    SHIFTCONV_CUBIN_sm_100a ${folder}/${module}.sm_100a.cubin
    SHIFTCONV_CUBIN_sm_103a ${folder}/${module}.sm_103a.cubin
    SHIFTCONV_CUBIN_sm_110a ${folder}/${module}.sm_110a.cubin)
endfunction()

function(shiftconv_add_ptx)
  cmake_parse_arguments(PARSE_ARGV 0 PTX "" "NAME;SOURCE;ARCH;OUTPUT" "")
  if(NOT PTX_NAME OR NOT PTX_SOURCE OR NOT PTX_ARCH OR NOT PTX_OUTPUT OR PTX_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR
      "shiftconv_add_ptx(NAME <target> SOURCE <file.cu> ARCH <compute_100a> OUTPUT <file.ptx>): got '${ARGN}'")
  endif()
  cmake_path(ABSOLUTE_PATH PTX_SOURCE BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR})
  cmake_path(ABSOLUTE_PATH PTX_OUTPUT BASE_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR})
  _shiftconv_ptx_command(${PTX_SOURCE} ${PTX_ARCH} ${PTX_OUTPUT})
  add_custom_target(${PTX_NAME} ALL DEPENDS ${PTX_OUTPUT})
endfunction()
