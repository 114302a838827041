#include "bus/alert/alert_store.h"

#include <SQLiteCpp/SQLiteCpp.h>

#include <algorithm>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "bus/call/record_page.h"
#include "bus/call/stored_table.h"
#include "runtime/sqlite/database_file.h"
#include "runtime/sqlite/statement_columns.h"

namespace bus {
namespace {

constexpr int kCacheKib = 256;
constexpr std::string_view kRoot = "a/";
constexpr std::uint32_t kListed = 100;
constexpr std::uint32_t kMostListed = 1000;
constexpr std::size_t kMostChanged = 1000;
// Number of handed-on alerts between two removals of old ones.
constexpr std::uint64_t kHandedBetween = 64;

constexpr char kColumns[] = "number, acknowledged_us, body";

msg::AlertT ReadAlert(SQLite::Statement& row, const std::string& owner) {
  runtime::Reader read(row);
  const std::int64_t number = read.Number();
  const std::int64_t acknowledged_us = read.Number();
  const auto stored = DecodeStored<msg::Alert>(read.Bytes());
  msg::AlertT alert = stored == nullptr ? msg::AlertT() : std::move(*stored);
  alert.number = static_cast<std::uint64_t>(number);
  alert.acknowledged_us = acknowledged_us;
  alert.acknowledged = acknowledged_us != 0;
  alert.owner = owner;
  return alert;
}

}  // namespace

absl::StatusOr<std::unique_ptr<AlertStore>> AlertStore::Open(Options options) {
  auto database = runtime::ConnectToDatabase(options.path, kCacheKib);
  if (!database.ok()) return database.status();
  return std::unique_ptr<AlertStore>(new AlertStore(std::move(options), *std::move(database)));
}

AlertStore::AlertStore(Options options, std::unique_ptr<SQLite::Database> database)
    : options_(std::move(options)), database_(std::move(database)) {}
AlertStore::~AlertStore() = default;

absl::StatusOr<std::optional<msg::AlertT>> AlertStore::Add(const NewAlert& alert) {
  std::optional<msg::AlertT> added;
  auto status = Try("add an alert", [&] {
    added = InsertAlert(*database_, alert);
    if (added) added->owner = options_.owner;
    return absl::OkStatus();
  });
  if (!status.ok()) return status;
  return added;
}

absl::Status AlertStore::Release(const std::string& cause) {
  return Try("release an alert", [&] {
    SQLite::Statement update(*database_,
                             "UPDATE alerts SET cause = cause || ' #' || number WHERE cause = ?");
    runtime::Binder(update) << cause;
    update.exec();
    return absl::OkStatus();
  });
}

absl::StatusOr<bool> AlertStore::Holds(const std::string& cause) {
  bool holds = false;
  auto status = Try("read an alert", [&] {
    SQLite::Statement select(*database_, "SELECT 1 FROM alerts WHERE cause = ?");
    runtime::Binder(select) << cause;
    holds = select.executeStep();
    return absl::OkStatus();
  });
  if (!status.ok()) return status;
  return holds;
}

absl::StatusOr<msg::AlertsReplyT> AlertStore::List(const msg::AlertsRequestT& request) {
  msg::AlertsReplyT reply;
  const std::uint32_t asked = request.limit == 0 ? kListed : request.limit;
  const std::size_t limit = std::min(asked, kMostListed);
  auto status = Try("list alerts", [&] {
    SQLite::Statement select(
        *database_,
        absl::StrCat("SELECT ", kColumns, " FROM alerts WHERE ?1 IN ('', trial) AND (?2 = 0 OR ",
                     "acknowledged_us = 0) ORDER BY acknowledged_us <> 0, number DESC LIMIT ?3"));
    runtime::Binder(select) << request.trial << std::int64_t{request.unacknowledged_only}
                            << static_cast<std::int64_t>(limit) + 1;
    while (select.executeStep()) {
      if (reply.alerts.size() == limit) {
        reply.more = true;
        break;
      }
      reply.alerts.push_back(std::make_unique<msg::AlertT>(ReadAlert(select, options_.owner)));
    }
    reply.unacknowledged = static_cast<std::uint64_t>(
        database_->execAndGet("SELECT count(*) FROM alerts WHERE acknowledged_us = 0").getInt64());
    return absl::OkStatus();
  });
  if (!status.ok()) return status;
  return reply;
}

absl::StatusOr<AlertStore::Acknowledged> AlertStore::Acknowledge(
    const msg::AcknowledgeAlertsRequestT& request, std::int64_t now_us) {
  Acknowledged done;
  auto status = Try("acknowledge alerts", [&] {
    SQLite::Transaction transaction(*database_, SQLite::TransactionBehavior::IMMEDIATE);
    for (const std::string& id : request.alerts) AcknowledgeWhere("id = ?1", id, now_us, &done);
    if (!request.trial.empty()) AcknowledgeWhere("trial = ?1", request.trial, now_us, &done);
    if (request.all) AcknowledgeWhere("?1 = ''", "", now_us, &done);
    transaction.commit();
    return absl::OkStatus();
  });
  if (!status.ok()) return status;
  return done;
}

absl::StatusOr<std::vector<std::string>> AlertStore::TrialsWith(const std::string& kind) {
  std::vector<std::string> trials;
  auto status = Try("list alerts", [&] {
    SQLite::Statement select(*database_,
                             "SELECT DISTINCT trial FROM alerts WHERE acknowledged_us = 0 AND "
                             "kind = ? AND trial <> ''");
    runtime::Binder(select) << kind;
    while (select.executeStep()) trials.push_back(select.getColumn(0).getString());
    return absl::OkStatus();
  });
  if (!status.ok()) return status;
  return trials;
}

absl::StatusOr<std::vector<AlertStore::Due>> AlertStore::NotHanded(std::size_t most) {
  std::vector<Due> alerts;
  auto status = Try("list alerts", [&] {
    SQLite::Statement select(
        *database_, absl::StrCat("SELECT ", kColumns,
                                 ", command FROM alerts WHERE handed = 0 ORDER BY number LIMIT "
                                 "?"));
    runtime::Binder(select) << static_cast<std::int64_t>(most);
    while (select.executeStep()) {
      alerts.push_back({ReadAlert(select, options_.owner), select.getColumn(3).getString()});
    }
    return absl::OkStatus();
  });
  if (!status.ok()) return status;
  return alerts;
}

absl::Status AlertStore::MarkHanded(std::uint64_t number) {
  return Try("note an alert", [&] {
    SQLite::Statement update(*database_, "UPDATE alerts SET handed = 1 WHERE number = ?");
    runtime::Binder(update) << static_cast<std::int64_t>(number);
    update.exec();
    if (number % kHandedBetween == 0) ForgetOld();
    return absl::OkStatus();
  });
}

absl::StatusOr<msg::EndsReplyT> AlertStore::Ends(const msg::EndsRequestT& request) {
  EndsPage page(request);
  auto status = Try("read alerts", [&] {
    SQLite::Statement select(*database_,
                             "SELECT topic, max(number) FROM alerts GROUP BY topic ORDER BY topic");
    while (select.executeStep()) {
      runtime::Reader read(select);
      const std::string topic = read.Text();
      if (!page.Add(topic, 0, static_cast<std::uint64_t>(read.Number()))) break;
    }
    return absl::OkStatus();
  });
  if (!status.ok()) return status;
  return page.Take();
}

absl::StatusOr<msg::SinceReplyT> AlertStore::Since(const msg::SinceRequestT& request) {
  SincePage page;
  auto status = Try("read alerts", [&] {
    for (const auto& place : request.places) {
      if (place->lane == 0 && !AddEvents(*place, request.since_us, &page)) break;
    }
    return absl::OkStatus();
  });
  if (!status.ok()) return status;
  return page.Take();
}

absl::StatusOr<msg::EnvelopeT> AlertStore::EnvelopeOf(const msg::AlertT& alert) {
  msg::EnvelopeT envelope;
  auto status = Try("read an alert", [&] {
    // An acknowledgement is published as news at the end of its topic.
    SQLite::Statement select(
        *database_, IsNews(alert) ? "SELECT max(number), max(number) FROM alerts WHERE topic = ?2"
                                  : "SELECT previous, number FROM alerts WHERE number = ?1");
    select.bind(1, static_cast<std::int64_t>(alert.number));
    if (IsNews(alert)) select.bind(2, TopicOfAlert(alert));
    std::int64_t from = 0, to = 0;
    if (select.executeStep()) {
      runtime::Reader read(select);
      from = read.Number();
      to = read.Number();
    }
    envelope.span = std::make_unique<msg::Span>(0, static_cast<std::uint64_t>(from),
                                                static_cast<std::uint64_t>(to));
    return absl::OkStatus();
  });
  if (!status.ok()) return status;
  envelope.body.Set(msg::AlertT(alert));
  return envelope;
}

bool AlertStore::IsNews(const msg::AlertT& alert) {
  return alert.acknowledged && alert.acknowledged_us != alert.time_us;
}

template <typename Body>
absl::Status AlertStore::Try(const std::string& what, Body body) {
  return runtime::TryDatabase(*database_, what, std::move(body));
}

bool AlertStore::AddEvents(const msg::PlaceT& place, std::int64_t since_us, SincePage* page) {
  SQLite::Statement select(
      *database_, absl::StrCat("SELECT ", kColumns,
                               ", previous, time_us FROM alerts WHERE topic = ? AND number > ? "
                               "ORDER BY number"));
  runtime::Binder(select) << place.topic << static_cast<std::int64_t>(place.position);
  std::uint64_t passed = 0;
  while (select.executeStep()) {
    const msg::AlertT alert = ReadAlert(select, options_.owner);
    const auto previous = static_cast<std::uint64_t>(select.getColumn(3).getInt64());
    if (select.getColumn(4).getInt64() < since_us) {
      passed = alert.number;
      continue;
    }
    if (passed != 0 && !page->AddBeginning(place.topic, 0, std::exchange(passed, 0))) {
      return false;
    }
    if (!page->Add(place.topic, msg::Span(0, previous, alert.number), alert)) return false;
  }
  return passed == 0 || page->AddBeginning(place.topic, 0, passed);
}

void AlertStore::AcknowledgeWhere(const char* where, const std::string& value, std::int64_t now_us,
                                  Acknowledged* done) {
  {
    SQLite::Statement select(*database_,
                             absl::StrCat("SELECT ", kColumns, " FROM alerts WHERE ", where,
                                          " AND acknowledged_us = 0 ORDER BY number DESC"));
    runtime::Binder(select) << value;
    while (done->changed.size() < kMostChanged && select.executeStep()) {
      done->changed.push_back(ReadAlert(select, options_.owner));
      done->changed.back().acknowledged = true;
      done->changed.back().acknowledged_us = now_us;
    }
  }
  SQLite::Statement update(*database_, absl::StrCat("UPDATE alerts SET acknowledged_us = ?2 WHERE ",
                                                    where, " AND acknowledged_us = 0"));
  runtime::Binder(update) << value << now_us;
  done->reply.changed += static_cast<std::uint64_t>(update.exec());
  if (value.empty()) return;
  SQLite::Statement known(*database_, absl::StrCat("SELECT id FROM alerts WHERE ", where));
  runtime::Binder(known) << value;
  while (known.executeStep()) done->reply.alerts.push_back(known.getColumn(0).getString());
}

void AlertStore::ForgetOld() {
  SQLite::Statement forget(
      *database_,
      "DELETE FROM alerts WHERE handed = 1 AND number IN (SELECT number FROM alerts ORDER BY "
      "acknowledged_us = 0, number LIMIT max(0, (SELECT count(*) FROM alerts) - ?))");
  runtime::Binder(forget) << static_cast<std::int64_t>(options_.keep);
  forget.exec();
}

bool IsForAlerts(const msg::EndsRequestT& request) {
  return std::string_view(request.prefix).starts_with(kRoot);
}

bool IsForAlerts(const msg::SinceRequestT& request) {
  return !request.places.empty() &&
         std::all_of(request.places.begin(), request.places.end(), [](const auto& place) {
           return std::string_view(place->topic).starts_with(kRoot);
         });
}

}  // namespace bus
