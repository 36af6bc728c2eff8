/* symgen's C. HEADER is the folder's, FUNCTION the function with its robot's name, WITH how many arguments it takes besides q, and
 * RESULTS how many it has: three are matrices. */
#include HEADER

static inline void call(const double *in, double *out)
{
#if RESULTS == 3
    FUNCTION(in, in + NQ, in + NQ + NV, out, out + NV * NV, out + 2 * NV * NV);
#elif WITH == 2
    FUNCTION(in, in + NQ, in + NQ + NV, out);
#else
    FUNCTION(in, out);
#endif
}

#include "loops.h"
