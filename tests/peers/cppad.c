/* CppADCodeGen's C. FUNCTION is the function that `emit_cppad` wrote. */
void FUNCTION(const double *in, double *out);

#define call FUNCTION
#include "loops.h"
