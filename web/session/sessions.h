#ifndef WEB_SESSION_SESSIONS_H_
#define WEB_SESSION_SESSIONS_H_

#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "runtime/clock.h"

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
  virtual ~Sessions() = default;

  // A new key. At most kMaxKeys keys wait to be swapped; beyond that, the oldest is forgotten.
  virtual std::string NewKey() = 0;
  // Swaps a key for a session. PermissionDenied: no such key, or its minute is over;
  // ResourceExhausted: tried too often. At most kMaxSessions sessions live; beyond that, the oldest
  // ends.
  virtual absl::StatusOr<Session> Exchange(std::string_view key) = 0;
  // Whether a session with that token exists. Takes as long for every token.
  virtual bool Knows(std::string_view token) const = 0;
};
inline constexpr std::size_t kMaxKeys = 16;
inline constexpr std::size_t kMaxSessions = 64;

}  // namespace web

#endif  // WEB_SESSION_SESSIONS_H_
