/* As much of CUDA's runtime as the generated kernels and tests/cuda_host.cu use, for a C++ compiler: memory is the processor's, and
 * the threads of a launch run one after the other.
 *
 * `cuda_on_cpu_blocks`, where it is not zero, is the grid of every launch; threads run from the last to the first where
 * `cuda_on_cpu_backwards` says so.
 */
#pragma once
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define __CUDACC__
#define __global__
#define __device__
#define __constant__
#define __noinline__ __attribute__((noinline))
#define __launch_bounds__(threads)

struct dim3 {
    unsigned int x = 1, y = 1, z = 1;
};
inline dim3 threadIdx, blockIdx, blockDim, gridDim;

typedef enum { cudaSuccess = 0, cudaErrorInvalidValue = 1 } cudaError_t;
typedef struct CUstream_st *cudaStream_t;
struct cudaLaunchConfig_t {
    dim3 gridDim, blockDim;
    cudaStream_t stream;
};

extern "C" {
__attribute__((weak)) int cuda_on_cpu_blocks = 0;
__attribute__((weak)) int cuda_on_cpu_backwards = 0;
__attribute__((weak)) cudaStream_t cuda_on_cpu_stream = 0;
}

template <class... Wanted, class... Given>
cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t *launch, void (*kernel)(Wanted...), Given... given)
{
    gridDim = launch->gridDim;
    blockDim = launch->blockDim;
    cuda_on_cpu_stream = launch->stream;
    if (cuda_on_cpu_blocks != 0) {
        gridDim.x = cuda_on_cpu_blocks;
    }
    const unsigned int threads = gridDim.x*blockDim.x;
    for (unsigned int n = 0; n < threads; ++n) {
        const unsigned int thread = cuda_on_cpu_backwards ? threads - 1 - n : n;
        blockIdx.x = thread/blockDim.x;
        threadIdx.x = thread % blockDim.x;
        kernel(given...);
    }
    return cudaSuccess;
}

enum cudaMemcpyKind { cudaMemcpyHostToDevice = 1, cudaMemcpyDeviceToHost = 2 };
typedef clock_t cudaEvent_t;

inline cudaError_t cudaMalloc(void **place, size_t bytes) { return *place = malloc(bytes), cudaSuccess; }
inline cudaError_t cudaFree(void *place) { return free(place), cudaSuccess; }
inline cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, cudaMemcpyKind) { return memcpy(to, from, bytes), cudaSuccess; }
inline cudaError_t cudaEventCreate(cudaEvent_t *event) { return *event = 1, cudaSuccess; }
inline cudaError_t cudaEventSynchronize(cudaEvent_t) { return cudaSuccess; }
inline cudaError_t cudaEventRecord(cudaEvent_t &event, cudaStream_t) { return event = clock(), cudaSuccess; }
inline cudaError_t cudaEventElapsedTime(float *found, cudaEvent_t from, cudaEvent_t to)
{
    return *found = 1e3f*static_cast<float>(to - from)/CLOCKS_PER_SEC, cudaSuccess;
}
