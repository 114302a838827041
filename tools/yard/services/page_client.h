#ifndef TOOLS_YARD_SERVICES_PAGE_CLIENT_H_
#define TOOLS_YARD_SERVICES_PAGE_CLIENT_H_

#include <string>

#include "absl/status/statusor.h"
#include "runtime/file/locations.h"

namespace yard {

// Where the page is served: "http://127.0.0.1:7710/"; empty while it is off, or web does not run.
std::string PageAddress(const runtime::Locations& locations);

// The same with a new key, with which a browser may use it: "http://127.0.0.1:7710/#k=...". `path`
// of the page ("run/a%2Fb"); empty: its beginning. Good once, and for a minute. Blocks for a few
// seconds at most. Unavailable: web is not there; FailedPrecondition: the page is off.
absl::StatusOr<std::string> AddressWithKey(const runtime::Locations& locations,
                                           const std::string& path);

// A run's place in the page: each byte that is no letter, digit, or one of "-_.~" is escaped.
std::string PathOfRun(const std::string& run);

}  // namespace yard

#endif  // TOOLS_YARD_SERVICES_PAGE_CLIENT_H_
