# CUDA where nvcc is found: sets MATAPPROX_CUDA to ON or OFF.
#
#   MATAPPROX_WITH_CUDA=AUTO   (default) with CUDA if there is an nvcc, else without
#   MATAPPROX_WITH_CUDA=ON     an error if there is none
#   MATAPPROX_WITH_CUDA=OFF    without
#
# CMAKE_CUDA_ARCHITECTURES chooses the GPUs; unset: 80 (A100), 90 (H100, H200) and 100 (B200), of
# those that this nvcc knows.
set(MATAPPROX_WITH_CUDA AUTO CACHE STRING "Kernels for NVIDIA GPUs: AUTO, ON, OFF")
set_property(CACHE MATAPPROX_WITH_CUDA PROPERTY STRINGS AUTO ON OFF)

set(MATAPPROX_CUDA OFF)
if(MATAPPROX_WITH_CUDA)
  find_program(MATAPPROX_NVCC nvcc HINTS ${CMAKE_CUDA_COMPILER} ENV CUDACXX PATHS /usr/local/cuda/bin)
  if(MATAPPROX_NVCC)
    set(MATAPPROX_CUDA ON)
  elseif(NOT MATAPPROX_WITH_CUDA STREQUAL "AUTO")
    message(FATAL_ERROR "MATAPPROX_WITH_CUDA=ON: there is no nvcc; install the CUDA toolkit, 12 or newer, "
                        "or say where it is: -DCMAKE_CUDA_COMPILER=/path/to/nvcc")
  endif()
endif()

if(MATAPPROX_CUDA)
  if(NOT DEFINED CMAKE_CUDA_COMPILER)
    set(CMAKE_CUDA_COMPILER ${MATAPPROX_NVCC})
  endif()
  if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
    execute_process(COMMAND ${MATAPPROX_NVCC} --list-gpu-code OUTPUT_VARIABLE known)
    foreach(architecture 80 90 100)
      if(known MATCHES "sm_${architecture}\n")
        list(APPEND CMAKE_CUDA_ARCHITECTURES ${architecture})
      endif()
    endforeach()
  endif()
  enable_language(CUDA)
  find_package(CUDAToolkit REQUIRED)
  # CMake 3.25 does not know how CUDA 13 spells C++20: as CUDA 12 does.
  if(NOT "cuda_std_20" IN_LIST CMAKE_CUDA_COMPILE_FEATURES)
    list(APPEND CMAKE_CUDA_COMPILE_FEATURES cuda_std_20)
    set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
    set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION -std=c++20)
  endif()
  set(CMAKE_CUDA_STANDARD 20)
  set(CMAKE_CUDA_STANDARD_REQUIRED ON)
  set(CMAKE_CUDA_EXTENSIONS OFF)
  add_library(matapprox_cuda_flags INTERFACE)
  target_compile_options(
    matapprox_cuda_flags
    INTERFACE $<$<COMPILE_LANGUAGE:CUDA>:--expt-relaxed-constexpr -Werror=all-warnings
              -Xcompiler=-Wall,-Wextra,-Wshadow,-Werror,-ffp-contract=off>)
  # Eigen is for the host alone: marked for the GPU too, its functions bring warnings.
  target_compile_definitions(matapprox_cuda_flags INTERFACE $<$<COMPILE_LANGUAGE:CUDA>:EIGEN_NO_CUDA>)
  message(STATUS "CUDA: ${CMAKE_CUDA_COMPILER_VERSION}, for sm_${CMAKE_CUDA_ARCHITECTURES}")
else()
  message(STATUS "CUDA: none, kernels run on the host in tests only")
endif()
