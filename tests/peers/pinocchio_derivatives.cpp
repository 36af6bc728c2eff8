// As pinocchio.cpp, of the derivatives, into three matrices that stand ready. `pinocchio.c` says which model and which function.
#include "derivatives.hpp"

extern "C" const char peer_model[];
extern "C" const int peer_function;

using Vector = Eigen::VectorXd;
using Given = Eigen::Map<const Vector>;
using Matrix = Eigen::Map<Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>>;

static const Model model = read(peer_model);
static pinocchio::Data data(model);

static inline void call(const double * in, double * out)
{
  const int nv = model.nv;
  const Given q(in, model.nq), v(in + model.nq, nv), x(in + model.nq + nv, nv);
  Matrix by_q(out, nv, nv), by_v(out + nv * nv, nv, nv), by_x(out + 2 * nv * nv, nv, nv);
  if (peer_function == 4)
  {
    pinocchio::computeRNEADerivatives(model, data, q, v, x);
    by_q = data.dtau_dq;
    by_v = data.dtau_dv;
    by_x = data.M.selfadjointView<Eigen::Upper>();
  }
  else
  {
    pinocchio::computeABADerivatives(model, data, q, v, x);
    by_q = data.ddq_dq;
    by_v = data.ddq_dv;
    by_x = data.Minv.selfadjointView<Eigen::Upper>();
  }
}

#include "loops.h"
