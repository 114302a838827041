#include "datamanager/run_updaters.h"

#include <string>

#include "datamanager/brief_cache.h"
#include "datamanager/run_config.h"
#include "datamanager/run_file_updater.h"
#include "datamanager/run_labels.h"
#include "datamanager/run_lineage.h"
#include "datamanager/run_source.h"

namespace datamanager {

void AddUpdaters(RunCatalog* catalog) {
  BriefCache& brief = catalog->brief();
  brief.Register(LineageUpdater(catalog->open_files()));
  brief.Register(UpdaterFromFile<RunLabels>(
      {.key = std::string(kTrialKey), .name = "provenance.json", .limit = RunLabels::kMaxBytes},
      &ParseRunLabels));
  brief.Register(UpdaterFromFile<RunConfig>(
      {.key = std::string(kConfigKey), .name = "params.json", .limit = RunConfig::kMaxSize},
      &RunConfig::Parse));
}

}  // namespace datamanager
