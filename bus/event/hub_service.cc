#include "bus/event/hub_service.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "bus/event/users_events.h"
#include "bus/schema/common_methods.h"
#include "bus/schema/registry_methods.h"
#include "bus/wire/topic.h"

namespace bus {
namespace {

using rpc::Registry;
using PublishWriter = std::shared_ptr<ReplyWriter<Registry::Publish>>;

// Limit of a waiting caller's events; up to a thousand callers may wait.
constexpr std::size_t kMostWaitingBytes = 64 << 10;
// Time that is reserved for the answer to reach the caller before its deadline.
constexpr absl::Duration kReplyTime = absl::Milliseconds(500);

absl::StatusOr<msg::PublishReplyT> PublishNow(Hub* hub, std::vector<Hub::NewEvent> events,
                                              bool list) {
  msg::PublishReplyT reply;
  reply.subscribers = hub->CountSubscriptions(events.front().topic);
  auto numbers = hub->PublishAll(std::move(events));
  if (!numbers.ok()) return numbers.status();
  reply.seq = numbers->back();
  if (list) reply.seqs = *std::move(numbers);
  return reply;
}

absl::Duration TimeToWait(const CallContext& context, absl::Duration now) {
  const absl::Duration left = context.deadline - now;
  return left - std::min(kReplyTime, left / 4);
}

void Publish(Hub* hub, runtime::Clock* clock, PublishWriter writer,
             const msg::PublishRequestT& request) {
  auto events = UsersEvents(request, writer->context());
  if (!events.ok()) return writer->Finish(events.status());
  const bool list = !request.events.empty();
  if (request.min_subscribers == 0) {
    return writer->Finish(PublishNow(hub, *std::move(events), list));
  }
  std::size_t bytes = request.payload.size() + request.envelope.size();
  for (const auto& event : request.events) bytes += event->payload.size() + event->envelope.size();
  if (bytes > kMostWaitingBytes) {
    return writer->Finish(
        absl::ResourceExhaustedError("events that wait for subscribers have at most 64 KiB"));
  }
  const auto waiting = std::make_shared<std::vector<Hub::NewEvent>>(*std::move(events));
  const std::uint64_t wait =
      hub->WhenSubscribed(waiting->front().topic, request.min_subscribers,
                          TimeToWait(writer->context(), clock->Monotonic()),
                          [hub, writer, waiting, list](absl::StatusOr<std::uint32_t> there) {
                            if (!there.ok()) return writer->Finish(there.status());
                            writer->Finish(PublishNow(hub, std::move(*waiting), list));
                          });
  writer->OnCancel([hub, wait] { hub->StopWaiting(wait); });
}

}  // namespace

// (Handlers run on the pool, because the hub's methods wait for the bus thread.)
void AddHubMethods(Service* service, Hub* hub, runtime::Clock* clock) {
  service->HandleAsync<Registry::Publish>(
      [hub, clock](PublishWriter writer, const msg::PublishRequestT& request) {
        Publish(hub, clock, std::move(writer), request);
      });
  service->Handle<Registry::Topics>(
      [hub](const CallContext&,
            const msg::TopicsRequestT& request) -> absl::StatusOr<msg::TopicsReplyT> {
        if (request.exact) {
          if (absl::Status checked = CheckTopic(request.prefix); !checked.ok()) return checked;
        }
        return hub->Topics(request);
      });
  service->Handle<Registry::LastEvents>(
      [hub](const CallContext&, const msg::LastEventsRequestT& request) {
        return hub->LastEvents(request);
      });
  service->Handle<rpc::Common::Ends>(
      [hub](const CallContext&, const msg::EndsRequestT& request) { return hub->Ends(request); });
  service->Handle<rpc::Common::Since>(
      [hub](const CallContext&, const msg::SinceRequestT& request) { return hub->Since(request); });
}

}  // namespace bus
