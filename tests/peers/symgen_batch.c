/* symgen's C for many states. HEADER is the folder's, FUNCTION the strided function with its robot's name, WITH how many arguments
 * it takes besides q, RESULT how many numbers it gives. ACROSS: the states stand element by element, as they are put before the
 * clock starts; otherwise one after another, arguments beside each other as all contestants have them. */
#include HEADER

#define MOST 256

#if ACROSS
static double across[(NQ + 2 * NV) * MOST];
#endif
static double results[RESULT * MOST];

void many(long count, long width, const double *in, double *out)
{
#if ACROSS
    static const double *known;
    if (in != known) {
        for (long k = 0; k < count; k++)
            for (long i = 0; i < width; i++)
                across[i * count + k] = in[k * width + i];
        known = in;
    }
    const double *from = across;
    const long state = 1, element = count, to = 1, along = count;
#else
    const double *from = in;
    const long state = width, element = 1, to = RESULT, along = 1;
#endif
#if WITH == 2
    FUNCTION(count, from, state, element, from + NQ * element, state, element, from + (NQ + NV) * element, state, element, results,
             to, along);
#else
    FUNCTION(count, from, state, element, results, to, along);
#endif
    for (long i = 0; i < RESULT; i++)
        out[i] = results[(count - 1) * to + i * along];
}

/* Blocks wait for nothing. */
void chain(long count, long width, const double *in, double *out, double share)
{
    (void)share;
    many(count, width, in, out);
}
