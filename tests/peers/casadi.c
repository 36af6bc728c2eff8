/* CasADi's C. FILE is what `emit_casadi` wrote, FUNCTION its function, NQ and NV the sizes. */
int FUNCTION(const double **arg, double **res, long long *iw, double *w, int mem);

static inline void call(const double *in, double *out)
{
    const double *arg[8] = {in, in + NQ, in + NQ + NV};
    double *res[8] = {out};
    FUNCTION(arg, res, 0, 0, 0);
}

#include "loops.h"
