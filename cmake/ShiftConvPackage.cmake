# What leaves the build: the exported symbols of libshiftconv, and its installation as a CMake package in which
# find_package(ShiftConv) offers ShiftConv::shiftconv. Included once the target `shiftconv` exists.

include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

# Before 1.0 a minor release may change the interface, so it is part of the soname.
set_target_properties(shiftconv PROPERTIES
  VERSION ${PROJECT_VERSION}
  SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}
  LINK_DEPENDS ${PROJECT_SOURCE_DIR}/cmake/shiftconv.map)
# -fvisibility=hidden does not reach template instantiations of the standard library and fmt; the map does.
target_link_options(shiftconv PRIVATE
  -Wl,--version-script=${PROJECT_SOURCE_DIR}/cmake/shiftconv.map -Wl,--no-undefined)

set(_shiftconv_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/ShiftConv)

install(TARGETS shiftconv EXPORT ShiftConvTargets COMPONENT ShiftConv
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
  INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/conv/include/shiftconv DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  COMPONENT ShiftConv FILES_MATCHING PATTERN "*.h" PATTERN "*.hpp")
install(EXPORT ShiftConvTargets NAMESPACE ShiftConv:: DESTINATION ${_shiftconv_package_dir} COMPONENT ShiftConv)
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT ShiftConv)

configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/ShiftConvConfig.cmake.in
  ${PROJECT_BINARY_DIR}/ShiftConvConfig.cmake INSTALL_DESTINATION ${_shiftconv_package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/ShiftConvConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/ShiftConvConfig.cmake ${PROJECT_BINARY_DIR}/ShiftConvConfigVersion.cmake
  DESTINATION ${_shiftconv_package_dir} COMPONENT ShiftConv)
