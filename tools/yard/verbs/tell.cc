#include <string>

#include "bus/schema/trainer_methods.h"
#include "tools/yard/follow/follow.h"
#include "tools/yard/follow/json_output.h"
#include "tools/yard/services/failure.h"
#include "tools/yard/verbs/verbs.h"

namespace yard {
namespace {

class Tell : public Verb {
 public:
  void Declare(OptionSet& options) override {
    options.Add("trial", name_, "A trial that has not ended: id, unique prefix or name.",
                OptionSet::Need::kRequired);
    options.Add("event", event_, "JSON, at most 64 KiB; its next report is answered with it.",
                OptionSet::Need::kRequired);
  }

  int Run(Context& context) override {
    const auto id = FindTrial(context, name_, "reads events");
    if (!id.ok()) return Fail(context, "tell", id.status());
    auto client = context.client();
    if (!client.ok()) return Fail(context, "tell", client.status());
    msg::TellTrialRequestT request;
    request.trial = *id;
    request.event = event_;
    const auto reply = (*client)->Call<rpc::Trainer::TellTrial>(request, Patient());
    if (!reply.ok()) return Fail(context, "tell", reply.status());
    if (context.json) {
      PrintJson(context, {{"trial", *id}, {"number", reply->number}});
    } else {
      *context.out << *id << " event " << reply->number << "\n";
    }
    return kDone;
  }

 private:
  std::string name_, event_;
};

}  // namespace

std::unique_ptr<Verb> MakeTell() { return std::make_unique<Tell>(); }

}  // namespace yard
