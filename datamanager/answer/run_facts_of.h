#ifndef DATAMANAGER_ANSWER_RUN_FACTS_OF_H_
#define DATAMANAGER_ANSWER_RUN_FACTS_OF_H_

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bus/json/annotations.h"
#include "datamanager/brief/brief_item.h"
#include "datamanager/brief/run_config.h"
#include "datamanager/brief/run_labels.h"
#include "datamanager/catalog/run_source.h"
#include "datamanager/find/listed_run.h"
#include "datamanager/query/run_facts.h"
#include "datamanager/read/run_data.h"

namespace datamanager {

// Returns the tags of a run for queries and selections, by name. Views into `data`, valid until it
// changes.
std::vector<TagFacts> TagFactsOf(const RunData& data);

// Facts about a run that are known without its data; owns the memory to which its RunFacts point.
// Immutable.
class BriefFacts {
 public:
  explicit BriefFacts(const BriefItem& item);

  const ListedRun& listed() const { return *listed_; }
  // Null if the run's file is missing, unreadable, or was not read yet. A run without the file thus
  // has no labels and no configuration.
  const RunLabels* labels() const { return labels_.get(); }
  const RunConfig* config() const { return config_.get(); }
  // Returns labels, note and display name from annotations.json; without that file, the labels with
  // which the trial was started.
  const bus::Annotations& said() const { return said_; }
  // Returns the parameters that are known without the run's files (run_parameters.h).
  std::span<const ConfigFacts> parameters() const { return parameters_; }
  // True if all these parameters come from MindSpore's lineage.
  bool knows_only_lineage() const {
    return !parameters_.empty() && parameters_.size() == lineage_.facts().size();
  }

  // Returns the facts without the contents of the run's files: `counted` is false. Views into this
  // object.
  RunFacts Facts(CacheState state) const;

 private:
  ListedRunPtr listed_;
  std::shared_ptr<const RunLabels> labels_;
  std::shared_ptr<const RunConfig> config_;
  bus::Annotations said_;
  RunConfig lineage_;
  std::vector<ConfigFacts> parameters_;  // Views into the three above.
};

// Parameters from the plugin "hparams" of a run, or of the run below it, as known so far.
struct PluginFacts {
  RunConfig config;
  bool may_have_more = false;
};
// `names`: names of all runs, sorted.
PluginFacts PluginFactsOf(RunSource& source, std::span<const std::string> names,
                          const std::string& run);
// Returns the metadata of the plugin's session_start_info; empty if `data` has no such tag. Valid
// until `data` changes.
std::string_view SessionStartOf(const RunData& data);

// Adds the counts from the run's files, as known so far; `tags` must be TagFactsOf(data).
void AddCounts(const RunData& data, const std::vector<TagFacts>& tags, RunFacts* facts);

}  // namespace datamanager

#endif  // DATAMANAGER_ANSWER_RUN_FACTS_OF_H_
