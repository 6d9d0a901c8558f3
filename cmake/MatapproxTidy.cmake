# `cmake --build --preset tidy`: clang-tidy on every source of the library and the programs, several
# files at a time (CMAKE_UNITY_BUILD): the checks go through all that a batch includes, the standard
# library and Eigen too, and this is four fifths of their time, so few and large batches cost least;
# target tidy-tests: on the tests, in their batches.
find_program(RUN_CLANG_TIDY NAMES run-clang-tidy run-clang-tidy-14)
if(RUN_CLANG_TIDY)
  include(ProcessorCount)
  ProcessorCount(MATAPPROX_CPUS)
  set(MATAPPROX_RUN_TIDY ${RUN_CLANG_TIDY} -quiet -j ${MATAPPROX_CPUS} -p ${CMAKE_BINARY_DIR})
  add_custom_target(
    tidy
    COMMAND ${MATAPPROX_RUN_TIDY}
            "(Unity/unity_[0-9]+_cxx\\.cxx|${CMAKE_SOURCE_DIR}/(src|apps)/.*\\.cpp)$"
    WORKING_DIRECTORY ${CMAKE_SOURCE_DIR}
    USES_TERMINAL VERBATIM)
  add_custom_target(
    tidy-tests
    COMMAND ${MATAPPROX_RUN_TIDY} "(matapprox_[a-z_]+\\.dir/Unity/unity_[a-z_]+_[0-9]+_cxx\\.cxx|${CMAKE_SOURCE_DIR}/tests/.*\\.cpp)$"
    WORKING_DIRECTORY ${CMAKE_SOURCE_DIR}
    USES_TERMINAL VERBATIM)
endif()
