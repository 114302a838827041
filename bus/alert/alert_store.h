#ifndef BUS_ALERT_ALERT_STORE_H_
#define BUS_ALERT_ALERT_STORE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bus/alert/alert_rows.h"
#include "bus/schema/common_generated.h"
#include "bus/schema/envelope_generated.h"

namespace SQLite {
class Database;
}

namespace bus {

class SincePage;

// The alerts of one service, in its database. Also answers for the record of its topics
// `a/KIND/NAME/`: each alert is an entry of lane 0, and its number is the position. Every method is
// one transaction and blocks for it. Use it on the thread of the service's other connection to the
// same database, and outside that connection's transactions.
class AlertStore {
 public:
  struct Options {
    std::string path;   // Database that contains kAlertTables.
    std::string owner;  // "trainer"
    // Limit of stored alerts. Over it the store first removes acknowledged alerts, and the oldest
    // of them first. It never removes an alert that was not handed on.
    std::size_t keep = 10'000;
  };
  static absl::StatusOr<std::unique_ptr<AlertStore>> Open(Options options);
  ~AlertStore();
  AlertStore(const AlertStore&) = delete;
  AlertStore& operator=(const AlertStore&) = delete;

  // See InsertAlert().
  absl::StatusOr<std::optional<msg::AlertT>> Add(const NewAlert& alert);
  // Ends the condition of that cause; the next alert with the cause is a new alert.
  absl::Status Release(const std::string& cause);
  // True if the cause has an alert and was not released since.
  absl::StatusOr<bool> Holds(const std::string& cause);

  absl::StatusOr<msg::AlertsReplyT> List(const msg::AlertsRequestT& request);
  // The alerts that the call has changed, after the change; at most 1,000 per call.
  struct Acknowledged {
    msg::AcknowledgeAlertsReplyT reply;
    std::vector<msg::AlertT> changed;
  };
  absl::StatusOr<Acknowledged> Acknowledge(const msg::AcknowledgeAlertsRequestT& request,
                                           std::int64_t now_us);
  // Returns the trials that have an unacknowledged alert of that kind.
  absl::StatusOr<std::vector<std::string>> TrialsWith(const std::string& kind);

  // Returns the oldest alerts that were not handed on, at most `most`.
  struct Due {
    msg::AlertT alert;
    std::string command;  // NewAlert::command.
  };
  absl::StatusOr<std::vector<Due>> NotHanded(std::size_t most);
  absl::Status MarkHanded(std::uint64_t number);

  // Handle Common.Ends and Common.Since for the topics of this service.
  absl::StatusOr<msg::EndsReplyT> Ends(const msg::EndsRequestT& request);
  absl::StatusOr<msg::SinceReplyT> Since(const msg::SinceRequestT& request);
  // Returns the envelope in which the alert is published, with its span: that of its entry or,
  // after its acknowledgement, that of news of its topic.
  absl::StatusOr<msg::EnvelopeT> EnvelopeOf(const msg::AlertT& alert);

 private:
  AlertStore(Options options, std::unique_ptr<SQLite::Database> database);
  // An alert acknowledged after it was stored is published again, but as news, not as a new entry.
  static bool IsNews(const msg::AlertT& alert);
  template <typename Body>
  absl::Status Try(const std::string& what, Body body);
  // Returns false if the page is full.
  bool AddEvents(const msg::PlaceT& place, std::int64_t since_us, SincePage* page);
  void AcknowledgeWhere(const char* where, const std::string& value, std::int64_t now_us,
                        Acknowledged* done);
  void ForgetOld();

  const Options options_;
  const std::unique_ptr<SQLite::Database> database_;
};

// True if a request for events names topics of alerts only.
bool IsForAlerts(const msg::EndsRequestT& request);
bool IsForAlerts(const msg::SinceRequestT& request);

}  // namespace bus

#endif  // BUS_ALERT_ALERT_STORE_H_
