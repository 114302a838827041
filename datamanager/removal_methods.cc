#include "datamanager/removal_methods.h"

#include <utility>

#include "absl/time/time.h"
#include "bus/schema/datamanager_methods.h"
#include "bus/schema/trainer_methods.h"

namespace datamanager {
namespace {

constexpr absl::Duration kTrainerAnswers = absl::Seconds(5);

bool HasEnded(msg::TrialState state) {
  return state == msg::TrialState::Done || state == msg::TrialState::Failed ||
         state == msg::TrialState::Stopped;
}

absl::StatusOr<std::vector<TrialPlace>> AskTrials(bus::Client* client) {
  const auto reply = client->Call<rpc::Trainer::Trials>({}, {.timeout = kTrainerAnswers});
  if (!reply.ok()) return reply.status();
  std::vector<TrialPlace> trials;
  for (const auto& trial : reply->trials) {
    trials.push_back(
        {.id = trial->id, .directory = trial->log_directory, .has_ended = HasEnded(trial->state)});
  }
  return trials;
}

}  // namespace

void AddRemovalMethods(bus::Service* service, RemovalMethodsOptions options) {
  service->Handle<rpc::Datamanager::RemoveRun>(
      [options = std::move(options)](
          const bus::CallContext& context,
          const msg::RemoveRunRequestT& request) -> absl::StatusOr<msg::RemoveRunReplyT> {
        auto place = RemoveRun({.logdir = options.logdir,
                                .runs = options.runs,
                                .trials = [&] { return AskTrials(options.client); }},
                               {.run = request.run,
                                .request_id = context.request_id,
                                .generation = request.generation,
                                .nested = request.nested,
                                .force = request.force});
        if (!place.ok()) return place.status();
        msg::RemoveRunReplyT reply;
        reply.run = request.run;
        reply.trash = *std::move(place);
        return reply;
      });
}

}  // namespace datamanager
