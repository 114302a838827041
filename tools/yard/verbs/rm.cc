#include <string>
#include <vector>

#include "absl/time/time.h"
#include "bus/schema/launcher_methods.h"
#include "bus/schema/trainer_methods.h"
#include "tools/yard/follow.h"
#include "tools/yard/printable.h"
#include "tools/yard/things_json.h"
#include "tools/yard/verbs/verbs.h"

namespace yard {
namespace {

constexpr absl::Duration kRemoval = absl::Minutes(5);

class Rm : public Verb {
 public:
  void Declare(OptionSet& options) override {
    options.Add("thing", names_, "Ended trials and jobs: ids, unique prefixes or names.",
                OptionSet::Need::kRequired);
  }

  int Run(Context& context) override {
    int code = kDone;
    for (const std::string& name : names_) {
      const int one = Remove(context, name);
      if (one != kDone) code = one;
    }
    return code;
  }

 private:
  static int Remove(Context& context, const std::string& name) {
    if (name.find('/') != std::string::npos) {
      return Fail(context, "rm",
                  absl::InvalidArgumentError("a task is not removed alone; name its job"));
    }
    const auto thing = FindThing(context, name);
    if (!thing.ok()) return Fail(context, "rm", thing.status());
    auto client = context.client();
    if (!client.ok()) return Fail(context, "rm", client.status());
    if (thing->trial.has_value()) return RemoveTrial(context, **client, thing->id());
    const std::string& job = thing->id();
    msg::RemoveJobRequestT request;
    request.job = job;
    // (It answers when all files are gone.)
    const auto reply = (*client)->Call<rpc::Launcher::RemoveJob>(request, Patient(kRemoval));
    if (!reply.ok()) return Fail(context, "rm", reply.status());
    if (context.json) {
      PrintJson(context, {{"id", job}, {"removed", true}});
    } else {
      *context.out << job << " removed\n";
    }
    return kDone;
  }

  // Its directory goes to the trash of the runs.
  static int RemoveTrial(Context& context, bus::Client& client, const std::string& id) {
    msg::RemoveTrialRequestT request;
    request.trial = id;
    const auto reply = client.Call<rpc::Trainer::RemoveTrial>(request, Patient(kRemoval));
    if (!reply.ok()) return Fail(context, "rm", reply.status());
    const std::string trash = reply->trial == nullptr ? "" : reply->trial->log_directory;
    if (context.json) {
      PrintJson(context, {{"id", id}, {"removed", true}, {"trash", trash}});
    } else {
      *context.out << id << " removed; its files are in " << Printable(trash) << "\n";
    }
    return kDone;
  }

  std::vector<std::string> names_;
};

}  // namespace

std::unique_ptr<Verb> MakeRm() { return std::make_unique<Rm>(); }

}  // namespace yard
