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

// The table of alerts that a person is told of, in launcher.db.
extern const char kNotificationTables[];

// Keeps the alerts that a person is to be told of, and which were told together. An alert is known
// by its id for good (the newest 20,000 are kept), so that it is told once however often it is
// handed in. Every method is one transaction and blocks for it. One thread, as bus::AlertStore.
class NotificationStore {
 public:
  // A database that has kNotificationTables.
  static absl::StatusOr<std::unique_ptr<NotificationStore>> Open(const std::string& path);
  ~NotificationStore();
  NotificationStore(const NotificationStore&) = delete;
  NotificationStore& operator=(const NotificationStore&) = delete;

  // The alert waits to be told, unless it is known.
  absl::Status Add(const msg::AlertT& alert);
  absl::StatusOr<std::size_t> Waiting();
  // Alerts that are told by one job.
  struct Batch {
    std::string leader;               // Id of the first alert: the job's request id comes from it.
    std::vector<msg::AlertT> alerts;  // Oldest first.
  };
  // All that wait are one batch from now on, 1,000 at most.
  absl::Status MakeBatch(std::int64_t now_us);
  // The batches whose job was not launched, oldest first.
  absl::StatusOr<std::vector<Batch>> NotLaunched();
  absl::Status MarkLaunched(const std::string& leader);
  // When the batches since then were made, oldest first.
  absl::StatusOr<std::vector<std::int64_t>> BatchesSince(std::int64_t since_us);

 private:
  explicit NotificationStore(std::unique_ptr<SQLite::Database> database);

  const std::unique_ptr<SQLite::Database> database_;
};

}  // namespace launcher

#endif  // LAUNCHER_ALERT_NOTIFICATION_STORE_H_
