#include "datamanager/annotation_methods.h"

#include <filesystem>
#include <memory>
#include <system_error>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "bus/json/annotations.h"
#include "bus/schema/common_methods.h"
#include "bus/schema/trainer_methods.h"
#include "datamanager/answer/run_facts_of.h"
#include "datamanager/catalog/run_source.h"
#include "datamanager/find/listed_run.h"

namespace datamanager {
namespace {

constexpr absl::Duration kTrainerAnswers = absl::Seconds(5);
constexpr absl::Duration kTrainerWrites = absl::Seconds(20);

// True if both paths exist and are the same directory.
bool IsSameDirectory(const std::string& a, const std::string& b) {
  std::error_code error;
  return std::filesystem::equivalent(a, b, error) && !error;
}

// True if the trainer has that trial and its directory is this run's. (A copied run names the trial
// as well.)
absl::StatusOr<bool> IsOfTrial(bus::Client* client, const ListedRun& run,
                               const std::string& trial) {
  msg::TrialsRequestT request;
  request.trial = trial;
  const auto reply = client->Call<rpc::Trainer::Trials>(request, {.timeout = kTrainerAnswers});
  if (absl::IsNotFound(reply.status()) || absl::IsFailedPrecondition(reply.status())) return false;
  if (!reply.ok()) {
    return absl::UnavailableError(
        absl::StrCat("run ", run.name, " says that it is that of trial ", trial,
                     ", and the trainer cannot be asked: ", reply.status().message()));
  }
  return reply->trials.size() == 1 && reply->trials.front()->id == trial &&
         IsSameDirectory(reply->trials.front()->log_directory, run.directory);
}

// Reads the annotations from the file, which may be newer than the brief.
absl::StatusOr<bus::Annotations> Before(const BriefFacts& brief) {
  const std::string& directory = brief.listed().directory;
  auto said = bus::ReadAnnotations(directory);
  if (said.ok()) return said;
  if (absl::IsNotFound(said.status())) {
    bus::Annotations none;
    if (brief.labels() != nullptr) none.labels = brief.labels()->labels;
    return none;
  }
  return absl::FailedPreconditionError(absl::StrCat("cannot add to what is said in ", directory,
                                                    ": ", said.status().message(),
                                                    "; move that file away"));
}

absl::StatusOr<msg::AnnotateReplyT> Write(BriefItem& item, const BriefFacts& brief,
                                          const msg::AnnotateRequestT& request) {
  const ListedRun& run = brief.listed();
  msg::AnnotateReplyT reply;
  const absl::Status done = item.UnderLockOf(kAnnotationsKey, [&] {
    const auto before = Before(brief);
    if (!before.ok()) return before.status();
    auto after = bus::Annotated(*before, request);
    if (!after.ok()) return after.status();
    reply = bus::AnnotateReply(run.name, *after);
    if (*after == *before) return absl::OkStatus();
    if (absl::Status written = bus::WriteAnnotations(run.directory, *after); !written.ok()) {
      return written;
    }
    // Updates the brief now, so that a query need not wait until the change of the file is noticed.
    return item.Set(kAnnotationsKey, std::make_shared<const bus::Annotations>(*std::move(after)));
  });
  if (!done.ok()) return done;
  return reply;
}

absl::StatusOr<msg::AnnotateReplyT> Annotate(const AnnotationMethodsOptions& options,
                                             const bus::CallContext& context,
                                             const msg::AnnotateRequestT& request) {
  const auto item = options.find(request.run);
  if (!item.ok()) return item.status();
  const BriefFacts brief(**item);
  const std::string trial = brief.labels() == nullptr ? "" : brief.labels()->trial;
  if (trial.empty()) return Write(**item, brief, request);
  const auto is_its = IsOfTrial(options.client, brief.listed(), trial);
  if (!is_its.ok()) return is_its.status();
  if (!*is_its) return Write(**item, brief, request);
  msg::AnnotateRequestT its = request;
  its.run = trial;
  auto reply = options.client->Call<rpc::Common::Annotate>(
      its, {.timeout = kTrainerWrites, .request_id = context.request_id, .service = "trainer"});
  if (reply.ok()) reply->run = brief.listed().name;
  return reply;
}

}  // namespace

void AddAnnotationMethods(bus::Service* service, AnnotationMethodsOptions options) {
  service->Handle<rpc::Common::Annotate>(
      [options = std::move(options)](const bus::CallContext& context,
                                     const msg::AnnotateRequestT& request) {
        return Annotate(options, context, request);
      });
}

}  // namespace datamanager
