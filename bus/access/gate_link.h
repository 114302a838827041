#ifndef BUS_ACCESS_GATE_LINK_H_
#define BUS_ACCESS_GATE_LINK_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace bus {

// Leads a node to its yard through the yard's gate, where no ssh does: it listens on two unix
// sockets in the node's folder, and carries each connection that is made there over its one
// connection to the gate (bus/access/node_channels.h). When that breaks, all that it carries breaks
// with it, and it connects anew; connections that are made meanwhile wait. It has a thread of its
// own.
class GateLink {
 public:
  struct Options {
    // Directory of the sockets; each path has at most 107 bytes.
    std::string folder;
    std::string key_file;  // From `yard gate allow NAME --node`; read for each connection.
    // Addresses of the gate, each tcp://HOST:PORT, which are tried in turns. Empty: the one that
    // the key file has.
    std::vector<std::string> addresses = {};
    absl::Duration first_pause = absl::Milliseconds(20);     // Doubles to the longest.
    absl::Duration longest_pause = absl::Milliseconds(500);  // A lasting connection resets it.
    absl::Duration refused_pause = absl::Seconds(5);         // After the gate has refused the key.
    // A log line names all addresses and their errors after so long without a connection, and then
    // once a minute.
    absl::Duration told_after = absl::Seconds(5);
  };
  // Waits for neither the gate nor the key file. InvalidArgument: an address, or the path of a
  // socket.
  static absl::StatusOr<std::unique_ptr<GateLink>> Start(Options options);
  // Whether a file has the key of a node. InvalidArgument: it has not; others of ReadAccessFile().
  static absl::Status CheckKey(const std::string& key_file);
  ~GateLink();
  GateLink(const GateLink&) = delete;
  GateLink& operator=(const GateLink&) = delete;

  // Where the node connects to the launcher, and its shims to the trainer.
  std::string launcher_socket() const;
  std::string trainer_socket() const;
  static std::string LauncherSocket(const std::string& folder) { return folder + "/l"; }
  static std::string TrainerSocket(const std::string& folder) { return folder + "/t"; }

 private:
  class Impl;
  explicit GateLink(std::unique_ptr<Impl> impl);

  const std::unique_ptr<Impl> impl_;
};

}  // namespace bus

#endif  // BUS_ACCESS_GATE_LINK_H_
