/* symgen's C. HEADER is the folder's, FUNCTION the function with its robot's name, WITH how many arguments it takes besides q. */
#include HEADER

static inline void call(const double *in, double *out)
{
#if WITH == 2
    FUNCTION(in, in + NQ, in + NQ + NV, out);
#else
    FUNCTION(in, out);
#endif
}

#include "loops.h"
