#ifndef TOOLS_YARD_PAGE_PAGE_CLIENT_H_
#define TOOLS_YARD_PAGE_PAGE_CLIENT_H_

#include <string>

#include "absl/status/statusor.h"
#include "runtime/file/locations.h"

namespace yard {

// Returns the page's address: "http://127.0.0.1:7710/"; empty if the page is off or web does not
// run.
std::string PageAddress(const runtime::Locations& locations);

// Returns that address with a new key for a browser: "http://127.0.0.1:7710/#k=...". `path` is a
// path of the page ("run/a%2Fb"), or empty for its start. The key is valid once, and for a minute.
// Blocks for a few seconds at most. Unavailable if web does not run; FailedPrecondition if the page
// is off.
absl::StatusOr<std::string> AddressWithKey(const runtime::Locations& locations,
                                           const std::string& path);

// Returns the path of a run in the page: escapes every byte except letters, digits and "-_.~".
std::string PathOfRun(const std::string& run);

}  // namespace yard

#endif  // TOOLS_YARD_PAGE_PAGE_CLIENT_H_
