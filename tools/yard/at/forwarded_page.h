#ifndef TOOLS_YARD_AT_FORWARDED_PAGE_H_
#define TOOLS_YARD_AT_FORWARDED_PAGE_H_

#include <string>
#include <string_view>
#include <vector>

#include "tools/yard/at/connection.h"
#include "tools/yard/cli/interrupt.h"

namespace yard {

// True for `ui` and `tensorboard`, unless `words` ask for their help: they show an address.
bool ShowsAddress(const std::vector<std::string>& words);

// "http://127.0.0.1:7710/run/a#k=x" in its parts; all empty if it is not such an address, or has
// characters that no yard writes into one: it goes into a file for a browser, and another machine
// has sent it.
struct HttpAddress {
  std::string host, port;
  std::string path;  // With its "/".
};
HttpAddress ParseHttpAddress(std::string_view text);

// Runs the verb there, and makes the address that it prints one of this machine: a port of
// 127.0.0.1, the same number if it is free, which ssh forwards. Prints it, and opens it as `yard
// ui` does. Blocks until Ctrl-C (then 130); a connection that breaks is opened again, for as long
// as it takes, and the port stays. The page needs its key here, too.
int ForwardPage(const Connection::Options& options, const std::vector<std::string>& words,
                Interrupt* interrupt);

}  // namespace yard

#endif  // TOOLS_YARD_AT_FORWARDED_PAGE_H_
