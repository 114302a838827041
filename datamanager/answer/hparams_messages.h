#ifndef DATAMANAGER_ANSWER_HPARAMS_MESSAGES_H_
#define DATAMANAGER_ANSWER_HPARAMS_MESSAGES_H_

// Hyperparameters and metrics of a run in one table, whichever source they have: TensorBoard's
// plugin "hparams", the trial behind the run, or MindSpore's lineage. Pure; any thread.
//
// Re-imagined: TensorBoard's hparams plugin, which knows its own metadata alone and shows a run of
// any other program as one without hyperparameters.

#include <cstddef>
#include <span>
#include <string_view>

#include "bus/schema/datamanager_generated.h"
#include "datamanager/query/run_facts.h"

namespace datamanager {

// Everything that is known of a run; a member is empty if the run lacks it. Views must stay valid
// during the call.
struct HParamsSources {
  // The plugin's content in the metadata of its three tags (eventlog/hparams_content.h).
  std::string_view experiment;
  std::string_view session_start;
  std::string_view session_end;
  // All parameters that are known without the plugin (run_parameters.h), and which of them are of
  // the lineage alone.
  std::span<const ConfigFacts> config;
  bool of_lineage = false;
  // Parameters from the plugin: those of this run, or of the run below it.
  std::span<const ConfigFacts> plugin;
  std::string_view group;  // Group of the trial.
  // The last value of each scalar tag is a metric.
  std::span<const TagFacts> tags;
};

// Most metrics of a run: the first ones by name are shown, the rest are left out.
inline constexpr std::size_t kMaxMetrics = 1'000;

// Sets all members but `run`. `source` names the first source of hyperparameters that has any:
// "trial" (what it was started with), "lineage" or "hparams" (the plugin); it is empty if none has.
// Everything else is of the plugin, but for `group`, which is the trial's if the plugin has none.
// Content that cannot be read counts as none.
msg::RunHParamsT HParamsMessage(const HParamsSources& sources);

}  // namespace datamanager

#endif  // DATAMANAGER_ANSWER_HPARAMS_MESSAGES_H_
