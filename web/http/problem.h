#ifndef WEB_HTTP_PROBLEM_H_
#define WEB_HTTP_PROBLEM_H_

#include <string_view>

#include "absl/status/status.h"
#include "web/http/message.h"

namespace web {

// An error as a caller reads it (the members are those of RFC 9457): {"status": 404, "type":
// "not-found", "title": "no run r9", "hint": "..."}. The member "hint" is left out if `hint` is
// empty. Bytes of `title` and `hint` that are not UTF-8 become U+FFFD.
Response Problem(int status, std::string_view title, std::string_view hint = {});

// Hint of an error whose cause stands in the service's log only.
inline constexpr std::string_view kSeeTheLog =
    "the web service's log says why: log/web.log in the yard's state directory";

// The same for an error of the bus, with the HTTP status of the same meaning.
Response ProblemOf(const absl::Status& error);

}  // namespace web

#endif  // WEB_HTTP_PROBLEM_H_
