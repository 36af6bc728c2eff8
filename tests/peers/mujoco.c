/* MuJoCo's own C. FUNCTION and MODEL come from the command line of the compiler. */
#include <mujoco/mujoco.h>

static mjModel *model;
#ifdef _OPENMP
static _Thread_local mjData *data;
#else
static mjData *data;
#endif

__attribute__((constructor)) static void begin(void)
{
    model = mj_loadModel(MODEL, 0);
    data = mj_makeData(model);
}

static inline void call(const double *in, double *out)
{
    const int nq = model->nq, nv = model->nv;
#ifdef _OPENMP
    if (data == 0)
        data = mj_makeData(model);
#endif
    mju_copy(data->qpos, in, nq);
#if FUNCTION == 0
    mju_copy(data->qvel, in + nq, nv);
    mju_copy(data->qacc, in + nq + nv, nv);
    mj_inverse(model, data);
    mju_copy(out, data->qfrc_inverse, nv);
#elif FUNCTION == 1
    mju_copy(data->qvel, in + nq, nv);
    mju_copy(data->qfrc_applied, in + nq + nv, nv);
    mj_forward(model, data);
    mju_copy(out, data->qacc, nv);
#else
    mj_kinematics(model, data);
    mj_comPos(model, data);
    mj_crb(model, data);
    mj_fullM(model, data, out);
#endif
}

#include "loops.h"
