#ifndef DATAMANAGER_ANSWER_HPARAMS_MESSAGES_H_
#define DATAMANAGER_ANSWER_HPARAMS_MESSAGES_H_

// The hyperparameters and metrics of a run in one table, whatever their source: TensorBoard's
// plugin "hparams", the trial behind the run, or MindSpore's lineage. Pure; any thread.
//
// Re-imagined: TensorBoard's hparams plugin, which reads only its own metadata and shows a run of
// any other program without hyperparameters.

#include <cstddef>
#include <span>
#include <string_view>

#include "bus/schema/datamanager_generated.h"
#include "datamanager/query/run_facts.h"

namespace datamanager {

// All inputs for one run; an absent one is empty. Views must stay valid during the call.
struct HParamsSources {
  // The plugin's content from the metadata of its three tags (eventlog/hparams_content.h).
  std::string_view experiment;
  std::string_view session_start;
  std::string_view session_end;
  // All parameters that are known without the plugin (run_parameters.h). `of_lineage`: they all
  // come from the lineage.
  std::span<const ConfigFacts> config;
  bool of_lineage = false;
  // Parameters from the plugin: those of this run, or of the run below it.
  std::span<const ConfigFacts> plugin;
  std::string_view group;  // The trial's group.
  // Each scalar tag is a metric with its last value, except the machine's own figures
  // ("sys/cpu_percent" and so on), which are not results of the trial.
  std::span<const TagFacts> tags;
};

// Limit of a run's metrics; further ones, by name, are omitted.
inline constexpr std::size_t kMaxMetrics = 1'000;

// Sets all members but `run`. `source` names the first source that has hyperparameters: "trial"
// (its start configuration), "lineage" or "hparams" (the plugin); empty if none has any. All other
// members come from the plugin, except that `group` is the trial's if the plugin has none.
// Unreadable content counts as absent.
msg::RunHParamsT HParamsMessage(const HParamsSources& sources);

}  // namespace datamanager

#endif  // DATAMANAGER_ANSWER_HPARAMS_MESSAGES_H_
