// An all-reduce of floats by MPI_Allreduce, under mpirun; rank 0 prints the time of a call, in place or not, whichever
// is faster.
// usage: mpirun -n N all_reduce_mpi --bytes B --iterations K [--warm-ups W]
#define OMPI_SKIP_MPICXX  // the old C++ binding, whose headers warn
#include <mpi.h>

#include "figures.h"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const auto warm_ups = peers::number(argc, argv, "--warm-ups", "3");
  const auto iterations = peers::number(argc, argv, "--iterations");
  const auto count = static_cast<std::size_t>(peers::number(argc, argv, "--bytes")) / sizeof(float);
  std::vector<float> values(count), sums(count);

  std::vector<peers::Way> ways;
  const auto run = [&](const char* name, const void* from, float* to) {
    const auto work = [&] { MPI_Allreduce(from, to, static_cast<int>(count), MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD); };
    peers::fill(values.data(), count, rank);
    work();
    peers::check_sum(to, count, size, name);
    std::fill(values.begin(), values.end(), 0.0F);
    ways.push_back({name, peers::measure(warm_ups, iterations, work)});
  };
  run("in place", MPI_IN_PLACE, values.data());
  run("out of place", values.data(), sums.data());
  if (rank == 0) peers::print_fastest(ways, iterations);
  MPI_Finalize();
}
