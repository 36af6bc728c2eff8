// Pinocchio's own C++ on doubles. `pinocchio.c` says which model and which function, so that this is compiled once for all.
#include "models.hpp"

extern "C" const char peer_model[];
extern "C" const int peer_function;

using Vector = Eigen::VectorXd;
using Given = Eigen::Map<const Vector>;

static const Model model = read(peer_model);
#ifdef _OPENMP
static thread_local pinocchio::Data data(model);
#else
static pinocchio::Data data(model);
#endif

static inline void call(const double * in, double * out)
{
  const int nv = model.nv;
  const Given q(in, model.nq), v(in + model.nq, nv), x(in + model.nq + nv, nv);
  Eigen::Map<Vector> answer(out, nv);
  Eigen::Map<Eigen::MatrixXd> matrix(out, nv, nv);
  switch (peer_function)
  {
  case 0:
    answer = pinocchio::rnea(model, data, q, v, x);
    break;
  case 1:
    answer = pinocchio::aba(model, data, q, v, x);
    break;
  case 2:
    pinocchio::crba(model, data, q);
    matrix = data.M.selfadjointView<Eigen::Upper>();
    break;
  default:
    pinocchio::computeMinverse(model, data, q);
    matrix = data.Minv.selfadjointView<Eigen::Upper>();
  }
}

#include "loops.h"
