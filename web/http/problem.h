#ifndef WEB_HTTP_PROBLEM_H_
#define WEB_HTTP_PROBLEM_H_

#include <string_view>

#include "absl/status/status.h"
#include "web/http/message.h"

namespace web {

// Returns an error response (members as in RFC 9457): {"status": 404, "type": "not-found", "title":
// "no run r9", "hint": "..."}. An empty `hint` is omitted. Invalid UTF-8 in `title` and `hint`
// becomes U+FFFD.
Response Problem(int status, std::string_view title, std::string_view hint = {});

// Hint of an error whose cause is only in the service's log.
inline constexpr std::string_view kSeeTheLog =
    "the web service's log says why: log/web.log in the yard's state directory";

// The same for an error of the bus, with the equivalent HTTP status.
Response ProblemOf(const absl::Status& error);

}  // namespace web

#endif  // WEB_HTTP_PROBLEM_H_
