# Installation as a CMake package and for pkg-config, in install components. Included once the targets exist.
#   ShiftConv                the convolution library: find_package(ShiftConv), pkg-config shiftconv
#   ShiftConvEmulatedDevice  what that loads when an emulated device is opened
#   ShiftConvEmulator        the PTX machine by itself: find_package(ShiftConv COMPONENTS emulator)
#   ShiftConvTools           ptxrun and emurun, with the libraries that they need
# All but the second stand alone.

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
file(RELATIVE_PATH _shiftconv_up ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
configure_file(${PROJECT_SOURCE_DIR}/cmake/shiftconv.pc.in ${PROJECT_BINARY_DIR}/shiftconv.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/shiftconv.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT ShiftConv)

if(TARGET shiftconv_emulated)
  install(TARGETS shiftconv_emulated COMPONENT ShiftConvEmulatedDevice LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
  install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT ShiftConvEmulatedDevice)
endif()

_shiftconv_install(shiftconv_emulator_library emulator ShiftConvEmulator)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/common/emulator/include/shiftconv DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  COMPONENT ShiftConvEmulator FILES_MATCHING PATTERN "*.hpp")

# Called once the programs exist, too.
function(shiftconv_install_tools)
  set_target_properties(ptxrun PROPERTIES INSTALL_RPATH $ORIGIN/../${CMAKE_INSTALL_LIBDIR})
  set_target_properties(emulated_cudart PROPERTIES INSTALL_RPATH $ORIGIN)
  install(TARGETS ptxrun emurun COMPONENT ShiftConvTools RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  install(TARGETS shiftconv_emulator_library COMPONENT ShiftConvTools LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} NAMELINK_SKIP)
  install(TARGETS emulated_cuda emulated_cudart COMPONENT ShiftConvTools
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/emulated_cuda NAMELINK_SKIP)
  install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT ShiftConvTools)
endfunction()
