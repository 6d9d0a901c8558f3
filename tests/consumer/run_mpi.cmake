# The same for matapprox::mpi: what it needs of the build in BUILD_DIR is installed, and a program of
# PETSc's is built with it and run on two processes.
set(work ${BUILD_DIR}/mpi_consumer)
file(REMOVE_RECURSE ${work})

include(${SOURCE_DIR}/tests/consumer/step.cmake)

foreach(component core_dev mpi_dev)
  step(${CMAKE_COMMAND} --install ${BUILD_DIR} --prefix ${work}/prefix --component ${component})
endforeach()
step(${CMAKE_COMMAND} -S ${SOURCE_DIR}/tests/consumer/mpi -B ${work}/build -G ${GENERATOR}
     -D CMAKE_CXX_COMPILER=${CXX_COMPILER} -D CMAKE_BUILD_TYPE=Release
     -D CMAKE_PREFIX_PATH=${work}/prefix)
step(${CMAKE_COMMAND} --build ${work}/build)
step(${MPIEXEC} -q --oversubscribe --allow-run-as-root --bind-to none -n 2 ${work}/build/mpi_consumer)
if(NOT output MATCHES "[|]B x[|] = [0-9.]+")
  message(FATAL_ERROR "mpi_consumer: no norm in its output: ${output}")
endif()
