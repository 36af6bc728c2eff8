// Memory of a GPU and the time of what runs there, for Python's ctypes. Each int that is returned is a cudaError_t.
#include <cuda_runtime.h>

extern "C" {

void *host_new(size_t bytes)
{
    void *place = 0;
    return cudaMalloc(&place, bytes) == cudaSuccess ? place : 0;
}

int host_put(void *to, const void *from, size_t bytes) { return (int)cudaMemcpy(to, from, bytes, cudaMemcpyHostToDevice); }

int host_get(void *to, const void *from, size_t bytes) { return (int)cudaMemcpy(to, from, bytes, cudaMemcpyDeviceToHost); }

int host_free(void *place) { return (int)cudaFree(place); }

static cudaEvent_t begun, ended;

int host_begin(void)
{
    if (begun == 0) {
        cudaEventCreate(&begun);
        cudaEventCreate(&ended);
    }
    return (int)cudaEventRecord(begun, 0);
}

// Since host_begin, on the default stream; negative where something failed there.
float host_milliseconds(void)
{
    float found = -1;
    cudaEventRecord(ended, 0);
    if (cudaEventSynchronize(ended) != cudaSuccess || cudaEventElapsedTime(&found, begun, ended) != cudaSuccess) {
        return -1;
    }
    return found;
}

}
