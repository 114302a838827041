#ifndef WEB_SESSION_SESSIONS_H_
#define WEB_SESSION_SESSIONS_H_

#include <cstddef>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "runtime/clock.h"
#include "runtime/mutex.h"

namespace web {

// Authenticates requests through the port. The owner gets a key through the socket, which nobody
// else may use, and puts it into the address that the browser opens (after the "#", which browsers
// do not send); the page exchanges the key for a token, which each of its requests carries. A key
// is valid once, and for a minute. Tokens are kept in a private file, so that browsers continue
// after a restart of this service. Thread-safe.
class Sessions {
 public:
  struct Options {
    std::string file = {};  // Path in a private directory; mode 0600.
    runtime::Clock* clock = runtime::Clock::Real();
    absl::Duration key_life = absl::Seconds(60);
    absl::Duration session_life = absl::Hours(12);
    int exchanges_a_minute = 5;
  };
  struct Session {
    std::string token;
    absl::Duration life;
  };

  // Reads the file if it exists; drops invalid entries and expired
  // tokens.
  static std::unique_ptr<Sessions> Open(Options options);
  Sessions(const Sessions&) = delete;
  Sessions& operator=(const Sessions&) = delete;

  // Returns a new key. At most kMaxKeys keys are pending; beyond that, the oldest is dropped.
  std::string NewKey();
  // Exchanges a key for a session. PermissionDenied if the key is unknown or has expired;
  // ResourceExhausted after too many attempts. At most kMaxSessions sessions live; beyond that, the
  // oldest ends.
  absl::StatusOr<Session> Exchange(std::string_view key);
  // Returns true if a session has this token. Takes the same time for every token.
  bool Knows(std::string_view token) const;

 private:
  // A secret that expires: keys by the monotonic clock, sessions by the wall clock, which survives
  // a restart.
  template <typename End>
  struct Timed {
    std::string secret;
    End end;
  };

  explicit Sessions(Options options) : options_(std::move(options)) {}
  bool TakeKey(std::string_view key, absl::Duration now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Read();
  void Write() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const Options options_;
  mutable runtime::Mutex mutex_;
  std::deque<Timed<absl::Duration>> keys_ ABSL_GUARDED_BY(mutex_);  // Oldest first.
  std::deque<Timed<absl::Time>> sessions_ ABSL_GUARDED_BY(mutex_);  // Oldest first.
  std::deque<absl::Duration> tries_ ABSL_GUARDED_BY(mutex_);        // Within the last minute.
};
inline constexpr std::size_t kMaxKeys = 16;
inline constexpr std::size_t kMaxSessions = 64;

}  // namespace web

#endif  // WEB_SESSION_SESSIONS_H_
