#include "tools/yard/slurm/slurm_trials.h"

#include <cstddef>
#include <ostream>
#include <utility>

#include "tools/yard/slurm/slurm_pools.h"

namespace yard {

absl::Status MakeTrialPool(Context& context, const SlurmValues& values, const AlongFlags& along,
                           const std::string& directory, msg::TrialOptionsT* options) {
  if (!options->function.empty()) {
    return absl::InvalidArgumentError(
        "--engine slurm: a function runs in the trainer, and nowhere else; next: give a program");
  }
  for (const auto& wish : options->resources) {
    if (absl::Status good = CheckSlurmResource(wish->name); !good.ok()) return good;
  }
  std::size_t tasks = options->tasks.empty() ? 1 : 0;
  for (const auto& type : options->tasks) tasks += type->count;
  auto work = along.Archive(context, directory);
  if (!work.ok()) return work.status();
  auto pool = MakeOncePool(context, values, tasks, [&](const std::string& line) {
    if (!context.json) *context.err << line << std::endl;
  });
  if (!pool.ok()) return pool.status();
  options->work = *std::move(work);
  options->pool = *std::move(pool);
  return absl::OkStatus();
}

}  // namespace yard
