// GRiD's kernels of a robot over states in the GPU's memory, for Python's ctypes: its own launches, at its own thread counts.
// Compiled with its generated header as -include, and -DREAL=float or double.
static grid::robotModel<REAL> *model;
static grid::gridData<REAL, grid::GRID_DATA_DYNAMICS> *data;
static int states;

extern "C" {

void grid_start(int count)
{
    states = count;
    grid::init_grid<REAL>();
    model = grid::init_robotModel<REAL>();
    data = grid::init_gridData<REAL, grid::GRID_DATA_DYNAMICS>(count);
}

// State by state: q, v and tau of each; and the accelerations of inverse dynamics.
int grid_put(const REAL *q_v_tau, const REAL *a)
{
    const size_t bytes = sizeof(REAL)*grid::NUM_JOINTS*(size_t)states;
    cudaMemcpy(data->d_q_qd_u, q_v_tau, 3*bytes, cudaMemcpyHostToDevice);
    return (int)cudaMemcpy(data->d_qdd, a, bytes, cudaMemcpyHostToDevice);
}

// The results lie where *place says, state by state.
void grid_call(int function, REAL **place)
{
    const REAL gravity = -9.81;   // along z
    if (function == 0) {
        grid::forward_dynamics_compute_only<REAL, grid::GRID_DATA_DYNAMICS>(
            data, model, gravity, states, dim3(states), dim3(grid::FORWARD_DYNAMICS_SUGGESTED_THREADS));
        *place = data->d_qdd;
    } else if (function == 1) {
        grid::inverse_dynamics_compute_only<REAL, true, false, grid::GRID_DATA_DYNAMICS>(
            data, model, gravity, states, dim3(states), dim3(grid::INVERSE_DYNAMICS_SUGGESTED_THREADS));
        *place = data->d_c;
    } else if (function == 2) {
        grid::crba_compute_only<REAL, false, grid::GRID_DATA_DYNAMICS>(
            data, model, gravity, states, dim3(states), dim3(grid::CRBA_SUGGESTED_THREADS));
        *place = data->d_M;
    } else {
        grid::forward_dynamics_gradient_compute_only<REAL, false, grid::GRID_DATA_DYNAMICS>(
            data, model, gravity, states, dim3(states), dim3(grid::FORWARD_DYNAMICS_GRADIENT_SUGGESTED_THREADS));
        *place = data->d_df_du;
    }
}

}
