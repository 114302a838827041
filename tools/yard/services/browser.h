#ifndef TOOLS_YARD_SERVICES_BROWSER_H_
#define TOOLS_YARD_SERVICES_BROWSER_H_

#include <string>
#include <vector>

namespace yard {

// True if `environment` ("NAME=value") names a screen, on which a browser could open.
bool HasScreen(const std::vector<std::string>& environment);

// Opens an address in a browser, by a file in `directory` (0700) that leads there: everybody may
// read the words of a process, and the address may hold a key. False: no browser could be started.
// Blocks for a few seconds at most.
bool OpenInBrowser(const std::string& directory, const std::vector<std::string>& environment,
                   const std::string& address);

}  // namespace yard

#endif  // TOOLS_YARD_SERVICES_BROWSER_H_
