/* What `pinocchio.cpp` is asked for. FUNCTION and MODEL come from the command line of the compiler. */
const char peer_model[] = MODEL;
const int peer_function = FUNCTION;
