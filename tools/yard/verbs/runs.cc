#include <string>

#include "absl/strings/str_cat.h"
#include "bus/schema/datamanager_methods.h"
#include "tools/yard/follow.h"
#include "tools/yard/table.h"
#include "tools/yard/things_json.h"
#include "tools/yard/verbs/verbs.h"

namespace yard {
namespace {

class Runs : public Verb {
 public:
  void Declare(OptionSet& options) override {
    options.Add("run", run_, "A run's name or a unique prefix (default: all).");
  }

  int Run(Context& context) override {
    auto client = context.client();
    if (!client.ok()) return Fail(context, "runs", client.status());
    msg::RunsRequestT request;
    request.run = run_;
    auto reply = (*client)->Call<rpc::Datamanager::Runs>(request, Patient());
    if (absl::IsFailedPrecondition(reply.status())) {
      return Fail(context, "runs", absl::NotFoundError(reply.status().message()));
    }
    if (!reply.ok()) return Fail(context, "runs", reply.status());
    if (context.json) {
      for (const auto& run : reply->runs) PrintJson(context, ToJsonRow(*run));
      return kDone;
    }
    Table table({"RUN", ">UPDATED", ">TAGS", ">POINTS", ">LAST STEP", ">SIZE"});
    const std::int64_t now = absl::ToUnixMicros(context.clock->Now());
    for (const auto& run : reply->runs) {
      table.AddRow({run->name, ShortDuration(absl::Microseconds(now - run->update_us)),
                    absl::StrCat(run->tags), absl::StrCat(run->points),
                    absl::StrCat(run->last_step), ShortBytes(run->bytes)});
    }
    *context.out << table.ToString();
    *context.err << reply->runs.size() << " runs in " << reply->logdir << "\n";
    return kDone;
  }

 private:
  static nlohmann::json ToJsonRow(const msg::RunT& run) {
    return {{"run", run.name},
            {"created", IsoTime(run.create_us)},
            {"updated", IsoTime(run.update_us)},
            {"files", run.files},
            {"bytes", run.bytes},
            {"tags", run.tags},
            {"points", run.points},
            {"last_step", run.last_step},
            {"bad_records", run.bad_records}};
  }

  std::string run_;
};

}  // namespace

std::unique_ptr<Verb> MakeRuns() { return std::make_unique<Runs>(); }

}  // namespace yard
