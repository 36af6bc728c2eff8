// What the programs of this folder share: the model that Python saved, and the four algorithms over any scalar.
#pragma once

#include <string>

#include <pinocchio/algorithm/aba.hpp>
#include <pinocchio/algorithm/crba.hpp>
#include <pinocchio/algorithm/rnea.hpp>
#include <pinocchio/multibody.hpp>
#include <pinocchio/serialization.hpp>

using Model = pinocchio::Model;

inline Model read(const std::string & path)
{
  Model model;
  pinocchio::serialization::loadFromText(model, path);
  return model;
}

// Matrices are functions of the position alone.
inline bool of_position(const std::string & function)
{
  return function == "mass_matrix" || function == "inverse_mass_matrix";
}

template<typename Scalar>
using Column = Eigen::Matrix<Scalar, Eigen::Dynamic, 1>;

// One function's result as a column; a matrix whole, row by row.
template<typename Scalar>
Column<Scalar> call(
  const pinocchio::ModelTpl<Scalar> & model,
  pinocchio::DataTpl<Scalar> & data,
  const std::string & name,
  const Column<Scalar> & q,
  const Column<Scalar> & v,
  const Column<Scalar> & x)
{
  if (name == "inverse_dynamics")
    return pinocchio::rnea(model, data, q, v, x);
  if (name == "forward_dynamics")
    return pinocchio::aba(model, data, q, v, x);
  const bool inverse = name == "inverse_mass_matrix";
  if (inverse)
    pinocchio::computeMinverse(model, data, q);
  else
    pinocchio::crba(model, data, q);
  Column<Scalar> found(model.nv * model.nv);
  for (int i = 0; i < model.nv; ++i)
    for (int j = 0; j < model.nv; ++j)
    {
      const int row = i < j ? i : j, column = i < j ? j : i;
      found[i * model.nv + j] = inverse ? data.Minv(row, column) : data.M(row, column);
    }
  return found;
}
