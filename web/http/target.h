#ifndef WEB_HTTP_TARGET_H_
#define WEB_HTTP_TARGET_H_

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

namespace web {

// The target of a request line: "/api/v1/runs/a%2Fb?limit=5" has the segments {"api", "v1", "runs",
// "a/b"} and the query {{"limit", "5"}}. All parts are decoded, valid UTF-8 without NUL.
struct Target {
  std::vector<std::string> segments = {};
  std::vector<std::pair<std::string, std::string>> query = {};

  // Returns the first value with this name in the query.
  std::optional<std::string_view> Find(std::string_view name) const;
};

// InvalidArgument explains the error. Accepts only the origin form ("/...") of at most kMaxTarget
// bytes, without a fragment, without empty, "." and ".." segments, and with complete percent
// escapes.
absl::StatusOr<Target> ParseTarget(std::string_view text);
inline constexpr std::size_t kMaxTarget = 4096;

}  // namespace web

#endif  // WEB_HTTP_TARGET_H_
