/* Calls a contestant COUNT times, for valgrind:   counter LIBRARY COUNT WIDTH STATES, the last a file of doubles. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    static double in[1 << 18], out[1 << 16];
    void *library = argc == 5 ? dlopen(argv[1], RTLD_NOW) : 0;
    void (*many)(long, long, const double *, double *);
    FILE *file = library ? fopen(argv[4], "rb") : 0;
    if (!file || !fread(in, sizeof *in, sizeof in / sizeof *in, file))
        return 1;
    *(void **)&many = dlsym(library, "many");
    many(atol(argv[2]), atol(argv[3]), in, out);
    return 0;
}
