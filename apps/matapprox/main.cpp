#include "program.hpp"

int main(int argc, char** argv) { return matapprox::app::run_program(argc, argv); }
