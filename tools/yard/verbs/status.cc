#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "bus/schema/launcher_methods.h"
#include "bus/schema/registry_methods.h"
#include "tools/yard/follow.h"
#include "tools/yard/table.h"
#include "tools/yard/things_json.h"
#include "tools/yard/verbs/verbs.h"
#include "tools/yard/yard_state.h"

namespace yard {
namespace {

struct Row {
  std::string service = "", instance = "", state = "";
  int pid = 0;
  std::int64_t since_us = 0;
  std::uint32_t restarts = 0;
  std::string endpoint = "";
};

class Status : public Verb {
 public:
  void Declare(OptionSet&) override {}

  int Run(Context& context) override {
    auto client = context.client();
    if (!client.ok()) return Fail(context, "status", client.status());
    const auto list = (*client)->Call<rpc::Registry::List>({}, {.timeout = absl::Seconds(2)});
    std::vector<Row> rows = Rows(context, list);
    AddRestarts(**client, &rows);
    for (const Row& row : rows) {
      if (context.json) PrintJson(context, ToJsonRow(row));
    }
    if (!context.json) PrintTable(context, rows);
    if (!list.ok()) return Fail(context, "status", list.status());
    if (!context.json && context.out_is_terminal) {
      *context.out << "\nnext: yard run -- PROGRAM ...   yard ps   yard runs\n";
    }
    return kDone;
  }

 private:
  // The services of a yard first, whether they are there or not, then what else is registered.
  static std::vector<Row> Rows(const Context& context,
                               const absl::StatusOr<msg::ListReplyT>& list) {
    std::vector<Row> rows;
    for (const std::string_view service : kServices) {
      Row row{.service = std::string(service), .pid = HolderOf(context.locations, service)};
      row.state = row.pid == 0 ? "down" : list.ok() ? "starting" : "unknown";
      rows.push_back(std::move(row));
    }
    if (!list.ok()) return rows;
    for (const auto& lease : list->leases) {
      const int pid = lease->process != nullptr ? lease->process->pid : 0;
      Row row{.service = lease->name,
              .instance = lease->instance,
              .state = lease->state == msg::LeaseState::Up ? "up" : "suspect",
              .pid = pid,
              .since_us = lease->registered_us,
              .endpoint = lease->endpoints.empty() ? "" : lease->endpoints.front()};
      const auto known = std::find_if(rows.begin(), rows.end(), [&](const Row& r) {
        return r.service == row.service && (r.instance.empty() || r.instance == row.instance);
      });
      if (known != rows.end()) {
        *known = std::move(row);
      } else {
        rows.push_back(std::move(row));
      }
    }
    return rows;
  }

  static void AddRestarts(bus::Client& client, std::vector<Row>* rows) {
    const auto services = client.Call<rpc::Launcher::Services>({}, {.timeout = absl::Seconds(1)});
    if (!services.ok()) return;
    for (const auto& service : services->services) {
      for (Row& row : *rows) {
        if (row.service == service->name) row.restarts = service->restarts;
      }
    }
  }

  static nlohmann::json ToJsonRow(const Row& row) {
    return {{"service", row.service},  {"instance", row.instance},       {"state", row.state},
            {"pid", row.pid},          {"since", IsoTime(row.since_us)}, {"restarts", row.restarts},
            {"endpoint", row.endpoint}};
  }

  static void PrintTable(Context& context, const std::vector<Row>& rows) {
    Table table({"SERVICE", "STATE", ">PID", ">AGE", ">RESTARTS"});
    const std::int64_t now = absl::ToUnixMicros(context.clock->Now());
    for (const Row& row : rows) {
      table.AddRow({row.service, row.state, row.pid == 0 ? "-" : absl::StrCat(row.pid),
                    row.since_us == 0 ? "-" : ShortDuration(absl::Microseconds(now - row.since_us)),
                    absl::StrCat(row.restarts)});
    }
    *context.out << table.ToString();
  }
};

}  // namespace

std::unique_ptr<Verb> MakeStatus() { return std::make_unique<Status>(); }

}  // namespace yard
