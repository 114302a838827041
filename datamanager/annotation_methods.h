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
  bus::Client* client = nullptr;  // To ask the trainer; outlives the service.
  // A run by its name or a unique prefix, on threads of the service.
  std::function<absl::StatusOr<BriefItemPtr>(const std::string& run)> find;
};

// Serves rpc::Common::Annotate. The call for a run of a trial goes on to the trainer, which writes
// the file; for any other run the file is written here. Unavailable: the run says that it is a
// trial's, and the trainer cannot be asked whether it is.
void AddAnnotationMethods(bus::Service* service, AnnotationMethodsOptions options);

}  // namespace datamanager

#endif  // DATAMANAGER_ANNOTATION_METHODS_H_
