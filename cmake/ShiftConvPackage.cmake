# Installation of the library as a CMake package: find_package(ShiftConv) offers ShiftConv::shiftconv. Included once the
# target `shiftconv` exists.

include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

set(_shiftconv_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/ShiftConv)

install(TARGETS shiftconv EXPORT ShiftConvTargets COMPONENT ShiftConv
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/conv/include/shiftconv DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  COMPONENT ShiftConv FILES_MATCHING PATTERN "*.h" PATTERN "*.hpp")
install(EXPORT ShiftConvTargets NAMESPACE ShiftConv:: DESTINATION ${_shiftconv_package_dir} COMPONENT ShiftConv)
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT ShiftConv)

configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/ShiftConvConfig.cmake.in
  ${PROJECT_BINARY_DIR}/ShiftConvConfig.cmake INSTALL_DESTINATION ${_shiftconv_package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/ShiftConvConfigVersion.cmake COMPATIBILITY SameMajorVersion)
install(FILES ${PROJECT_BINARY_DIR}/ShiftConvConfig.cmake ${PROJECT_BINARY_DIR}/ShiftConvConfigVersion.cmake
  DESTINATION ${_shiftconv_package_dir} COMPONENT ShiftConv)
