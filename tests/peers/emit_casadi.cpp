// Pinocchio's algorithms over CasADi's SX, as CasADi's own C into this folder:   emit_casadi MODEL FUNCTION OUT.c
#include <pinocchio/autodiff/casadi.hpp>

#include "models.hpp"

using casadi::SX;

static Column<SX> column(const SX & symbols)
{
  Column<SX> found(symbols.size1());
  for (int k = 0; k < found.size(); ++k)
    found[k] = symbols(k);
  return found;
}

int main(int, char ** given)
{
  const auto model = read(given[1]).cast<SX>();
  const std::string function = given[2];
  pinocchio::DataTpl<SX> data(model);
  const SX q = SX::sym("q", model.nq), v = SX::sym("v", model.nv), x = SX::sym("x", model.nv);
  const auto answer = call<SX>(model, data, function, column(q), column(v), column(x));
  SX out(answer.size(), 1);
  for (int k = 0; k < answer.size(); ++k)
    out(k) = answer[k];
  casadi::CodeGenerator file(given[3]);
  file.add(casadi::Function(function, of_position(function) ? std::vector<SX>{q} : std::vector<SX>{q, v, x}, {out}));
  file.generate();
}
