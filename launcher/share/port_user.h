#ifndef LAUNCHER_SHARE_PORT_USER_H_
#define LAUNCHER_SHARE_PORT_USER_H_

#include <string>

namespace launcher {

// Names the process that listens on, or is connected from, a TCP port of this host: "python3 (pid
// 77)", or "a process of user 33" if we may not inspect the process; empty if it is unknown (older
// kernels do not report a socket that is only bound). For messages: it scans all processes, which
// takes some milliseconds.
std::string PortUser(int port);

}  // namespace launcher

#endif  // LAUNCHER_SHARE_PORT_USER_H_
