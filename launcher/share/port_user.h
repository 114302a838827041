#ifndef LAUNCHER_SHARE_PORT_USER_H_
#define LAUNCHER_SHARE_PORT_USER_H_

#include <string>

namespace launcher {

// Who listens on, or is connected from, a TCP port of this host: "python3 (pid 77)", "a process of
// user 33" if the process may not be seen; empty if nothing is known (a socket that is only bound
// is not told by older kernels). For messages: looks through all processes, some milliseconds.
std::string PortUser(int port);

}  // namespace launcher

#endif  // LAUNCHER_SHARE_PORT_USER_H_
