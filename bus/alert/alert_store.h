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

// The alerts of one service, in its database, and the record behind its topics `a/KIND/NAME/`: each
// alert is an entry of lane 0, and its number the position. Every method is one transaction and
// blocks for it. One thread, that of the other connection to the database, outside of that one's
// transactions.
class AlertStore {
 public:
  struct Options {
    std::string path;   // The path of a database that has kAlertTables.
    std::string owner;  // "trainer"
    // More alerts are forgotten: first those that were acknowledged, of these the oldest first. An
    // alert that was not handed on stays.
    std::size_t keep = 10'000;
  };
  static absl::StatusOr<std::unique_ptr<AlertStore>> Open(Options options);
  ~AlertStore();
  AlertStore(const AlertStore&) = delete;
  AlertStore& operator=(const AlertStore&) = delete;

  // As InsertAlert().
  absl::StatusOr<std::optional<msg::AlertT>> Add(const NewAlert& alert);
  // The condition of that cause is over: a new one of that cause is another alert.
  absl::Status Release(const std::string& cause);
  // True if the cause has an alert and was not released since.
  absl::StatusOr<bool> Holds(const std::string& cause);

  absl::StatusOr<msg::AlertsReplyT> List(const msg::AlertsRequestT& request);
  // The alerts that the call has changed, as they are now; at most 1,000 of them.
  struct Acknowledged {
    msg::AcknowledgeAlertsReplyT reply;
    std::vector<msg::AlertT> changed;
  };
  absl::StatusOr<Acknowledged> Acknowledge(const msg::AcknowledgeAlertsRequestT& request,
                                           std::int64_t now_us);
  // Trials with an alert of that kind that nobody has acknowledged.
  absl::StatusOr<std::vector<std::string>> TrialsWith(const std::string& kind);

  // The oldest alerts that were not handed on, at most `most`.
  struct Due {
    msg::AlertT alert;
    std::string command;  // NewAlert::command.
  };
  absl::StatusOr<std::vector<Due>> NotHanded(std::size_t most);
  absl::Status MarkHanded(std::uint64_t number);

  // The answers of Common.Ends and Common.Since for the topics of this service.
  absl::StatusOr<msg::EndsReplyT> Ends(const msg::EndsRequestT& request);
  absl::StatusOr<msg::SinceReplyT> Since(const msg::SinceRequestT& request);
  // An alert as it is published with its span: as the entry that it is, or, once it was
  // acknowledged, as news of its topic.
  absl::StatusOr<msg::EnvelopeT> EnvelopeOf(const msg::AlertT& alert);

 private:
  AlertStore(Options options, std::unique_ptr<SQLite::Database> database);
  // An alert that was acknowledged after it was stored is told again, and is no new entry.
  static bool IsNews(const msg::AlertT& alert);
  template <typename Body>
  absl::Status Try(const std::string& what, Body body);
  // False: the page is full.
  bool AddEvents(const msg::PlaceT& place, std::int64_t since_us, SincePage* page);
  void AcknowledgeWhere(const char* where, const std::string& value, std::int64_t now_us,
                        Acknowledged* done);
  void ForgetOld();

  const Options options_;
  const std::unique_ptr<SQLite::Database> database_;
};

// True if a request for events names topics of alerts, and no others.
bool IsForAlerts(const msg::EndsRequestT& request);
bool IsForAlerts(const msg::SinceRequestT& request);

}  // namespace bus

#endif  // BUS_ALERT_ALERT_STORE_H_
