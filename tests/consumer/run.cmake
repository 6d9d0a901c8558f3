# Installs the build in BUILD_DIR under a temporary prefix, then configures, builds and runs this
# folder as a project of its own against it.
set(work ${BUILD_DIR}/consumer)
file(REMOVE_RECURSE ${work})

include(${SOURCE_DIR}/tests/consumer/step.cmake)

step(${CMAKE_COMMAND} --install ${BUILD_DIR} --prefix ${work}/prefix)
step(${CMAKE_COMMAND} -S ${SOURCE_DIR}/tests/consumer -B ${work}/build -G ${GENERATOR}
     -D CMAKE_CXX_COMPILER=${CXX_COMPILER} -D CMAKE_BUILD_TYPE=Release
     -D CMAKE_PREFIX_PATH=${work}/prefix)
step(${CMAKE_COMMAND} --build ${work}/build)
step(${work}/build/consumer ${SOURCE_DIR}/matrices/mesh2d.mtx ${work}/mesh2d.h5)
if(NOT output MATCHES "relative error 0\\.[0-9]+")
  message(FATAL_ERROR "consumer: no error between 0 and 1 in its output: ${output}")
endif()
step(${work}/build/consumer_attention)
if(NOT output MATCHES "[|]Y[|] = [0-9.]+, [|]dX[|] = [0-9.]+")
  message(FATAL_ERROR "consumer: no norms in its output: ${output}")
endif()
step(${work}/build/consumer_mechanism)
if(NOT output MATCHES "loss 0\\.[0-9]+, error [0-9.]+ %")
  message(FATAL_ERROR "consumer: no loss in its output: ${output}")
endif()

# The installed program works where it is, knows its version and finds the one for attention.
step(${work}/prefix/bin/matapprox --version)
if(NOT output MATCHES "${VERSION}")
  message(FATAL_ERROR "consumer: expected version ${VERSION}")
endif()
step(${work}/prefix/bin/matapprox attention list)
step(${work}/prefix/bin/matapprox measure ${work}/mesh2d.h5 ${SOURCE_DIR}/matrices/mesh2d.mtx)

# COMPONENTS core is found and linked without the libraries of file formats.
set(without)
foreach(package HDF5 PNG JPEG ZLIB PkgConfig nlohmann_json)
  list(APPEND without -D CMAKE_DISABLE_FIND_PACKAGE_${package}=ON)
endforeach()
step(${CMAKE_COMMAND} -S ${SOURCE_DIR}/tests/consumer/core -B ${work}/core -G ${GENERATOR}
     -D CMAKE_CXX_COMPILER=${CXX_COMPILER} -D CMAKE_BUILD_TYPE=Release
     -D CMAKE_PREFIX_PATH=${work}/prefix ${without})
step(${CMAKE_COMMAND} --build ${work}/core)
step(${work}/core/core_consumer)
if(NOT output MATCHES "truncated_svd: .*nystrom: .*chord: relative error")
  message(FATAL_ERROR "consumer: three errors expected: ${output}")
endif()
