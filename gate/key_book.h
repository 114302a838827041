#ifndef GATE_KEY_BOOK_H_
#define GATE_KEY_BOOK_H_

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "bus/access/key_folder.h"
#include "runtime/clock.h"
#include "runtime/mutex.h"

namespace gate {

// The client keys that are allowed now, as the files of a KeyFolder say. Any thread.
class KeyBook {
 public:
  KeyBook(bus::KeyFolder folder, runtime::Clock* clock);

  // Reads the files again if something in their folder has changed. Blocks for the disk. Keys that
  // cannot be read at all stay as they were.
  void Read();
  // Another number each time that other keys are allowed than before, or with other roles.
  std::uint64_t version() const;

  std::optional<bus::AllowedKey> Find(const std::string& public_key) const;
  // For a connection that shows a key. Reads the files first: the key may have been allowed, or
  // removed, a moment ago. A key that stays unknown is counted, and logged the first time.
  bool LetIn(const std::string& public_key, const std::string& address);

  std::uint64_t refused() const;
  std::uint64_t size() const;

 private:
  const bus::KeyFolder folder_;
  runtime::Clock* const clock_;

  runtime::Mutex read_mutex_;  // One reads at a time. Taken before mutex_.
  mutable runtime::Mutex mutex_;
  std::map<std::string, bus::AllowedKey> keys_ ABSL_GUARDED_BY(mutex_);  // By public key.
  std::set<std::string> logged_ ABSL_GUARDED_BY(mutex_);  // Unknown keys and bad files.
  std::uint64_t refused_ ABSL_GUARDED_BY(mutex_) = 0;
  std::uint64_t version_ ABSL_GUARDED_BY(mutex_) = 0;
  // Time of the folder's last change when it was read, nanoseconds since 1970; nothing: never read.
  std::optional<std::int64_t> changed_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace gate

#endif  // GATE_KEY_BOOK_H_
