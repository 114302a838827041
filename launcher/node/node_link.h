#ifndef LAUNCHER_NODE_NODE_LINK_H_
#define LAUNCHER_NODE_NODE_LINK_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "launcher/node/files/way_back.h"
#include "launcher/node/node_ports.h"
#include "launcher/node/node_usage.h"
#include "launcher/node/words/file_words.h"
#include "launcher/node/words/node_frames.h"
#include "launcher/node/words/node_words.h"
#include "runtime/event_loop.h"
#include "runtime/file/unique_fd.h"
#include "runtime/timer.h"

namespace launcher {

// One node as its launcher sees it: its connection, if it has one, and the attempts that run, or
// are to run, there. If a node reconnects within `lost_after`, its attempts go on; otherwise they
// are lost. Use on the loop's thread.
class NodeLink {
 public:
  struct Options {
    runtime::EventLoop* loop = nullptr;  // Not owned; outlives this.
    std::string name;                    // The name of the host, for messages.
    absl::Duration lost_after = absl::Minutes(5);
    // Checks whether a node with this hello may connect; PermissionDenied refuses it for good. If
    // unset, any node may.
    std::function<absl::Status(const NodeHello& hello)> admit = {};
    // Called with OK when the node has connected or sent another hello, and with the reason when
    // the connection has ended. Optional.
    std::function<void(const absl::Status& why)> on_change = {};
  };
  // The interface of an attempt on the node. None of the calls may destroy the link.
  class Attendant {
   public:
    virtual ~Attendant() = default;
    // The node, with this id, has connected (again).
    virtual void OnConnected(const std::string& node) = 0;
    virtual void OnNews(const NodeNews& news) = 0;
    virtual void OnBytes(const NodeOutput& output) = 0;
    // The node requests a piece of an archive.
    virtual void OnWant(const NodeWant&) {}
    // The node sends a part of a file of the run directory.
    virtual void OnFilePart(FilePart) {}
    // The node has been disconnected for `lost_after`, or was removed.
    virtual void OnLost(const std::string& why) = 0;
  };

  explicit NodeLink(Options options);
  ~NodeLink();
  NodeLink(const NodeLink&) = delete;
  NodeLink& operator=(const NodeLink&) = delete;

  // Takes a new connection of the node, on which a hello comes first; closes an earlier connection.
  // Call this only once all stored attempts attend, since a node's attempts without an attendant
  // are discarded.
  void Take(runtime::UniqueFd socket);

  // Removes the node: closes its connection; its attempts are lost for this reason.
  void GiveUp(const std::string& why);

  // If the node is not connected and does not reconnect soon, its attempts are lost.
  void LoseSoonIfAway();

  // Registers the attendant of a key, at most one for each. It is not owned and must call Leave()
  // before it is destroyed. OnConnected() follows soon if the node is connected.
  void Attend(const std::string& key, Attendant* attendant);
  // Unregisters the attendant of a key.
  void Leave(const std::string& key);

  // Sends a message. Returns false, and drops it, if the node is not connected.
  bool Send(const NodeOrder& order) { return SendWord(order.Encode()); }
  bool Send(const FileAnswer& answer) { return SendWord(answer.Encode()); }
  bool Send(const FileListAnswer& answer) { return SendWord(answer.Encode()); }
  // Requests the resource usage of the node's attempts. Calls `answer` once, or never if the
  // connection breaks. Returns false, and never calls `answer`, if the node is not connected or has
  // not answered an earlier request. An earlier `answer` is no longer called.
  bool AskUsage(std::function<void(NodeUsage)> answer);
  // Requests `count` ports of the node for a job. Calls `answer` once, with no ports if the node
  // has none; never if the connection breaks. Returns false if the node is not connected.
  bool TakePorts(const std::string& job, std::uint64_t count,
                 std::function<void(std::vector<int> ports)> answer);
  bool is_connected() const { return is_welcome_; }
  const std::string& name() const { return options_.name; }
  // The node's latest hello; `node` is empty before the first.
  const NodeHello& hello() const { return hello_; }

 private:
  bool SendWord(const std::string& word);
  void OnFrame(std::string_view frame);
  void OnHello(std::string_view frame);
  void OnNews(const NodeNews& news);
  void OnUsage(NodeUsage usage);
  void OnPorts(const NodePortsTaken& taken);
  void OnClosed(const absl::Status& why);
  void Refuse(const std::string& why, bool for_good = false);
  void Lose(const std::string& why);
  void LoseAfter(absl::Duration patience);
  // Calls all present attendants; an attendant may leave during a call.
  void ForEach(const std::function<void(Attendant*)>& call);
  Attendant* Find(const std::string& key) const;
  // Acknowledges the node's news up to `number`, once for all news that arrive together.
  void AcknowledgeSoon(std::uint64_t number);

  const Options options_;
  std::unique_ptr<NodeFrames> frames_;
  NodeHello hello_;
  bool is_welcome_ = false;
  std::uint64_t heard_ = 0;
  bool tells_heard_ = false;
  std::uint64_t ports_asked_ = 0;  // The number of the latest request for ports.
  // By the number of the request.
  std::map<std::uint64_t, std::function<void(std::vector<int>)>> on_ports_;
  std::uint64_t usage_asked_ = 0;                 // The number of the latest request for usage.
  bool owes_usage_ = false;                       // The node has not answered that request.
  std::function<void(NodeUsage)> on_usage_ = {};  // Called with that answer.
  std::string lost_why_ = "it has not connected";
  runtime::Timer lost_timer_;
  std::map<std::string, Attendant*> attendants_;
  const std::shared_ptr<WayBack> way_ = std::make_shared<WayBack>(options_.loop);
};

}  // namespace launcher

#endif  // LAUNCHER_NODE_NODE_LINK_H_
