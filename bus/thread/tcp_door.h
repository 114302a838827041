#ifndef BUS_THREAD_TCP_DOOR_H_
#define BUS_THREAD_TCP_DOOR_H_

#include <netinet/in.h>

#include <cstddef>
#include <cstdint>
#include <list>
#include <set>
#include <string>

#include "runtime/mutex.h"

namespace bus {

// Limits the connections to the TCP ports that this process serves. ZeroMQ has no such limit:
// silent connections, at 40 KB each, could take every descriptor and lock out everybody else.
//
// A connection is new until it has carried a message of a client whose key was checked. Over
// kMostNew new connections the oldest is cut: a client with a key needs milliseconds for a step
// that a client without one never completes. Over kMost connections in use another one is refused.
//
// Any thread. Our own accept4(2) calls it (connection_limit.h).
class TcpDoor {
 public:
  static constexpr std::size_t kMost = 512;
  static constexpr std::size_t kMostNew = 256;

  // Lives as long as the process.
  static TcpDoor& OfThisProcess();

  // Guards the port of "tcp://ADDRESS:PORT".
  void Guard(const std::string& endpoint);
  bool Guards(int listener);
  // Decides about the just accepted connection `fd`. False: close it.
  bool LetIn(int fd);
  // Notes that a client's message arrived on connection `fd`. Returns a ticket for Cut(); 0:
  // unknown.
  std::uint64_t NoteInUse(int fd);
  // Ends the connection if it still exists.
  void Cut(std::uint64_t ticket);

  struct Stats {
    std::uint64_t accepted = 0, refused = 0;
    std::uint64_t cut = 0;     // New ones cut in favour of others.
    std::uint64_t unused = 0;  // Connections that ended while new, including those that were cut.
    std::uint64_t in_use = 0;  // Present number.
  };
  Stats GetStats();

 private:
  struct Entry {
    int fd = -1;
    std::uint64_t ticket = 0;
    sockaddr_storage peer = {};
  };
  using Entries = std::list<Entry>;

  static bool IsStill(const Entry& entry);
  static std::size_t RemoveEnded(Entries* entries);
  void LookAtNew() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { stats_.unused += RemoveEnded(&new_); }

  runtime::Mutex mutex_;
  std::set<in_port_t> ports_ ABSL_GUARDED_BY(mutex_);  // In network byte order.
  Entries new_ ABSL_GUARDED_BY(mutex_);                // The oldest first.
  Entries in_use_ ABSL_GUARDED_BY(mutex_);
  Stats stats_ ABSL_GUARDED_BY(mutex_);
  std::uint64_t last_ticket_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace bus

#endif  // BUS_THREAD_TCP_DOOR_H_
