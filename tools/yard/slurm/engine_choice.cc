#include "tools/yard/slurm/engine_choice.h"

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "runtime/text/printable.h"
#include "tools/yard/configuration/settings_file.h"
#include "tools/yard/state/service_presence.h"
#include "tools/yard/state/wanted.h"

namespace yard {

absl::StatusOr<EngineChoice> ChooseEngine(const EngineWish& wish, const std::string& at,
                                          const EngineWish& standard) {
  const std::string pool = runtime::Printable(at);
  if (!at.empty() && (wish.engine == "slurm" || wish.engine == "local")) {
    return absl::InvalidArgumentError(
        absl::StrCat("--engine ", wish.engine, " and --at ", pool,
                     wish.engine == "slurm" ? ": slurm makes a pool of its own for the job"
                                            : ": local is this host",
                     ", and --at names another one; next: leave one of them out"));
  }
  if (at.empty() && wish.engine == "pool") {
    return absl::InvalidArgumentError("--engine pool needs the name of the pool; next: --at NAME");
  }
  // A pool named for the job overrides the configuration's engine.
  const std::string engine = !wish.engine.empty() ? wish.engine
                             : !at.empty()        ? "pool"
                                                  : standard.engine;
  if (engine != "slurm") {
    if (!wish.slurm.empty()) {
      const std::string& key = wish.slurm.begin()->first;
      return absl::InvalidArgumentError(absl::StrCat(key, " is a key of slurm, and the engine is ",
                                                     engine.empty() ? "local" : engine,
                                                     "; next: --engine slurm, or leave out ", key));
    }
    return EngineChoice{};
  }
  EngineWish all = standard;
  all.Merge(wish);
  return EngineChoice{.is_slurm = true, .slurm = std::move(all.slurm)};
}

absl::StatusOr<EngineWish> StandardEngine(const Context& context) {
  std::string file;
  if (const auto wanted = ReadWanted(context.locations); wanted.ok() && wanted->has_value()) {
    file = (*wanted)->file;
    // The configuration came from stdin, so it cannot be read again.
    if (!file.empty() && file[0] != '/') return EngineWish{};
  }
  const auto settings = FindSettings(context, file);
  if (!settings.ok()) return settings.status();
  return settings->has_value() ? (*settings)->engine : EngineWish{};
}

absl::StatusOr<EngineChoice> ChooseEngine(const Context& context, const EngineWish& wish,
                                          const std::string& at) {
  if (IsElsewhere(context.locations)) {
    if (wish.engine == "slurm") {
      return absl::FailedPreconditionError(
          "--engine slurm: this yard is reached by its gate, and allocations are asked for where "
          "it runs; next: type it there");
    }
    return ChooseEngine(wish, at, EngineWish{});
  }
  const auto standard = StandardEngine(context);
  if (!standard.ok()) return standard.status();
  return ChooseEngine(wish, at, *standard);
}

}  // namespace yard
