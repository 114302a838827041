#ifndef LAUNCHER_SHARE_PORT_USER_H_
#define LAUNCHER_SHARE_PORT_USER_H_

#include <string>

namespace launcher {

// Names the process that listens on, or is connected from, a TCP port of this host: "python3 (pid
// 77)", "a process of user 33" if we may not see the process; empty if nothing is known (older
// kernels do not tell of a socket that is only bound). For messages: looks through all processes,
// some milliseconds.
std::string PortUser(int port);

}  // namespace launcher

#endif  // LAUNCHER_SHARE_PORT_USER_H_
