# Flags for our own code only: a private, never exported interface target.
add_library(matapprox_private_flags INTERFACE)
# Threads are ours alone (core/threads.hpp): Eigen must not start its own beside them.
target_compile_definitions(matapprox_private_flags INTERFACE EIGEN_DONT_PARALLELIZE)
target_compile_options(matapprox_private_flags INTERFACE -Wall -Wextra -Wpedantic -Wshadow
                                                         -Wnon-virtual-dtor -Werror)
# The same bits whatever the compiler: no silent contraction of a*b+c; kernels ask for FMA themselves.
target_compile_options(matapprox_private_flags INTERFACE -ffp-contract=off -fno-math-errno
                                                         -fno-trapping-math)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # GCC 12 sees uninitialised or out-of-bounds reads inside Eigen and std::string that are not there.
  target_compile_options(matapprox_private_flags INTERFACE -Wno-maybe-uninitialized
                                                           -Wno-array-bounds -Wno-restrict
                                                           -Wno-stringop-overflow)
endif()
if(MATAPPROX_SANITIZE)
  target_compile_options(matapprox_private_flags INTERFACE -fsanitize=${MATAPPROX_SANITIZE}
                                                           -fno-sanitize-recover=all
                                                           -fno-omit-frame-pointer -g1 -O1)
  target_link_options(matapprox_private_flags INTERFACE -fsanitize=${MATAPPROX_SANITIZE})
endif()
if(MATAPPROX_COVERAGE)
  target_compile_options(matapprox_private_flags INTERFACE --coverage -O1)
  target_link_options(matapprox_private_flags INTERFACE --coverage)
endif()
