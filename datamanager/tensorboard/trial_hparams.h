#ifndef DATAMANAGER_TENSORBOARD_TRIAL_HPARAMS_H_
#define DATAMANAGER_TENSORBOARD_TRIAL_HPARAMS_H_

#include <memory>
#include <string>
#include <string_view>

#include "datamanager/answer/run_facts_of.h"
#include "datamanager/catalog/run_catalog.h"
#include "datamanager/catalog/run_source.h"
#include "datamanager/tensorboard/provider_messages.h"
#include "eventlog/event.h"

namespace datamanager::tensorboard {

// Provides the row in the HPARAMS tab for a run whose program does not use the plugin "hparams":
// contents as a program with that plugin would have written them, from the parameters that are
// known without the run's events (datamanager/brief/run_parameters.h), and from the outcome of its
// trial (bus/json/run_outcome.h). Any thread.
class TrialHParams {
 public:
  // Checks whether a request asks for such tags and the run's files lack them. Call it while the
  // run is locked (RunAccess).
  TrialHParams(const RunSource::View& view, const SeriesRequest& request,
               eventlog::DataClass data_class);
  TrialHParams() = default;  // Adds nothing.

  // Adds the tags to an answer that lists or reads, in which the run must have begun. Adds nothing
  // if the run has no parameters.
  void AddTo(const RunCatalog& catalog, const std::string& run, const SeriesRequest& request,
             SeriesMessage* answer) const;

  // Returns null if the run has no parameters.
  static std::unique_ptr<const BriefFacts> ParametersOf(const RunCatalog& catalog,
                                                        const std::string& run);

 private:
  bool lacks_start_ = false;  // In the run's files.
  bool adds_start_ = false;   // If the run has parameters.
  bool adds_end_ = false;     // If its trial has ended.
  double start_time_ = 0;
};

}  // namespace datamanager::tensorboard

#endif  // DATAMANAGER_TENSORBOARD_TRIAL_HPARAMS_H_
