#include "datamanager/service_methods.h"

#include <string>

#include "bus/schema/common_methods.h"
#include "datamanager/brief_cache.h"
#include "datamanager/listing_methods.h"
#include "datamanager/point_topics.h"
#include "datamanager/query_methods.h"
#include "datamanager/run_config.h"
#include "datamanager/run_file_updater.h"
#include "datamanager/run_labels.h"
#include "datamanager/run_lineage.h"
#include "datamanager/run_source.h"

namespace datamanager {

void AddMethods(bus::Service* service, RunCatalog* catalog, runtime::ThreadPool* pool) {
  AddListingMethods(service, catalog, pool);
  AddQueryMethods(service, catalog, pool);
  service->Handle<rpc::Common::Ends>([catalog](const bus::CallContext&, const auto& request) {
    return EndsOfPoints(*catalog, request);
  });
  service->Handle<rpc::Common::Since>([catalog](const bus::CallContext&, const auto& request) {
    return PointsSince(*catalog, request);
  });
}

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
