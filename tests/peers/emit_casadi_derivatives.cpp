// As emit_casadi.cpp, of the derivatives:   emit_casadi_derivatives MODEL FUNCTION OUT.c
#include <pinocchio/autodiff/casadi.hpp>

#include "derivatives.hpp"

#define call derivatives
#include "emit_casadi.cpp"
