# `cmake --build --preset tidy`: clang-tidy on every source of ours, both processors.
find_program(RUN_CLANG_TIDY NAMES run-clang-tidy run-clang-tidy-14)
if(RUN_CLANG_TIDY)
  include(ProcessorCount)
  ProcessorCount(MATAPPROX_PROCESSORS)
  add_custom_target(
    tidy
    COMMAND ${RUN_CLANG_TIDY} -quiet -j ${MATAPPROX_PROCESSORS} -p ${CMAKE_BINARY_DIR}
            "${CMAKE_SOURCE_DIR}/(src|apps|tests)/.*\\.cpp$"
    WORKING_DIRECTORY ${CMAKE_SOURCE_DIR}
    USES_TERMINAL)
endif()
