#ifndef LAUNCHER_ALERT_NOTIFICATION_STORE_H_
#define LAUNCHER_ALERT_NOTIFICATION_STORE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bus/schema/common_generated.h"

namespace SQLite {
class Database;
}

namespace launcher {

// SQL for the table of notifications in launcher.db.
extern const char kNotificationTables[];

// Stores the alerts to notify the user of, and their batches. The ids of alerts are remembered (the
// newest 20,000), so that Add() is idempotent and each alert is notified once. Every method runs
// one transaction and blocks until it is done. Not thread-safe, like bus::AlertStore.
class NotificationStore {
 public:
  // Opens a database that already contains kNotificationTables.
  static absl::StatusOr<std::unique_ptr<NotificationStore>> Open(const std::string& path);
  ~NotificationStore();
  NotificationStore(const NotificationStore&) = delete;
  NotificationStore& operator=(const NotificationStore&) = delete;

  // Adds an alert to the waiting ones, unless its id is known.
  absl::Status Add(const msg::AlertT& alert);
  absl::StatusOr<std::size_t> Waiting();
  // Alerts that one job notifies.
  struct Batch {
    // Id of the first alert, from which the job's request id is derived.
    std::string leader;
    std::vector<msg::AlertT> alerts;  // Oldest first.
  };
  // Makes one batch of all waiting alerts, at most 1,000.
  absl::Status MakeBatch(std::int64_t now_us);
  // Returns the batches whose job was not launched yet, oldest first.
  absl::StatusOr<std::vector<Batch>> NotLaunched();
  absl::Status MarkLaunched(const std::string& leader);
  // Returns the times at which batches were made since `since_us`, oldest first.
  absl::StatusOr<std::vector<std::int64_t>> BatchesSince(std::int64_t since_us);

 private:
  explicit NotificationStore(std::unique_ptr<SQLite::Database> database);

  const std::unique_ptr<SQLite::Database> database_;
};

}  // namespace launcher

#endif  // LAUNCHER_ALERT_NOTIFICATION_STORE_H_
