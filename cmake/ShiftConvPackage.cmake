# Installation as a CMake package, in two install components that stand alone: ShiftConv (the convolution library,
# find_package(ShiftConv)) and ShiftConvEmulator (the PTX machine, find_package(ShiftConv COMPONENTS emulator)). Included once
# the targets exist.

include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

set(_shiftconv_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/ShiftConv)
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/ShiftConvConfig.cmake.in
  ${PROJECT_BINARY_DIR}/ShiftConvConfig.cmake INSTALL_DESTINATION ${_shiftconv_package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/ShiftConvConfigVersion.cmake COMPATIBILITY SameMinorVersion)

# _shiftconv_install(TARGET PART COMPONENT): the library as ShiftConv::PART.
function(_shiftconv_install target part component)
  install(TARGETS ${target} EXPORT ShiftConvTargets-${part} COMPONENT ${component} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
  install(EXPORT ShiftConvTargets-${part} NAMESPACE ShiftConv:: DESTINATION ${_shiftconv_package_dir} COMPONENT ${component})
  install(FILES ${PROJECT_BINARY_DIR}/ShiftConvConfig.cmake ${PROJECT_BINARY_DIR}/ShiftConvConfigVersion.cmake
    DESTINATION ${_shiftconv_package_dir} COMPONENT ${component})
  install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT ${component})
endfunction()

_shiftconv_install(shiftconv shiftconv ShiftConv)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/conv/include/shiftconv DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  COMPONENT ShiftConv FILES_MATCHING PATTERN "*.h" PATTERN "*.hpp")
_shiftconv_install(shiftconv_emulator_library emulator ShiftConvEmulator)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/common/emulator/include/shiftconv DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  COMPONENT ShiftConvEmulator FILES_MATCHING PATTERN "*.hpp")
