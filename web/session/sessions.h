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

// Decides whose requests the port takes. The owner gets a key through the socket, which nobody else
// may use, and puts the key into the address that the browser opens (behind the "#", which no
// browser sends); the page swaps the key for a token, which each of its requests carries. A key is
// good once and for a minute. Tokens are kept in a file of this user's alone, so that a browser
// goes on after a restart of this service. Any thread may call any method.
class Sessions {
 public:
  struct Options {
    std::string file = {};  // In a private directory. 0600.
    runtime::Clock* clock = runtime::Clock::Real();
    absl::Duration key_life = absl::Seconds(60);
    absl::Duration session_life = absl::Hours(12);
    int exchanges_a_minute = 5;
  };
  struct Session {
    std::string token;
    absl::Duration life;
  };

  // Reads the file if it exists; entries that are no tokens, or tokens that have expired, are
  // forgotten.
  static std::unique_ptr<Sessions> Open(Options options);
  Sessions(const Sessions&) = delete;
  Sessions& operator=(const Sessions&) = delete;

  // A new key. At most kMaxKeys keys wait to be swapped; beyond that, the oldest is forgotten.
  std::string NewKey();
  // Swaps a key for a session. PermissionDenied: no such key, or its minute is over;
  // ResourceExhausted: tried too often. At most kMaxSessions sessions live; beyond that, the oldest
  // ends.
  absl::StatusOr<Session> Exchange(std::string_view key);
  // Whether a session with that token exists. Takes as long for every token.
  bool Knows(std::string_view token) const;

 private:
  // A secret that ends: keys by the monotonic clock, sessions by the wall clock, which outlives us.
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
