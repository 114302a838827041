#include "datamanager/catalog/run_updaters.h"

#include <string>

#include "bus/json/annotations.h"
#include "bus/json/run_outcome.h"
#include "datamanager/brief/brief_cache.h"
#include "datamanager/brief/run_config.h"
#include "datamanager/brief/run_file_updater.h"
#include "datamanager/brief/run_labels.h"
#include "datamanager/brief/run_lineage.h"
#include "datamanager/catalog/run_source.h"

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
  brief.Register(UpdaterFromFile<bus::Annotations>({.key = std::string(kAnnotationsKey),
                                                    .name = std::string(bus::Annotations::kFile),
                                                    .limit = bus::Annotations::kMaxBytes},
                                                   &bus::ParseAnnotations));
  brief.Register(UpdaterFromFile<bus::RunOutcome>({.key = std::string(kOutcomeKey),
                                                   .name = std::string(bus::RunOutcome::kFile),
                                                   .limit = bus::RunOutcome::kMaxBytes},
                                                  &bus::ParseRunOutcome));
}

}  // namespace datamanager
