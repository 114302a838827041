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
  virtual ~NotificationStore() = default;

  // The alert waits to be told, unless it is known.
  virtual absl::Status Add(const msg::AlertT& alert) = 0;
  virtual absl::StatusOr<std::size_t> Waiting() = 0;
  // Alerts that are told by one job.
  struct Batch {
    std::string leader;               // Id of the first alert: the job's request id comes from it.
    std::vector<msg::AlertT> alerts;  // Oldest first.
  };
  // All that wait are one batch from now on, 1,000 at most.
  virtual absl::Status MakeBatch(std::int64_t now_us) = 0;
  // The batches whose job was not launched, oldest first.
  virtual absl::StatusOr<std::vector<Batch>> NotLaunched() = 0;
  virtual absl::Status MarkLaunched(const std::string& leader) = 0;
  // When the batches since then were made, oldest first.
  virtual absl::StatusOr<std::vector<std::int64_t>> BatchesSince(std::int64_t since_us) = 0;
};

}  // namespace launcher

#endif  // LAUNCHER_ALERT_NOTIFICATION_STORE_H_
