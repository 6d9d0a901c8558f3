# Flags for our own code only: a private, never exported interface target.
add_library(matapprox_private_flags INTERFACE)
# Threads are ours alone (core/memory.hpp): Eigen must not start its own beside them.
target_compile_definitions(matapprox_private_flags INTERFACE EIGEN_DONT_PARALLELIZE)
# For C++ alone: nvcc has flags of its own (MatapproxCuda.cmake).
function(matapprox_add_flags)
  target_compile_options(matapprox_private_flags INTERFACE "$<$<COMPILE_LANGUAGE:CXX>:${ARGV}>")
endfunction()
matapprox_add_flags(-Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Werror)
# The same bits whatever the compiler: no silent contraction of a*b+c; kernels ask for FMA themselves.
matapprox_add_flags(-ffp-contract=off -fno-math-errno -fno-trapping-math)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # GCC 12 sees uninitialized or out-of-bounds reads inside Eigen and std::string that are not there.
  matapprox_add_flags(-Wno-maybe-uninitialized -Wno-array-bounds -Wno-restrict -Wno-stringop-overflow)
endif()
if(MATAPPROX_SANITIZE)
  matapprox_add_flags(-fsanitize=${MATAPPROX_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer -g1)
  target_link_options(matapprox_private_flags INTERFACE -fsanitize=${MATAPPROX_SANITIZE})
  # These checks of every load, store and sum of a pointer and a number were half of the compiler's time
  # (143 s with them, 62 s without, for the softmax tiles). A null pointer ends the program without
  # them, the address sanitizer finds an access beyond an array, and numbers at odd addresses come
  # from files: the code that reads files has all checks.
  if(NOT MATAPPROX_BUILD_FUZZERS)
    matapprox_add_flags(
      "$<$<NOT:$<BOOL:$<TARGET_PROPERTY:MATAPPROX_READS_FILES>>>:-fno-sanitize=null,alignment,object-size,pointer-overflow>")
  endif()
endif()
if(MATAPPROX_COVERAGE)
  matapprox_add_flags(--coverage -O1)
  target_link_options(matapprox_private_flags INTERFACE --coverage)
endif()

# With sanitizers, optimizing is more than half of the compiler's time: what spends its time in the
# library, the programs and readers, is compiled without.
function(matapprox_carries_only target)
  if(MATAPPROX_SANITIZE)
    target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O0>)
    get_target_property(type ${target} TYPE)
    if(type STREQUAL "EXECUTABLE")
      # The optimized objects come first, all of them: else the linker would take Eigen's inline
      # functions from the others, and the tests run four times as long.
      target_link_options(
        ${target} PRIVATE "LINKER:--whole-archive,$<TARGET_FILE:matapprox_core>,${ARGN}--no-whole-archive")
    endif()
  endif()
endfunction()
