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

// The client keys that are allowed now, as read from the files of a KeyFolder. Any thread.
class KeyBook {
 public:
  KeyBook(bus::KeyFolder folder, runtime::Clock* clock);

  // Reads the files again if their folder has changed. Blocks for the disk. If the keys cannot be
  // read, the book stays unchanged.
  void Read();
  // Changes whenever the allowed keys or their roles change.
  std::uint64_t version() const;

  std::optional<bus::AllowedKey> Find(const std::string& public_key) const;
  // Decides about a connection that presents a key. Reads the files first, since the key may just
  // have been allowed or removed. Counts an unknown key, and logs it the first time.
  bool LetIn(const std::string& public_key, const std::string& address);

  std::uint64_t refused() const;
  std::uint64_t size() const;

 private:
  const bus::KeyFolder folder_;
  runtime::Clock* const clock_;

  runtime::Mutex read_mutex_;  // Serialises Read(). Lock it before mutex_.
  mutable runtime::Mutex mutex_;
  std::map<std::string, bus::AllowedKey> keys_ ABSL_GUARDED_BY(mutex_);  // By public key.
  std::set<std::string> logged_ ABSL_GUARDED_BY(mutex_);  // Unknown keys and bad files that were
                                                          // logged.
  std::uint64_t refused_ ABSL_GUARDED_BY(mutex_) = 0;
  std::uint64_t version_ ABSL_GUARDED_BY(mutex_) = 0;
  // The folder's last change when it was read, in nanoseconds since 1970; null: never read.
  std::optional<std::int64_t> changed_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace gate

#endif  // GATE_KEY_BOOK_H_
