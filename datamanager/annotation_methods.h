#ifndef DATAMANAGER_ANNOTATION_METHODS_H_
#define DATAMANAGER_ANNOTATION_METHODS_H_

#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "bus/call/client.h"
#include "bus/call/service.h"
#include "datamanager/brief/brief_cache.h"

namespace datamanager {

struct AnnotationMethodsOptions {
  bus::Client* client = nullptr;  // To call the trainer; must outlive the service.
  // Finds a run by its name or a unique prefix. Runs on the service's threads.
  std::function<absl::StatusOr<BriefItemPtr>(const std::string& run)> find;
};

// Serves rpc::Common::Annotate. A call for a trial's run is passed on to the trainer, which writes
// the file; for any other run this service writes it. Unavailable: the run claims to be a trial's,
// and the trainer cannot be asked to confirm that.
void AddAnnotationMethods(bus::Service* service, AnnotationMethodsOptions options);

}  // namespace datamanager

#endif  // DATAMANAGER_ANNOTATION_METHODS_H_
