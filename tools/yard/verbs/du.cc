#include <memory>
#include <string>
#include <vector>

#include "bus/schema/datamanager_methods.h"
#include "tools/yard/run/disk_usage_view.h"
#include "tools/yard/run/run_reader.h"
#include "tools/yard/services/failure.h"
#include "tools/yard/verbs/verbs.h"

namespace yard {
namespace {

constexpr std::size_t kMostRuns = 100'000;  // Limit of a query.

class Du : public Verb {
 public:
  void Declare(OptionSet& options) override {
    options.Add("run", names_, "Only these runs: names, unique prefixes, trials.");
    options.Add("--query", query_, "Only the runs that it is true of: 'age>7d'.");
    options.Add("-n,--count", count_, "The largest so many (default: all).");
  }

  int Run(Context& context) override {
    RunReader reader(context, "du");
    msg::DiskUsageRequestT request;
    if (!names_.empty() || !query_.empty()) {
      auto runs = reader.Names(names_, query_, kMostRuns);
      if (!runs.ok()) return Fail(context, "du", runs.status());
      request.runs = *std::move(runs);
    }
    // A quick call first: DiskUsage may take long, so a hanging data manager could not be told from
    // a busy one.
    const auto there = reader.Call<rpc::Datamanager::DataStatus>({});
    if (!there.ok()) return Fail(context, "du", there.status());
    const auto usage = reader.Call<rpc::Datamanager::DiskUsage>(request);
    if (!usage.ok()) return Fail(context, "du", usage.status());
    ShowDiskUsage(context, *usage, count_);
    return kDone;
  }

 private:
  std::vector<std::string> names_;
  std::string query_;
  std::uint32_t count_ = 0;
};

}  // namespace

std::unique_ptr<Verb> MakeDu() { return std::make_unique<Du>(); }

}  // namespace yard
