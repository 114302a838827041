#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "bus/schema/launcher_methods.h"
#include "tools/yard/follow/follow.h"
#include "tools/yard/follow/json_output.h"
#include "tools/yard/services/failure.h"
#include "tools/yard/verbs/verbs.h"

namespace yard {
namespace {

class Restart : public Verb {
 public:
  void Declare(OptionSet& options) override {
    options.Add("job", names_, "Jobs, or tasks: JOB/worker-1.", OptionSet::Need::kRequired);
    options.Add("--grace", grace_, "Seconds until it is killed (default: its own, 10).");
  }

  int Run(Context& context) override {
    int code = kDone;
    for (const std::string& name : names_) {
      const int one = RestartOne(context, name);
      if (one != kDone) code = one;
    }
    return code;
  }

 private:
  int RestartOne(Context& context, const std::string& name) const {
    const auto job = FindOwnJob(context, name, "starts its attempts itself");
    if (!job.ok()) return Fail(context, "restart", job.status());
    auto client = context.client();
    if (!client.ok()) return Fail(context, "restart", client.status());
    msg::RestartJobRequestT request;
    request.job = *job;
    request.grace_ms = static_cast<std::uint32_t>(grace_ * 1000);
    const auto reply = (*client)->Call<rpc::Launcher::RestartJob>(request, Patient());
    if (!reply.ok()) return Fail(context, "restart", reply.status());
    if (context.json && reply->job != nullptr) {
      PrintJson(context, ToJson(*reply->job));
    } else {
      *context.out << *job << " restarts\n";
    }
    return kDone;
  }

  std::vector<std::string> names_;
  double grace_ = 0;
};

}  // namespace

std::unique_ptr<Verb> MakeRestart() { return std::make_unique<Restart>(); }

}  // namespace yard
