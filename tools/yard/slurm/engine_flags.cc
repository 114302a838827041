#include "tools/yard/slurm/engine_flags.h"

#include <algorithm>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "runtime/text/printable.h"

namespace yard {
namespace {

// Keys with a flag of their own. --cpus and --memory already limit each task of a job, and
// directory, gate, drain, idle and slots are set in a configuration file or by --slurm.
constexpr const char* kFlags[] = {"nodes", "time",       "partition", "account", "qos",
                                  "gpus",  "constraint", "exclude",   "sbatch"};
constexpr const char* kEngines[] = {"local", "pool", "slurm"};

}  // namespace

void EngineWish::Merge(const EngineWish& over) {
  if (!over.engine.empty()) engine = over.engine;
  for (const auto& [key, value] : over.slurm) slurm[key] = value;
}

absl::Status CheckEngineName(const std::string& name) {
  if (std::find(std::begin(kEngines), std::end(kEngines), name) != std::end(kEngines)) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("expected local, pool or slurm, not \"", runtime::Printable(name), "\""));
}

void EngineFlags::Declare(OptionSet& options) {
  options.Hidden("--engine", engine_);
  options.Hidden("--slurm", assignments_);
  for (const char* const flag : kFlags) options.Hidden(absl::StrCat("--", flag), values_[flag]);
}

bool EngineFlags::SetDefault(const std::string& flag, const std::vector<std::string>& values) {
  if (flag == "engine") {
    if (engine_.empty() && !values.empty()) engine_ = values.back();
    return true;
  }
  if (flag != "slurm") return false;
  default_assignments_ = values;
  return true;
}

absl::StatusOr<EngineWish> EngineFlags::Wish() const {
  EngineWish wish{.engine = engine_};
  if (!engine_.empty()) {
    if (absl::Status good = CheckEngineName(engine_); !good.ok()) {
      return absl::InvalidArgumentError(absl::StrCat("--engine: ", good.message()));
    }
  }
  for (const auto* const list : {&default_assignments_, &assignments_}) {
    for (const std::string& assignment : *list) {
      if (absl::Status added = AddSlurmAssignment(assignment, &wish.slurm); !added.ok()) {
        return added;
      }
    }
  }
  for (const auto& [key, value] : values_) {
    if (value.empty()) continue;
    if (absl::Status good = CheckSlurmValue(key, value); !good.ok()) {
      return absl::InvalidArgumentError(absl::StrCat("--", good.message()));
    }
    wish.slurm[key] = value;
  }
  return wish;
}

}  // namespace yard
