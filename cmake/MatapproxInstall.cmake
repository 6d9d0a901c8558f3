# One file of targets for each component: find_package asks only for what those that are named need.
set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME core_dev)
foreach(component IN LISTS MATAPPROX_COMPONENTS)
  set(package dev)
  if(component STREQUAL "core")
    set(package core_dev)
  endif()
  install(
    TARGETS matapprox_${component}
    EXPORT matapprox_${component}
    ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT ${package}
    FILE_SET HEADERS DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT ${package})
  install(
    EXPORT matapprox_${component}
    NAMESPACE matapprox::
    FILE matapprox-${component}.cmake
    DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/matapprox
    COMPONENT ${package})
endforeach()
if(TARGET matapprox_mpi)
  install(
    TARGETS matapprox_mpi
    EXPORT matapprox_mpi
    ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT mpi_dev
    FILE_SET HEADERS DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT mpi_dev)
  install(
    EXPORT matapprox_mpi
    NAMESPACE matapprox::
    FILE matapprox-mpi.cmake
    DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/matapprox
    COMPONENT mpi_dev)
endif()
if(TARGET matapprox_attention)
  install(TARGETS matapprox EXPORT matapprox FILE_SET HEADERS DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT dev)
  install(
    EXPORT matapprox
    NAMESPACE matapprox::
    FILE matapprox-all.cmake
    DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/matapprox
    COMPONENT dev)
endif()
configure_package_config_file(
  cmake/matapproxConfig.cmake.in ${CMAKE_CURRENT_BINARY_DIR}/matapproxConfig.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/matapprox)
write_basic_package_version_file(
  ${CMAKE_CURRENT_BINARY_DIR}/matapproxConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/matapproxConfig.cmake
              ${CMAKE_CURRENT_BINARY_DIR}/matapproxConfigVersion.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/matapprox)
