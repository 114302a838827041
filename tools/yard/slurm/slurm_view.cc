#include "tools/yard/slurm/slurm_view.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "runtime/counted.h"
#include "runtime/text/printable.h"
#include "tools/yard/follow/json_output.h"
#include "tools/yard/text/table.h"

namespace yard {
namespace {

using Phase = SlurmPoolState::Phase;

std::string JobName(const SlurmPoolState& state) {
  return absl::StrCat("Slurm job ", runtime::Printable(state.slurm_id));
}

// Returns the time left; empty if the allocation has no end, or an unknown one.
std::string TimeLeft(const SlurmPoolState& state, absl::Time now) {
  const bool is_live = state.phase == Phase::kRunning || state.phase == Phase::kDraining;
  if (state.end_us == 0 || !is_live) return "";
  const absl::Duration left = absl::FromUnixMicros(state.end_us) - now;
  return ShortDuration(std::max(left, absl::ZeroDuration()));
}

std::string Why(const SlurmPoolState& state) {
  if (!state.why.empty() || state.last_end.empty()) return state.why;
  return absl::StrCat("the allocation before ended: ", state.last_end);
}

}  // namespace

std::string SlurmLine(const KnownSlurmPool& known, absl::Time now) {
  const SlurmPoolState& state = known.state;
  const std::string left = TimeLeft(state, now);
  const std::string why = runtime::Printable(state.why);
  switch (state.phase) {
    case Phase::kWaiting:
      return absl::StrCat(JobName(state), " waits",
                          state.reason.empty() || state.reason == "None"
                              ? ""
                              : absl::StrCat(": ", runtime::Printable(state.reason)));
    case Phase::kRunning:
    case Phase::kDraining:
      return absl::StrCat(
          JobName(state), state.phase == Phase::kRunning ? " runs" : " is nearly over",
          state.node_list.empty() ? "" : absl::StrCat(" on ", runtime::Printable(state.node_list)),
          left.empty() ? "" : absl::StrCat(", for ", left, " more"));
    case Phase::kSubmitting:
      return absl::StrCat("Slurm is asked for ", runtime::Counted(known.pool.nodes, "node"));
    case Phase::kRefused:
      return why.empty() ? "Slurm has refused it" : why;
    case Phase::kIdle:
    case Phase::kEnded:
      return why.empty() ? "no allocation; the next task that waits for the pool brings one" : why;
  }
  return why;
}

std::string SlurmTable(const std::vector<KnownSlurmPool>& pools, absl::Time now, int width) {
  Table table(
      {"POOL", "ENGINE", "SLURM JOB", "STATE", "REASON", ">NODES", ">TIME LEFT", "HOSTS", "WHY"});
  for (const KnownSlurmPool& known : pools) {
    const SlurmPoolState& state = known.state;
    const auto shown = [](const std::string& text) {
      return text.empty() || text == "None" ? "-" : text;
    };
    const std::string left = TimeLeft(state, now);
    table.AddRow({known.pool.pool, "slurm", shown(state.slurm_id),
                  known.pool.removing ? "removing" : std::string(NameOfPhase(state.phase)),
                  shown(state.reason), absl::StrCat(known.pool.nodes), shown(left),
                  shown(state.node_list), Why(state)});
  }
  return table.ToString(width);
}

nlohmann::json SlurmPoolToJson(const KnownSlurmPool& known) {
  const SlurmPoolState& state = known.state;
  return {
      {"name", known.pool.pool},
      {"kind", "pool"},
      {"engine", "slurm"},
      {"nodes", known.pool.nodes},
      {"once", known.pool.once},
      {"removing", known.pool.removing},
      {"phase", std::string(NameOfPhase(state.phase))},
      {"allocation", TextOrNull(state.name)},
      {"slurm_id", TextOrNull(state.slurm_id)},
      {"cluster", TextOrNull(state.cluster)},
      {"state", TextOrNull(state.state)},
      {"reason", TextOrNull(state.reason)},
      {"hosts", TextOrNull(state.node_list)},
      {"submitted", state.submitted_us == 0 ? nlohmann::json() : TimeToJson(state.submitted_us)},
      {"ends", state.end_us == 0 ? nlohmann::json() : TimeToJson(state.end_us)},
      {"why", TextOrNull(state.why)},
      {"last_end", TextOrNull(state.last_end)}};
}

}  // namespace yard
