#ifndef BUS_THREAD_CONNECTION_LIMIT_H_
#define BUS_THREAD_CONNECTION_LIMIT_H_

#include <string>

namespace bus {

// Connections to the sockets of the bus leave a process so many descriptors for everything else, or
// a sixteenth of what it may have if that is less; more of them are closed at once. The peer sees
// the end of its connection, and may try again.
inline constexpr int kSpareDescriptors = 32;

// Limits connections to the socket at `path`. Call it before the socket listens, because of an
// assertion of libzmq 4.3.4 (in ipc_listener.cpp): it ends the process when a connection comes and
// no descriptor is left. Every process that links this file therefore has our own accept4(2), which
// libzmq calls to accept a connection.
void LimitConnectionsTo(const std::string& path);

}  // namespace bus

#endif  // BUS_THREAD_CONNECTION_LIMIT_H_
