// Pinocchio's algorithms, taped and optimised by CppAD, as CppADCodeGen's C:   emit_cppad MODEL FUNCTION OUT.c
#include <pinocchio/codegen/cppadcg.hpp>

#include <fstream>
#include <vector>

#include "models.hpp"

using Traced = CppAD::cg::CG<double>;
using Scalar = CppAD::AD<Traced>;

int main(int, char ** given)
{
  const auto model = read(given[1]).cast<Scalar>();
  const std::string function = given[2];
  pinocchio::DataTpl<Scalar> data(model);
  const int nq = model.nq, nv = model.nv;
  Column<Scalar> in = Column<Scalar>::Zero(of_position(function) ? nq : nq + 2 * nv);
  CppAD::Independent(in);
  Column<Scalar> all = Column<Scalar>::Zero(nq + 2 * nv);
  all.head(in.size()) = in;
  Column<Scalar> out = call<Scalar>(model, data, function, all.head(nq), all.segment(nq, nv), all.tail(nv));
  CppAD::ADFun<Traced> taped;
  taped.Dependent(in, out);
  taped.optimize("no_compare_op");

  CppAD::cg::CodeHandler<double> handler;
  Column<Traced> symbols(in.size());
  handler.makeVariables(symbols);
  const Column<Traced> results = taped.Forward(0, symbols);
  std::vector<Traced> answer(results.data(), results.data() + results.size());
  CppAD::cg::LanguageC<double> language("double");
  CppAD::cg::LangCDefaultVariableNameGenerator<double> names;
  std::ostringstream body;
  handler.generateCode(body, language, answer, names);
  std::ofstream(given[3]) << "#include <math.h>\n\nvoid " << function << "(const double *x, double *y)\n{\n   double v["
                          << handler.getTemporaryVariableCount() + 1 << "];\n" << body.str() << "}\n";
}
