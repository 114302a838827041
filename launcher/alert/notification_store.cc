#include "launcher/alert/notification_store.h"

#include <SQLiteCpp/SQLiteCpp.h>

#include <utility>

#include "bus/call/stored_table.h"
#include "runtime/sqlite/database_file.h"
#include "runtime/sqlite/statement_columns.h"

namespace launcher {

// `batch` is the id of the first alert of the batch; empty while the alert waits.
const char kNotificationTables[] = R"sql(
  CREATE TABLE notifications (
    number INTEGER PRIMARY KEY AUTOINCREMENT, alert TEXT NOT NULL UNIQUE, body BLOB NOT NULL,
    batch TEXT NOT NULL, batched_us INTEGER NOT NULL, launched INTEGER NOT NULL);
  CREATE INDEX notifications_not_launched ON notifications (number) WHERE launched = 0;
)sql";

namespace {

constexpr int kCacheKib = 256;
constexpr std::int64_t kKept = 20'000;
constexpr std::int64_t kMostTogether = 1000;

}  // namespace

absl::StatusOr<std::unique_ptr<NotificationStore>> NotificationStore::Open(
    const std::string& path) {
  auto database = runtime::ConnectToDatabase(path, kCacheKib);
  if (!database.ok()) return database.status();
  return std::unique_ptr<NotificationStore>(new NotificationStore(*std::move(database)));
}

NotificationStore::NotificationStore(std::unique_ptr<SQLite::Database> database)
    : database_(std::move(database)) {}
NotificationStore::~NotificationStore() = default;

absl::Status NotificationStore::Add(const msg::AlertT& alert) {
  return runtime::TryDatabase(*database_, "note an alert", [&] {
    SQLite::Statement insert(
        *database_,
        "INSERT INTO notifications (alert, body, batch, batched_us, launched) VALUES (?, ?, '', "
        "0, 0) ON CONFLICT DO NOTHING");
    runtime::Binder bind(insert);
    bind << alert.id;
    bind.Bytes(bus::EncodeStored<msg::Alert>(alert));
    insert.exec();
    return absl::OkStatus();
  });
}

absl::StatusOr<std::size_t> NotificationStore::Waiting() {
  std::size_t waiting = 0;
  auto status = runtime::TryDatabase(*database_, "count alerts", [&] {
    waiting = static_cast<std::size_t>(
        database_
            ->execAndGet("SELECT count(*) FROM notifications WHERE launched = 0 AND batch = ''")
            .getInt64());
    return absl::OkStatus();
  });
  if (!status.ok()) return status;
  return waiting;
}

absl::Status NotificationStore::MakeBatch(std::int64_t now_us) {
  return runtime::TryDatabase(*database_, "note a batch of alerts", [&] {
    SQLite::Statement update(
        *database_,
        "UPDATE notifications SET batched_us = ?1, batch = (SELECT alert FROM notifications "
        "WHERE launched = 0 AND batch = '' ORDER BY number LIMIT 1) WHERE number IN (SELECT "
        "number FROM notifications WHERE launched = 0 AND batch = '' ORDER BY number LIMIT ?2)");
    runtime::Binder(update) << now_us << kMostTogether;
    update.exec();
    return absl::OkStatus();
  });
}

absl::StatusOr<std::vector<NotificationStore::Batch>> NotificationStore::NotLaunched() {
  std::vector<Batch> batches;
  auto status = runtime::TryDatabase(*database_, "read alerts", [&] {
    SQLite::Statement select(*database_,
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

absl::Status NotificationStore::MarkLaunched(const std::string& leader) {
  return runtime::TryDatabase(*database_, "note a batch of alerts", [&] {
    SQLite::Transaction transaction(*database_, SQLite::TransactionBehavior::IMMEDIATE);
    SQLite::Statement update(*database_,
                             "UPDATE notifications SET launched = 1, body = x'' WHERE batch = ?");
    runtime::Binder(update) << leader;
    update.exec();
    SQLite::Statement forget(*database_,
                             "DELETE FROM notifications WHERE launched = 1 AND number <= (SELECT "
                             "max(number) FROM notifications) - ?");
    runtime::Binder(forget) << kKept;
    forget.exec();
    transaction.commit();
    return absl::OkStatus();
  });
}

absl::StatusOr<std::vector<std::int64_t>> NotificationStore::BatchesSince(std::int64_t since_us) {
  std::vector<std::int64_t> times;
  auto status = runtime::TryDatabase(*database_, "read alerts", [&] {
    SQLite::Statement select(
        *database_,
        "SELECT max(batched_us) FROM notifications WHERE batch <> '' AND batched_us >= ? GROUP "
        "BY batch ORDER BY 1");
    runtime::Binder(select) << since_us;
    while (select.executeStep()) times.push_back(select.getColumn(0).getInt64());
    return absl::OkStatus();
  });
  if (!status.ok()) return status;
  return times;
}

}  // namespace launcher
