install(
  TARGETS matapprox_base matapprox_attention matapprox
  EXPORT matapproxTargets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
  FILE_SET HEADERS DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(
  EXPORT matapproxTargets
  NAMESPACE matapprox::
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/matapprox)
configure_package_config_file(
  cmake/matapproxConfig.cmake.in ${CMAKE_CURRENT_BINARY_DIR}/matapproxConfig.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/matapprox)
write_basic_package_version_file(
  ${CMAKE_CURRENT_BINARY_DIR}/matapproxConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/matapproxConfig.cmake
              ${CMAKE_CURRENT_BINARY_DIR}/matapproxConfigVersion.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/matapprox)
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
