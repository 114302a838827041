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

// One node as its launcher sees it: the connection, as long as there is one, and the attempts that
// are, or shall be, there. A node that comes back within `lost_after` has all its attempts; one
// that does not has lost them. On the loop's thread.
class NodeLink {
 public:
  struct Options {
    runtime::EventLoop* loop = nullptr;  // Not owned; outlives this.
    std::string name;                    // The host's, for people.
    absl::Duration lost_after = absl::Minutes(5);
    // Whether a node with these words may be this one. PermissionDenied: it never may. Unset: any
    // may.
    std::function<absl::Status(const NodeHello& hello)> admit = {};
    // The connection has come, or has gone for this reason; or the node has said hello again
    // (OK). Unset: nobody is told.
    std::function<void(const absl::Status& why)> on_change = {};
  };
  // An attempt there. None of the calls may destroy the link.
  class Attendant {
   public:
    virtual ~Attendant() = default;
    // The node, with this id, is there (again).
    virtual void OnConnected(const std::string& node) = 0;
    virtual void OnNews(const NodeNews& news) = 0;
    virtual void OnBytes(const NodeOutput& output) = 0;
    // The node asks for a piece of an archive.
    virtual void OnWant(const NodeWant&) {}
    // The node sends a part of a file of the run directory.
    virtual void OnFilePart(FilePart) {}
    // The node has been away for `lost_after`.
    virtual void OnLost(const std::string& why) = 0;
  };

  explicit NodeLink(Options options);
  ~NodeLink();
  NodeLink(const NodeLink&) = delete;
  NodeLink& operator=(const NodeLink&) = delete;

  // A connection of the node, which says its hello first; an earlier one is given up. Call this
  // only once all attempts attend that a launcher has stored: a node's attempts that nobody
  // attends are discarded.
  void Take(runtime::UniqueFd socket);

  // The node is not wanted any more: its connection ends, and its attempts are lost for this
  // reason.
  void GiveUp(const std::string& why);

  // Its attempts are lost soon if the node is away, and does not come back in the meantime.
  void LoseSoonIfAway();

  // At most one attendant for a key. The attendant outlives its place here; OnConnected() comes
  // soon, if the node is there.
  void Attend(const std::string& key, Attendant* attendant);
  void Leave(const std::string& key);

  // False if the node is not there: an order is not kept for it.
  bool Send(const NodeOrder& order) { return SendWord(order.Encode()); }
  bool Send(const FileAnswer& answer) { return SendWord(answer.Encode()); }
  bool Send(const FileListAnswer& answer) { return SendWord(answer.Encode()); }
  // Asks what the attempts there use. The answer comes once, or never if the connection breaks.
  // False if the node is not there, or owes an answer already: then `answer` is not called. An
  // `answer` of before is not called any more.
  bool AskUsage(std::function<void(NodeUsage)> answer);
  // Asks for `count` ports of the node for a job. `answer` comes once, without ports if the node
  // has none; never, if the connection breaks. False if the node is not there.
  bool TakePorts(const std::string& job, std::uint64_t count,
                 std::function<void(std::vector<int> ports)> answer);
  bool is_connected() const { return is_welcome_; }
  const std::string& name() const { return options_.name; }
  // The node's last words about itself; `node` is empty before it has said any.
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
  // The attendants as they are now: one may leave in a call.
  void ForEach(const std::function<void(Attendant*)>& call);
  Attendant* Find(const std::string& key) const;
  // Tells the node how far it was heard, once for all that it has said at once.
  void AcknowledgeSoon(std::uint64_t number);

  const Options options_;
  std::unique_ptr<NodeFrames> frames_;
  NodeHello hello_;
  bool is_welcome_ = false;
  std::uint64_t heard_ = 0;
  bool tells_heard_ = false;
  std::uint64_t ports_asked_ = 0;  // The newest question for ports.
  std::map<std::uint64_t, std::function<void(std::vector<int>)>> on_ports_;  // By question.
  std::uint64_t usage_asked_ = 0;                 // The newest question for usage.
  bool owes_usage_ = false;                       // The node has not answered it.
  std::function<void(NodeUsage)> on_usage_ = {};  // Waits for that answer.
  std::string lost_why_ = "it has not connected";
  runtime::Timer lost_timer_;
  std::map<std::string, Attendant*> attendants_;
  const std::shared_ptr<WayBack> way_ = std::make_shared<WayBack>(options_.loop);
};

}  // namespace launcher

#endif  // LAUNCHER_NODE_NODE_LINK_H_
