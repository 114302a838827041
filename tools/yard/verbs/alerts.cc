#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "bus/event/subscriber.h"
#include "bus/json/alert_json.h"
#include "bus/schema/common_methods.h"
#include "runtime/counted.h"
#include "runtime/text/printable.h"
#include "tools/yard/event/event_queue.h"
#include "tools/yard/follow/follow.h"
#include "tools/yard/follow/json_output.h"
#include "tools/yard/services/failure.h"
#include "tools/yard/text/table.h"
#include "tools/yard/verbs/verbs.h"

namespace yard {
namespace {

constexpr absl::Duration kConnect = absl::Seconds(5);
constexpr const char* kOwners[] = {"trainer", "launcher"};
constexpr std::uint32_t kListed = 20;
constexpr std::uint32_t kMostListed = 1000;

using Alert = std::unique_ptr<msg::AlertT>;

// Sorts unacknowledged alerts first; within each group, the newest first.
bool IsBefore(const Alert& a, const Alert& b) {
  if (a->acknowledged != b->acknowledged) return b->acknowledged;
  return std::pair(a->time_us, a->id) > std::pair(b->time_us, b->id);
}

class Alerts : public Verb {
 public:
  void Declare(OptionSet& options) override {
    options.Add("--ack", acknowledged_,
                "You have seen these: an id, a trial's id, or all; may be repeated.");
    options.Add("-n", count_, "At most so many, up to 1000 (default: 20).");
    options.Flag("-f,--follow", follows_, "Then those that come, until Ctrl-C.");
  }

  int Run(Context& context) override {
    if (count_ == 0 || count_ > kMostListed) {
      return Fail(context, "alerts",
                  absl::InvalidArgumentError(
                      absl::StrCat("-n ", count_, " is no number from 1 to ", kMostListed)));
    }
    auto client = context.client();
    if (!client.ok()) return Fail(context, "alerts", client.status());
    if (!acknowledged_.empty()) return Acknowledge(context, **client);
    if (!follows_) return List(context, **client);
    // Subscribes before it lists, so that no alert is missed; one alert may appear in both.
    const auto queue = std::make_shared<EventQueue>(EventQueue::Options{.clock = context.clock});
    auto node = context.node();
    if (!node.ok()) return Fail(context, "alerts", node.status());
    if (context.interrupt != nullptr) context.interrupt->Handle([queue] { queue->Close(); });
    bus::Subscriber subscriber(*node, Listening(context, *client, queue));
    const bool hears = subscriber.WaitUntilConnected(kConnect).ok();
    int code = kDone;
    if (!hears) {
      code = Fail(context, "alerts",
                  absl::UnavailableError("the registry's event hub cannot be heard; yard status"));
    } else {
      code = List(context, **client);
    }
    context.out->flush();
    while (code == kDone) {
      const auto item = queue->Take(absl::InfiniteDuration());
      if (!item.has_value()) break;
      *context.out << item->text << "\n";
      context.out->flush();
      if (!context.out->good()) break;  // The reader of stdout is gone.
    }
    if (context.interrupt != nullptr) context.interrupt->Handle({});
    return code;
  }

 private:
  int List(Context& context, bus::Client& client) const {
    std::vector<Alert> alerts;
    std::uint64_t unacknowledged = 0;
    bool more = false;
    absl::Status trouble;
    for (const char* const owner : kOwners) {
      msg::AlertsRequestT request;
      request.limit = count_;
      bus::CallOptions options = Patient();
      options.service = owner;
      auto reply = client.Call<rpc::Common::Alerts>(request, options);
      if (!reply.ok()) {
        trouble.Update(reply.status());
        continue;
      }
      unacknowledged += reply->unacknowledged;
      more = more || reply->more;
      for (Alert& alert : reply->alerts) alerts.push_back(std::move(alert));
    }
    std::sort(alerts.begin(), alerts.end(), IsBefore);
    more = more || alerts.size() > count_;
    if (alerts.size() > count_) alerts.resize(count_);
    Print(context, alerts);
    if (!context.json && unacknowledged > 0) {
      *context.out << runtime::Counted(unacknowledged, "alert") << " not seen"
                   << (more ? "; -n shows more" : "") << "   next  yard alerts --ack all\n";
    }
    return trouble.ok() ? kDone : Fail(context, "alerts", trouble);
  }

  static void Print(Context& context, const std::vector<Alert>& alerts) {
    Table table({"ID", "KIND", "NAME", ">AGE", "SEEN", "WHY"});
    const std::int64_t now = absl::ToUnixMicros(context.clock->Now());
    for (const Alert& alert : alerts) {
      if (context.json) {
        PrintJson(context, bus::ToJson(*alert));
        continue;
      }
      table.AddRow({alert->id, alert->kind, alert->name,
                    ShortDuration(absl::Microseconds(now - alert->time_us)),
                    alert->acknowledged ? "yes" : "no", alert->reason});
    }
    if (context.json) return;
    if (alerts.empty()) {
      *context.out << "no alerts\n";
      return;
    }
    *context.out << table.ToString(context.out_width());
  }

  int Acknowledge(Context& context, bus::Client& client) const {
    std::vector<std::string> left;  // Ids that no service has recognised so far.
    bool all = false;
    for (const std::string& id : acknowledged_) {
      if (id == "all") {
        all = true;
      } else {
        left.push_back(id);
      }
    }
    std::uint64_t changed = 0;
    for (const char* const owner : kOwners) {
      bus::CallOptions options = Patient();
      options.service = owner;
      for (const std::string& trial : acknowledged_) {
        if (!trial.starts_with("t-") || std::string_view(owner) != "trainer") continue;
        msg::AcknowledgeAlertsRequestT request;
        request.trial = trial;
        const auto reply = client.Call<rpc::Common::AcknowledgeAlerts>(request, options);
        if (!reply.ok()) return Fail(context, "alerts", AsLookup(reply.status()));
        changed += reply->changed;
        std::erase(left, trial);
      }
      msg::AcknowledgeAlertsRequestT request;
      request.alerts = left;
      request.all = all;
      const auto reply = client.Call<rpc::Common::AcknowledgeAlerts>(request, options);
      if (!reply.ok()) return Fail(context, "alerts", reply.status());
      changed += reply->changed;
      for (const std::string& known : reply->alerts) std::erase(left, known);
    }
    if (!left.empty()) {
      return Fail(context, "alerts",
                  absl::NotFoundError(absl::StrCat("there is no alert ", left.front(),
                                                   "; yard alerts lists them")));
    }
    if (context.json) {
      PrintJson(context, {{"acknowledged", changed}});
    } else {
      *context.out << runtime::Counted(changed, "alert") << " acknowledged\n";
    }
    return kDone;
  }

  static bus::Subscriber::Options Listening(const Context& context, bus::Client* client,
                                            const std::shared_ptr<EventQueue>& queue) {
    bus::Subscriber::Options options;
    options.prefixes = {"a/"};
    options.client = client;
    options.on_event = [queue, json = context.json, zone = context.zone()](
                           std::string_view topic, const msg::Envelope& event) {
      const msg::Alert* const said = event.body_as_Alert();
      if (said == nullptr) return;
      const std::unique_ptr<msg::AlertT> alert(said->UnPack());
      // An event with from == to reports an acknowledgement, not a new alert.
      const msg::Span* const span = event.span();
      if (span != nullptr && span->from() == span->to()) return;
      EventQueue::Item item{.topic = std::string(topic)};
      item.text =
          json ? bus::ToJson(*alert).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)
               : absl::StrCat(LocalTime(alert->time_us, zone), "  ", alert->id, "  ", alert->kind,
                              "  ", runtime::Printable(alert->name), "  ",
                              runtime::Printable(alert->reason));
      queue->Add(std::move(item));
    };
    return options;
  }

  std::vector<std::string> acknowledged_;
  std::uint32_t count_ = kListed;
  bool follows_ = false;
};

}  // namespace

std::unique_ptr<Verb> MakeAlerts() { return std::make_unique<Alerts>(); }

}  // namespace yard
