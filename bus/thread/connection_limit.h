#ifndef BUS_THREAD_CONNECTION_LIMIT_H_
#define BUS_THREAD_CONNECTION_LIMIT_H_

#include <string>

namespace bus {

// Number of descriptors that connections to the bus's sockets leave for everything else (or a
// sixteenth of the process's limit, if that is less). Further connections are closed at once; the
// peer sees a disconnect and may retry.
inline constexpr int kSpareDescriptors = 32;

// Limits connections to the socket at `path`. Call it before the socket listens. It works around an
// assertion of libzmq 4.3.4 (in ipc_listener.cpp), which aborts the process when a connection
// arrives and no descriptor is free: every process that links this file has our own accept4(2),
// which libzmq calls to accept a connection.
void LimitConnectionsTo(const std::string& path);

}  // namespace bus

#endif  // BUS_THREAD_CONNECTION_LIMIT_H_
