#include "tools/yard/slurm/slurm_verb.h"

#include <algorithm>
#include <ostream>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/text/printable.h"
#include "tools/yard/cli/verb_exit_code.h"
#include "tools/yard/follow/json_output.h"
#include "tools/yard/services/failure.h"
#include "tools/yard/slurm/engine_choice.h"
#include "tools/yard/slurm/slurm_pools.h"
#include "tools/yard/slurm/slurm_view.h"

namespace yard {

bool IsSlurmPool(const Context& context, const std::string& pool) {
  return !absl::IsNotFound(SlurmPoolFiles(context.locations.state_directory).Read(pool).status());
}

int ChangeSlurmPool(Context& context, const std::string& pool, const SlurmValues& values,
                    const std::vector<msg::NodeT>& nodes) {
  const bool has_hosts = std::any_of(nodes.begin(), nodes.end(), [&](const msg::NodeT& node) {
    return node.pool == pool && !node.address.empty();
  });
  if (has_hosts) {
    return Fail(
        context, "pool",
        absl::AlreadyExistsError(absl::StrCat("pool ", pool,
                                              " has hosts that ssh reaches; next: another name, "
                                              "or yard pool rm ",
                                              pool)));
  }
  auto standard = StandardEngine(context);
  if (!standard.ok()) return Fail(context, "pool", standard.status());
  SlurmValues all = std::move(standard->slurm);
  for (const auto& [key, value] : values) all[key] = value;
  const auto draft = DraftSlurmPool(context, pool, all, "--");
  if (!draft.ok()) return Fail(context, "pool", draft.status());
  const auto state = SubmitSlurmPool(context, *draft, [&](const std::string& line) {
    if (!context.json) *context.err << line << std::endl;
  });
  if (!state.ok()) return Fail(context, "pool", state.status());
  const KnownSlurmPool known{.pool = *draft, .state = *state};
  if (context.json) {
    PrintJson(context, SlurmPoolToJson(known));
    return kDone;
  }
  *context.out << "pool " << pool << ": " << SlurmLine(known, context.clock->Now()) << "\n";
  if (context.out_is_terminal) {
    *context.out << "next: yard run --at " << pool << " -- PROGRAM   yard pool " << pool << "\n";
  }
  return kDone;
}

int TakeOutSlurmPool(Context& context, const std::string& pool, bool force,
                     const std::vector<msg::NodeT>& nodes) {
  for (const msg::NodeT& node : nodes) {
    if (force || node.pool != pool || node.tasks.empty()) continue;
    return Fail(context, "pool",
                absl::FailedPreconditionError(
                    absl::StrCat(runtime::Printable(node.name), " has ",
                                 runtime::Printable(absl::StrJoin(node.tasks, ", ")),
                                 "; next: wait for their ends, or --force, which loses them")));
  }
  const absl::Status removed = RemoveSlurmPool(context, pool);
  if (!removed.ok() && !absl::IsNotFound(removed)) return Fail(context, "pool", removed);
  if (context.json) {
    PrintJson(context, {{"pool", pool}, {"removed", true}});
  } else {
    *context.out << "pool " << pool << " is removed\n";
  }
  return kDone;
}

bool ShowSlurmPools(Context& context, const std::string& pool) {
  std::vector<std::string> bad;
  std::vector<KnownSlurmPool> all = AllSlurmPools(context, &bad);
  for (const std::string& why : bad)
    *context.err << "yard pool: " << runtime::Printable(why) << "\n";
  if (!pool.empty()) {
    std::erase_if(all, [&](const KnownSlurmPool& known) { return known.pool.pool != pool; });
  }
  if (all.empty()) return false;
  if (context.json) {
    for (const KnownSlurmPool& known : all) PrintJson(context, SlurmPoolToJson(known));
  } else {
    *context.out << SlurmTable(all, context.clock->Now(), context.out_width());
  }
  return true;
}

}  // namespace yard
