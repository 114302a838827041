#include "tools/yard/sweep/sweep_orders.h"

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "bus/schema/trainer_methods.h"
#include "tools/yard/follow/follow.h"
#include "tools/yard/follow/json_output.h"
#include "tools/yard/sweep/sweep_view.h"

namespace yard {
namespace {

constexpr absl::Duration kRemoval = absl::Minutes(5);

}  // namespace

absl::StatusOr<msg::SweepT> FindSweep(Context& context, const std::string& name) {
  auto thing = FindThing(context, name);
  if (!thing.ok()) return thing.status();
  if (thing->sweep) return *std::move(thing->sweep);
  return absl::FailedPreconditionError(
      absl::StrCat(name, " is a ", thing->trial ? "trial" : "job", ", not a sweep"));
}

absl::StatusOr<msg::SweepDetailsReplyT> SweepDetails(Context& context, const std::string& sweep) {
  auto client = context.client();
  if (!client.ok()) return client.status();
  msg::SweepDetailsRequestT request;
  request.sweep = sweep;
  auto reply = (*client)->Call<rpc::Trainer::SweepDetails>(request, Patient());
  if (!reply.ok()) return AsLookup(reply.status());
  if (reply->sweep == nullptr) return absl::InternalError("the trainer sent no sweep");
  return reply;
}

absl::StatusOr<msg::SweepT> ChangeSweep(Context& context, const msg::ChangeSweepRequestT& request) {
  auto client = context.client();
  if (!client.ok()) return client.status();
  const bool removes = request.order == msg::SweepOrder::Remove;
  auto reply = (*client)->Call<rpc::Trainer::ChangeSweep>(
      request, Patient(removes ? kRemoval : absl::ZeroDuration()));
  if (!reply.ok()) return reply.status();
  if (reply->sweep == nullptr) return absl::InternalError("the trainer sent no sweep");
  return std::move(*reply->sweep);
}

absl::StatusOr<msg::SweepT> OrderSweep(Context& context, const std::string& sweep,
                                       msg::SweepOrder order, bool whether) {
  msg::ChangeSweepRequestT request;
  request.sweep = sweep;
  request.order = order;
  request.whether = whether;
  return ChangeSweep(context, request);
}

void PrintSweep(Context& context, const msg::SweepT& sweep) {
  if (context.json) return PrintJson(context, ToJson(sweep));
  *context.out << SweepLine(sweep) << "\n";
  context.out->flush();
}

}  // namespace yard
