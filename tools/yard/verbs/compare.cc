#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "bus/schema/datamanager_methods.h"
#include "runtime/counted.h"
#include "tools/yard/follow/json_output.h"
#include "tools/yard/run/run_comparison.h"
#include "tools/yard/run/run_reader.h"
#include "tools/yard/run/run_view.h"
#include "tools/yard/services/failure.h"
#include "tools/yard/verbs/verbs.h"

namespace yard {
namespace {

constexpr std::size_t kMostRuns = 100;

class Compare : public Verb {
 public:
  void Declare(OptionSet& options) override {
    options.Add("run", names_, "Runs, or trials: names, ids or unique prefixes.");
    options.Add("--query", query_, "Also the runs it is true of: 'label:base & loss<0.1'.");
    options.Add("--tags", pattern_, "Only metrics that it finds (RE2); without it none of sys/.");
    options.Add("--group", group_,
                "Means of runs with the same value of this parameter: config.lr.");
    options.Flag("--all", all_, "Also what is the same in all of them.");
  }

  int Run(Context& context) override {
    RunReader reader(context, "compare");
    auto names = reader.Names(names_, query_, kMostRuns);
    if (!names.ok()) return Fail(context, "compare", names.status());
    if (names->size() < 2) {
      return Fail(context, "compare",
                  absl::InvalidArgumentError("it takes two runs: names, or a --query"));
    }
    auto runs = Read(context, reader, *names);
    if (!runs.ok()) return Fail(context, "compare", runs.status());
    if (!group_.empty()) return PrintGroups(context, *runs);
    const RunComparison comparison = CompareRuns(*runs, all_);
    if (context.json) {
      for (const ComparisonRow& row : comparison.rows) {
        nlohmann::json object = RowToJson(comparison, row);
        object["differs"] = row.differs;
        PrintJson(context, object);
      }
      return kDone;
    }
    *context.out << ComparisonTable(comparison, static_cast<std::size_t>(context.out_width()));
    if (!all_ && comparison.same_config + comparison.same_metrics > 0) {
      *context.err << runtime::Counted(comparison.same_config, "parameter") << " and "
                   << runtime::Counted(comparison.same_metrics, "number")
                   << " of metrics are the same (--all)\n";
    }
    return kDone;
  }

 private:
  absl::StatusOr<std::vector<ComparedRun>> Read(Context& context, RunReader& reader,
                                                const std::vector<std::string>& names) const {
    std::vector<ComparedRun> runs;
    std::vector<std::string> read;
    for (const std::string& name : names) {
      const auto tags = reader.Tags(name, pattern_);
      if (names.size() > 1 && absl::IsDataLoss(tags.status())) {
        *context.err << UnreadableNotice(tags.status());
        runs.emplace_back().name = name;
        continue;
      }
      if (!tags.ok()) return tags.status();
      if (tags->incomplete) *context.err << IncompleteNotice(name);
      read.push_back(name);
      ComparedRun& run = runs.emplace_back();
      run.name = name;
      for (const auto& tag : tags->tags) {
        if (!IsScalar(*tag) || (pattern_.empty() && IsSystemMetric(tag->name))) continue;
        run.metrics[tag->name] = {.last = tag->last, .min = tag->min, .max = tag->max};
      }
    }
    const auto losses = reader.Losses(read);
    if (!losses.ok()) return losses.status();
    for (const std::string& loss : *losses) *context.err << loss << "\n";
    if (auto status = ReadWhatIsSaid(reader, &runs); !status.ok()) return status;
    if (auto status = ReadConfigs(reader, names, &runs); !status.ok()) return status;
    return runs;
  }

  static absl::Status ReadWhatIsSaid(RunReader& reader, std::vector<ComparedRun>* runs) {
    for (ComparedRun& run : *runs) {
      const auto listed = reader.Run(run.name);
      if (!listed.ok()) return listed.status();
      const auto say = [&](const char* what, const nlohmann::json& value) {
        if (!value.empty()) run.said[what] = value.dump();
      };
      say("label", listed->labels);
      say("name", TextOrNull(listed->display_name));
      say("note", TextOrNull(listed->note));
    }
    return absl::OkStatus();
  }

  static absl::Status ReadConfigs(RunReader& reader, const std::vector<std::string>& names,
                                  std::vector<ComparedRun>* runs) {
    msg::HParamsRequestT request;
    request.selection = std::make_unique<msg::SelectionT>();
    request.selection->runs = names;
    for (;;) {
      const auto page = reader.Call<rpc::Datamanager::HParams>(request);
      if (!page.ok()) return AsLookup(page.status());
      for (const auto& found : page->runs) {
        const auto run = std::find_if(runs->begin(), runs->end(), [&](const ComparedRun& known) {
          return known.name == found->run;
        });
        if (run == runs->end()) continue;
        for (const auto& value : found->hparams) run->config[value->key] = value->value;
      }
      if (page->next.empty() || page->runs.empty()) return absl::OkStatus();
      request.after = page->next;
    }
  }

  std::vector<std::string> names_;
  int PrintGroups(Context& context, const std::vector<ComparedRun>& runs) const {
    const auto groups = CompareGroups(runs, group_);
    if (!groups.ok()) return Fail(context, "compare", groups.status());
    if (!context.json) {
      *context.out << GroupTable(*groups);
      return kDone;
    }
    for (const nlohmann::json& row : GroupsToJson(*groups)) PrintJson(context, row);
    return kDone;
  }

  std::string query_, pattern_, group_;
  bool all_ = false;
};

}  // namespace

std::unique_ptr<Verb> MakeCompare() { return std::make_unique<Compare>(); }

}  // namespace yard
