#ifndef TOOLS_YARD_PAGE_BROWSER_H_
#define TOOLS_YARD_PAGE_BROWSER_H_

#include <string>
#include <vector>

namespace yard {

// Returns true if `environment` ("NAME=value") names a display on which a browser can open.
bool HasScreen(const std::vector<std::string>& environment);

// Opens an address in a browser, by way of a redirecting file in `directory` (mode 0700): the
// address may hold a key, and every user can read a process's command line. Returns false if no
// browser could be started. Blocks for a few seconds at most.
bool OpenInBrowser(const std::string& directory, const std::vector<std::string>& environment,
                   const std::string& address);

}  // namespace yard

#endif  // TOOLS_YARD_PAGE_BROWSER_H_
