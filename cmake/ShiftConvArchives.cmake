# What `./bootstrap package` makes, by CPack: a tar archive of everything, and Debian packages.
#   libshiftconv0.3         the convolution library
#   libshiftconv-dev        headers, CMake package, pkg-config
#   libshiftconv-emulated   the emulated device
#   shiftconv-tools         ptxrun and emurun
# Debian packages must not share files, so that the library and what is for development come as components of their own here, beside
# ShiftConv, which has both (ShiftConvPackage.cmake). Included once all other components exist.

install(TARGETS shiftconv COMPONENT ShiftConvRuntime LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} NAMELINK_SKIP EXCLUDE_FROM_ALL)
install(TARGETS shiftconv COMPONENT ShiftConvDevelopment LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} NAMELINK_ONLY EXCLUDE_FROM_ALL)
shiftconv_install_development(ShiftConvDevelopment EXCLUDE_FROM_ALL)
_shiftconv_install_licence(ShiftConvRuntime EXCLUDE_FROM_ALL)
_shiftconv_install_licence(ShiftConvDevelopment EXCLUDE_FROM_ALL)

set(CPACK_GENERATOR TGZ DEB)
set(CPACK_PACKAGE_NAME shiftconv)
set(CPACK_PACKAGE_VENDOR ShiftConv)
set(CPACK_PACKAGE_CONTACT "the developers of ShiftConv <shiftconv@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL ShiftConvRuntime ShiftConvDevelopment ShiftConvEmulatedDevice ShiftConvTools)
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_ARCHIVE_COMPONENT_INSTALL OFF)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${CMAKE_LIBRARY_OUTPUT_DIRECTORY} ${CMAKE_LIBRARY_OUTPUT_DIRECTORY}/emulated_cuda)

set(_shiftconv_runtime libshiftconv${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
set(_shiftconv_same_version "${_shiftconv_runtime} (= ${PROJECT_VERSION})")
# _shiftconv_debian(COMPONENT PACKAGE DEPENDS SUMMARY)
macro(_shiftconv_debian component package depends summary)
  string(TOUPPER ${component} _shiftconv_upper)
  set(CPACK_DEBIAN_${_shiftconv_upper}_PACKAGE_NAME ${package})
  set(CPACK_DEBIAN_${_shiftconv_upper}_PACKAGE_DEPENDS "${depends}")
  set(CPACK_COMPONENT_${_shiftconv_upper}_DESCRIPTION "${summary}")
endmacro()
_shiftconv_debian(ShiftConvRuntime ${_shiftconv_runtime} "" "Convolutions for inference on NVIDIA GPUs: the library")
_shiftconv_debian(ShiftConvDevelopment libshiftconv-dev "${_shiftconv_same_version}"
  "Convolutions for inference on NVIDIA GPUs: headers, CMake package and pkg-config")
_shiftconv_debian(ShiftConvEmulatedDevice libshiftconv-emulated "${_shiftconv_same_version}"
  "Convolutions for inference on NVIDIA GPUs: a device emulated on the host")
_shiftconv_debian(ShiftConvTools shiftconv-tools "" "ptxrun and emurun: PTX kernels and CUDA programs without a GPU")
include(CPack)
