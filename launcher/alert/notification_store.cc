#include "launcher/alert/notification_store.h"

#include <SQLiteCpp/SQLiteCpp.h>

#include <exception>
#include <utility>

#include "absl/strings/str_cat.h"
#include "bus/call/stored_table.h"
#include "runtime/sqlite/database_file.h"
#include "runtime/sqlite/statement_columns.h"

namespace launcher {

// `batch` is the id of the alert that leads it; empty while the alert waits.
const char kNotificationTables[] = R"sql(
  CREATE TABLE notifications (
    number INTEGER PRIMARY KEY AUTOINCREMENT, alert TEXT NOT NULL UNIQUE, body BLOB NOT NULL,
    batch TEXT NOT NULL, batched_us INTEGER NOT NULL, launched INTEGER NOT NULL);
  CREATE INDEX notifications_not_launched ON notifications (number) WHERE launched = 0;
)sql";

namespace {

constexpr std::int64_t kKept = 20'000;
constexpr std::int64_t kMostTogether = 1000;

class SqliteNotifications : public NotificationStore {
 public:
  explicit SqliteNotifications(const std::string& path)
      : database_(path, SQLite::OPEN_READWRITE | SQLite::OPEN_NOMUTEX, 5000) {
    database_.exec("PRAGMA synchronous=NORMAL");
    database_.exec("PRAGMA cache_size=-256");
  }

  absl::Status Add(const msg::AlertT& alert) override {
    return Try("note an alert", [&] {
      SQLite::Statement insert(
          database_,
          "INSERT INTO notifications (alert, body, batch, batched_us, launched) VALUES (?, ?, '', "
          "0, 0) ON CONFLICT DO NOTHING");
      runtime::Binder bind(insert);
      bind << alert.id;
      bind.Bytes(bus::EncodeStored<msg::Alert>(alert));
      insert.exec();
      return absl::OkStatus();
    });
  }

  absl::StatusOr<std::size_t> Waiting() override {
    std::size_t waiting = 0;
    auto status = Try("count alerts", [&] {
      waiting = static_cast<std::size_t>(
          database_
              .execAndGet("SELECT count(*) FROM notifications WHERE launched = 0 AND batch = ''")
              .getInt64());
      return absl::OkStatus();
    });
    if (!status.ok()) return status;
    return waiting;
  }

  absl::Status MakeBatch(std::int64_t now_us) override {
    return Try("note a batch of alerts", [&] {
      SQLite::Statement update(
          database_,
          "UPDATE notifications SET batched_us = ?1, batch = (SELECT alert FROM notifications "
          "WHERE launched = 0 AND batch = '' ORDER BY number LIMIT 1) WHERE number IN (SELECT "
          "number FROM notifications WHERE launched = 0 AND batch = '' ORDER BY number LIMIT ?2)");
      runtime::Binder(update) << now_us << kMostTogether;
      update.exec();
      return absl::OkStatus();
    });
  }

  absl::StatusOr<std::vector<Batch>> NotLaunched() override {
    std::vector<Batch> batches;
    auto status = Try("read alerts", [&] {
      SQLite::Statement select(database_,
                               "SELECT batch, body FROM notifications WHERE launched = 0 AND batch "
                               "<> '' ORDER BY batched_us, number");
      while (select.executeStep()) {
        runtime::Reader read(select);
        const std::string leader = read.Text();
        if (batches.empty() || batches.back().leader != leader) batches.push_back({leader, {}});
        auto alert = bus::DecodeStored<msg::Alert>(read.Bytes());
        if (alert != nullptr) batches.back().alerts.push_back(std::move(*alert));
      }
      return absl::OkStatus();
    });
    if (!status.ok()) return status;
    return batches;
  }

  absl::Status MarkLaunched(const std::string& leader) override {
    return Try("note a batch of alerts", [&] {
      SQLite::Transaction transaction(database_, SQLite::TransactionBehavior::IMMEDIATE);
      SQLite::Statement update(database_,
                               "UPDATE notifications SET launched = 1, body = x'' WHERE batch = ?");
      runtime::Binder(update) << leader;
      update.exec();
      SQLite::Statement forget(database_,
                               "DELETE FROM notifications WHERE launched = 1 AND number <= (SELECT "
                               "max(number) FROM notifications) - ?");
      runtime::Binder(forget) << kKept;
      forget.exec();
      transaction.commit();
      return absl::OkStatus();
    });
  }

  absl::StatusOr<std::vector<std::int64_t>> BatchesSince(std::int64_t since_us) override {
    std::vector<std::int64_t> times;
    auto status = Try("read alerts", [&] {
      SQLite::Statement select(
          database_,
          "SELECT max(batched_us) FROM notifications WHERE batch <> '' AND batched_us >= ? GROUP "
          "BY batch ORDER BY 1");
      runtime::Binder(select) << since_us;
      while (select.executeStep()) times.push_back(select.getColumn(0).getInt64());
      return absl::OkStatus();
    });
    if (!status.ok()) return status;
    return times;
  }

 private:
  template <typename Body>
  absl::Status Try(const std::string& what, Body body) {
    return runtime::TryDatabase(database_, what, std::move(body));
  }

  SQLite::Database database_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<NotificationStore>> NotificationStore::Open(
    const std::string& path) {
  try {
    return std::make_unique<SqliteNotifications>(path);
  } catch (const std::exception& error) {
    return absl::InternalError(absl::StrCat("cannot open ", path, ": ", error.what()));
  }
}

}  // namespace launcher
