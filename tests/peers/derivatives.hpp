// Pinocchio's analytic derivatives of inverse and forward dynamics, over any scalar.
#pragma once

#include <pinocchio/algorithm/aba-derivatives.hpp>
#include <pinocchio/algorithm/rnea-derivatives.hpp>

#include "models.hpp"

// By q, by v, and by the third argument, of which one half is told: the three as a column, each whole and row by row.
template<typename Scalar>
Column<Scalar> derivatives(
  const pinocchio::ModelTpl<Scalar> & model,
  pinocchio::DataTpl<Scalar> & data,
  const std::string & name,
  const Column<Scalar> & q,
  const Column<Scalar> & v,
  const Column<Scalar> & x)
{
  using Matrix = Eigen::Matrix<Scalar, Eigen::Dynamic, Eigen::Dynamic>;
  const int nv = model.nv;
  Matrix by_q = Matrix::Zero(nv, nv), by_v = Matrix::Zero(nv, nv), by_x = Matrix::Zero(nv, nv);
  if (name == "inverse_dynamics_derivatives")
    pinocchio::computeRNEADerivatives(model, data, q, v, x, by_q, by_v, by_x);
  else
    pinocchio::computeABADerivatives(model, data, q, v, x, by_q, by_v, by_x);
  Column<Scalar> found(3 * nv * nv);
  for (int i = 0; i < nv; ++i)
    for (int j = 0; j < nv; ++j)
    {
      found[i * nv + j] = by_q(i, j);
      found[(nv + i) * nv + j] = by_v(i, j);
      found[(2 * nv + i) * nv + j] = i < j ? by_x(i, j) : by_x(j, i);
    }
  return found;
}
