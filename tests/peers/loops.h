/* What times a function, around `call(in, out)`, which a contestant defines before it includes this file. `in` holds q and what
 * else the function takes, one after another. */
#ifdef __cplusplus
extern "C" {
#endif

/* Calls beside each other: the processor may begin one before the last has ended. */
void many(long count, long width, const double *in, double *out)
{
    for (long k = 0; k < count; k++)
        call(in + k * width, out);
}

/* Each call waits for the one before, as in a simulation: its first argument takes a share, nothing, of the last result. */
void chain(long count, long width, const double *in, double *out, double share)
{
    double state[512];
    for (long k = 0; k < count; k++) {
        for (long i = 0; i < width; i++)
            state[i] = in[k * width + i];
        state[0] += share * out[0];
        call(state, out);
    }
}

#ifdef _OPENMP
/* Many at once: `threads` share them out, and the results stand one behind the other. */
void crowd(long count, long width, const double *in, long results, double *out, int threads)
{
#pragma omp parallel for num_threads(threads)
    for (long k = 0; k < count; k++)
        call(in + k * width, out + k * results);
}
#endif

#ifdef __cplusplus
}
#endif
