#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "bus/schema/launcher_methods.h"
#include "tools/yard/follow.h"
#include "tools/yard/things_json.h"
#include "tools/yard/verbs/verbs.h"

namespace yard {
namespace {

constexpr absl::Duration kRemoval = absl::Minutes(5);

class Rm : public Verb {
 public:
  void Declare(OptionSet& options) override {
    options.Add("job", names_, "Jobs that have ended: ids, unique prefixes or names.",
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
    const auto job = FindOwnJob(context, name, "keeps what belongs to it");
    if (!job.ok()) return Fail(context, "rm", job.status());
    auto client = context.client();
    if (!client.ok()) return Fail(context, "rm", client.status());
    msg::RemoveJobRequestT request;
    request.job = *job;
    // (It answers when all files are gone.)
    const auto reply = (*client)->Call<rpc::Launcher::RemoveJob>(request, Patient(kRemoval));
    if (!reply.ok()) return Fail(context, "rm", reply.status());
    if (context.json) {
      PrintJson(context, {{"id", *job}, {"removed", true}});
    } else {
      *context.out << *job << " removed\n";
    }
    return kDone;
  }

  std::vector<std::string> names_;
};

}  // namespace

std::unique_ptr<Verb> MakeRm() { return std::make_unique<Rm>(); }

}  // namespace yard
