# The man page, and what `cpack` makes of an installation (scripts/package): Debian packages.
if(MATAPPROX_BUILD_APPS AND NOT MATAPPROX_SANITIZE AND NOT MATAPPROX_COVERAGE AND NOT CMAKE_CROSSCOMPILING)
  set(man_page ${CMAKE_BINARY_DIR}/man/matapprox.1)
  add_custom_command(
    OUTPUT ${man_page}
    COMMAND ${CMAKE_COMMAND} -D PROGRAM=$<TARGET_FILE:matapprox_cli> -D VERSION=${PROJECT_VERSION} -D
            OUTPUT=${man_page} -P ${PROJECT_SOURCE_DIR}/cmake/man_page.cmake
    DEPENDS matapprox_cli matapprox_attention_cli cmake/man_page.cmake
    VERBATIM)
  add_custom_target(matapprox_man ALL DEPENDS ${man_page})
  install(FILES ${man_page} DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT programs)
endif()
# Debian looks for the license of each package in a folder of its name. With CHOLMOD, UMFPACK and
# Debian's Ceres, the programs are under the GPL as a whole.
set(license ${CMAKE_CURRENT_BINARY_DIR}/copyright)
file(READ LICENSE text)
if(MATAPPROX_WITH_SUITESPARSE OR MATAPPROX_WITH_CERES)
  string(PREPEND text "The source is under the license below. Programs linked with CHOLMOD's Supernodal and MatrixOps modules,
UMFPACK or SPQR, as these are, may be distributed under the GNU General Public License only; on Debian its
text is /usr/share/common-licenses/GPL-2, and that of any later version beside it.

")
endif()
file(WRITE ${license} "${text}")
set(packages)
if(MATAPPROX_BUILD_APPS)
  list(APPEND packages programs:matapprox)
endif()
list(APPEND packages core_dev:libmatapprox-core-dev)
if(TARGET matapprox_attention)
  list(APPEND packages dev:libmatapprox-dev)
endif()
if(MATAPPROX_BUILD_PYTHON AND NOT SKBUILD)
  list(APPEND packages python:python3-matapprox)
endif()
set(CPACK_COMPONENTS_ALL)
foreach(package IN LISTS packages)
  string(REPLACE ":" ";" package ${package})
  list(GET package 0 component)
  list(GET package 1 name)
  list(APPEND CPACK_COMPONENTS_ALL ${component})
  install(FILES ${license} DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${name} COMPONENT ${component})
  string(TOUPPER ${component} component)
  set(CPACK_DEBIAN_${component}_PACKAGE_NAME ${name})
endforeach()
if(NOT PROJECT_IS_TOP_LEVEL)
  return()
endif()

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_CONTACT "The matapprox authors <matapprox@localhost>")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION math)
set(CPACK_DEBIAN_PROGRAMS_DESCRIPTION "${PROJECT_DESCRIPTION}")
set(CPACK_DEBIAN_CORE_DEV_DESCRIPTION "C++ library: matrices in memory, methods, errors (matapprox::core)")
set(CPACK_DEBIAN_DEV_DESCRIPTION "C++ library: files and attention (matapprox::io, matapprox::attention)")
# The programs: what their binaries are linked to is looked up; gnuplot draws the charts of reports.
set(CPACK_DEBIAN_PROGRAMS_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PROGRAMS_PACKAGE_RECOMMENDS "gnuplot-nox")
set(CPACK_DEBIAN_CORE_DEV_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEV_PACKAGE_SECTION libdevel)
# The Python module is for one version of Python, whose bytecode is made and removed with the package.
if(MATAPPROX_BUILD_PYTHON)
  math(EXPR next_minor "${MATAPPROX_PYTHON_MINOR} + 1")
  set(CPACK_DEBIAN_PYTHON_DESCRIPTION "${PROJECT_DESCRIPTION} (Python 3)")
  set(CPACK_DEBIAN_PYTHON_PACKAGE_SECTION python)
  set(CPACK_DEBIAN_PYTHON_PACKAGE_SHLIBDEPS ON)
  set(CPACK_DEBIAN_PYTHON_PACKAGE_DEPENDS
      "python3 (>= 3.${MATAPPROX_PYTHON_MINOR}), python3 (<< 3.${next_minor}), python3-numpy, python3-scipy")
  set(CPACK_DEBIAN_PYTHON_PACKAGE_SUGGESTS "python3-pandas, python3-sklearn, python3-torch, python3-tqdm")
  set(CPACK_DEBIAN_PYTHON_PACKAGE_CONTROL_EXTRA "${PROJECT_SOURCE_DIR}/python/debian/postinst;${PROJECT_SOURCE_DIR}/python/debian/prerm")
  set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
endif()
# The libraries: what find_package(matapprox) looks for.
set(core_needs libeigen3-dev libfmt-dev libhwy-dev "libblas-dev | libblas.so" "liblapack-dev | liblapack.so")
if(MATAPPROX_WITH_CERES)
  list(APPEND core_needs libceres-dev)
endif()
if(MATAPPROX_WITH_SUITESPARSE)
  list(APPEND core_needs libsuitesparse-dev)
endif()
set(io_needs "libmatapprox-core-dev (= ${PROJECT_VERSION})" nlohmann-json3-dev libhdf5-dev
             libpng-dev libjpeg-dev zlib1g-dev)
if(MATAPPROX_WITH_MATIO)
  list(APPEND io_needs libmatio-dev pkg-config)
endif()
list(JOIN core_needs ", " CPACK_DEBIAN_CORE_DEV_PACKAGE_DEPENDS)
list(JOIN io_needs ", " CPACK_DEBIAN_DEV_PACKAGE_DEPENDS)
include(CPack)
