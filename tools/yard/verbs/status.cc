#include <algorithm>
#include <iterator>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "bus/schema/launcher_methods.h"
#include "runtime/text/printable.h"
#include "tools/yard/cli/verb_exit_code.h"
#include "tools/yard/follow/follow.h"
#include "tools/yard/follow/json_output.h"
#include "tools/yard/health/stuck_things.h"
#include "tools/yard/pool/pool_view.h"
#include "tools/yard/services/failure.h"
#include "tools/yard/services/instances.h"
#include "tools/yard/services/leases.h"
#include "tools/yard/services/service_rows.h"
#include "tools/yard/services/service_start.h"
#include "tools/yard/services/service_stats.h"
#include "tools/yard/state/service_presence.h"
#include "tools/yard/state/wanted.h"
#include "tools/yard/text/table.h"
#include "tools/yard/verbs/verbs.h"

namespace yard {
namespace {

constexpr absl::Duration kPatience = absl::Seconds(1);
constexpr std::size_t kMostRows = 100;  // Rows of a table for people.

class Status : public Verb {
 public:
  void Declare(OptionSet& options) override {
    options.Flag("--check", check_, "For scripts: say only what is not up, else exit with 0.");
  }

  int Run(Context& context) override {
    if (absl::Status there = EnsureYard(context); !there.ok()) return ShowRest(context, there);
    // A service that is being restarted is ready shortly, or reports why not.
    if (const auto wanted = ReadWanted(context.locations); wanted.ok() && wanted->has_value()) {
      (void)AwaitAnswers(context, ServicesOf(context.locations));
    }
    auto client = context.client();
    if (!client.ok()) return Fail(context, "status", client.status());
    const auto list = AskRegistry(context, **client);
    std::vector<ServiceRow> rows = ServiceRows(context, list);
    if (check_) return Check(context, **client, rows, list.status());
    int code = kDone;
    if (list.ok()) {
      SayWhatIsWrong(context);
    } else {
      code = Fail(context, "status", list.status());
    }
    if (list.ok() && WhyItIsSilent(context, "launcher").empty()) AskForRestarts(**client, &rows);
    Print(context, rows);
    if (code != kDone) return code;
    PrintNodes(context, **client);
    const auto tools = RunningInstances(context);
    if (tools.ok()) PrintTools(context, *tools);
    if (!context.json && context.out_is_terminal) {
      *context.out << "\nnext: yard run -- PROGRAM ...   yard ps   yard runs\n";
    }
    return kDone;
  }

 private:
  // The yard did not start: prints why, and the services that exist.
  int ShowRest(Context& context, const absl::Status& why) const {
    const int code = Fail(context, "status", why);
    const auto wanted = ReadWanted(context.locations);
    if (!check_ && wanted.ok() && wanted->has_value()) Print(context, ServiceRows(context, why));
    return code;
  }

  absl::StatusOr<Leases> AskRegistry(const Context& context, bus::Client& client) const {
    if (absl::Status there = AwaitAnswers(context, {"registry"}); !there.ok()) return there;
    return check_ ? ServiceLeases(client, kPatience) : AllLeases(client, kPatience);
  }

  static void SayWhatIsWrong(Context& context) {
    for (const std::string& service : ServicesOf(context.locations)) {
      const std::string why = WhyItIsNotThere(context, service);
      if (!why.empty()) *context.err << "yard status: " << runtime::Printable(why) << "\n";
    }
  }

  // Reports stuck trials and jobs. Returns true if nothing is stuck.
  static bool SayWhatIsStuck(Context& context, bus::Client& client) {
    const auto stuck = AskForStuckThings(client, kPatience);
    for (const StuckFacts& one : stuck) {
      *context.err << "yard status: " << runtime::Printable(absl::StrCat(one.id, " ", one.why))
                   << "\n";
    }
    return stuck.empty();
  }

  static void Print(Context& context, const std::vector<ServiceRow>& rows) {
    for (const ServiceRow& row : rows) {
      if (context.json) PrintJson(context, ToJsonRow(row));
    }
    if (!context.json) PrintTable(context, rows);
  }

  // Prints one line for each service that is down or does not answer, and nothing else.
  static int Check(Context& context, bus::Client& client, const std::vector<ServiceRow>& rows,
                   const absl::Status& registry) {
    std::map<std::string, absl::StatusOr<msg::StatsReplyT>> answers;
    if (registry.ok()) {
      answers = AskForStats(client, ServicesOf(context.locations), absl::Seconds(1));
    }
    bool all = true;
    for (const std::string& service : ServicesOf(context.locations)) {
      const auto row = std::find_if(rows.begin(), rows.end(),
                                    [&](const ServiceRow& r) { return r.service == service; });
      const std::string wrong = WhatIsWrong(*row, registry, answers);
      if (wrong.empty()) continue;
      all = false;
      const std::string why = WhyItIsNotThere(context, row->service);
      *context.err << "yard status: "
                   << runtime::Printable(why.empty() ? absl::StrCat(row->service, " ", wrong) : why)
                   << "\n";
    }
    if (registry.ok() && WhyItIsSilent(context, "launcher").empty()) {
      all = SayWhatIsStuck(context, client) && all;
    }
    return !registry.ok() ? ExitCodeOf(registry) : all ? kDone : kFailed;
  }

  static std::string WhatIsWrong(
      const ServiceRow& row, const absl::Status& registry,
      const std::map<std::string, absl::StatusOr<msg::StatsReplyT>>& answers) {
    if (!registry.ok()) {
      if (row.state == "down") return "is down";
      return row.service == "registry" ? absl::StrCat("does not answer: ", registry.message())
                                       : std::string("was not asked: the registry does not answer");
    }
    if (row.state != "up") return "is " + row.state;
    const absl::Status& answer = answers.at(row.service).status();
    return answer.ok() ? "" : absl::StrCat("does not answer: ", answer.message());
  }

  static void AskForRestarts(bus::Client& client, std::vector<ServiceRow>* rows) {
    const auto services = client.Call<rpc::Launcher::Services>({}, {.timeout = absl::Seconds(1)});
    if (services.ok()) AddRestarts(*services, rows);
  }

  static nlohmann::json ToJsonRow(const ServiceRow& row) {
    return {{"service", row.service},
            {"instance", row.instance},
            {"state", row.state},
            {"pid", PidToJson(row.pid)},
            {"since", TimeToJson(row.since_us)},
            {"restarts", row.restarts},
            {"endpoint", row.endpoint}};
  }

  // Lists other hosts where tasks run. Not as JSON, where each line is a process; `yard pool` has
  // them.
  static void PrintNodes(Context& context, bus::Client& client) {
    if (context.json || !WhyItIsSilent(context, "launcher").empty()) return;
    const auto reply = client.Call<rpc::Launcher::Nodes>({}, {.timeout = absl::Seconds(1)});
    if (!reply.ok() || reply->nodes.empty()) return;
    std::vector<msg::NodeT> nodes;
    for (const auto& node : reply->nodes) nodes.push_back(*node);
    *context.out << "\n" << NodeTable(nodes, context.clock->Now(), context.out_width());
  }

  static void PrintTools(Context& context,
                         const std::vector<std::unique_ptr<msg::InstanceT>>& tools) {
    Table table({"TOOL", ">PID", ">AGE", "ADDRESS", "SHOWS"});
    const std::int64_t now = absl::ToUnixSeconds(context.clock->Now());
    for (const auto& tool : tools) {
      if (tool == nullptr || tool->info == nullptr) continue;
      if (context.json) PrintJson(context, ToJson(*tool));
      table.AddRow({tool->id, absl::StrCat(tool->info->pid),
                    ShortDuration(absl::Seconds(now - tool->info->start_time)), tool->url,
                    DataSource(*tool->info)});
    }
    if (!context.json && !tools.empty())
      *context.out << "\n" << table.ToString(context.out_width());
  }

  static void PrintTable(Context& context, const std::vector<ServiceRow>& rows) {
    Table table({"SERVICE", "STATE", ">PID", ">AGE", ">RESTARTS"});
    const std::int64_t now = absl::ToUnixMicros(context.clock->Now());
    const std::size_t shown = std::min(rows.size(), kMostRows);
    for (std::size_t i = 0; i < shown; ++i) {
      const ServiceRow& row = rows[i];
      table.AddRow({row.service, row.state, row.pid == 0 ? "-" : absl::StrCat(row.pid),
                    row.since_us == 0 ? "-" : ShortDuration(absl::Microseconds(now - row.since_us)),
                    absl::StrCat(row.restarts)});
    }
    *context.out << table.ToString(context.out_width());
    if (shown < rows.size()) {
      *context.out << "... and " << rows.size() - shown << " more: yard status --json\n";
    }
  }

  bool check_ = false;
};

}  // namespace

std::unique_ptr<Verb> MakeStatus() { return std::make_unique<Status>(); }

}  // namespace yard
