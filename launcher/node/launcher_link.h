#ifndef LAUNCHER_NODE_LAUNCHER_LINK_H_
#define LAUNCHER_NODE_LAUNCHER_LINK_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "launcher/node/files/way_back.h"
#include "launcher/node/words/node_frames.h"
#include "launcher/node/words/node_words.h"
#include "runtime/event_loop.h"
#include "runtime/timer.h"

namespace launcher {

// A node's connection to its launcher. It reconnects whenever the connection breaks: after 20 ms,
// doubling to 1 s, and after 20 ms again once a launcher has welcomed the node. Use on the loop's
// thread.
class LauncherLink {
 public:
  struct Options {
    runtime::EventLoop* loop = nullptr;                // Not owned; outlives this.
    std::string socket_path;                           // The socket on which the launcher listens.
    absl::Duration refused_pause = absl::Seconds(30);  // Wait after a kRefuse.
    // `on_unwanted` is called once a launcher has refused the node for good, or none has welcomed
    // it for `patience`. If unset, the node keeps trying.
    absl::Duration patience = absl::InfiniteDuration();
    std::function<void(const std::string& why)> on_unwanted = {};
    std::function<NodeHello()> hello = {};  // Returns the first message on each connection.
    // Returns whether the node may connect now; if not, call Connect() later.
    std::function<bool()> may_connect = {};
    std::function<void()> on_welcome = {};
    // A frame from the launcher, after its welcome.
    std::function<void(std::string_view frame)> on_frame = {};
  };
  explicit LauncherLink(Options options) : options_(std::move(options)) {}
  ~LauncherLink();
  LauncherLink(const LauncherLink&) = delete;
  LauncherLink& operator=(const LauncherLink&) = delete;

  // Starts connecting; call it again after `may_connect` has returned false.
  void Connect();
  bool is_welcome() const { return is_welcome_; }
  // Sends a message, or drops it if no launcher has welcomed the node.
  void Send(const std::string& word) {
    if (is_welcome_) frames_->Send(word);
  }
  // Bytes that are buffered for the launcher; 0 without a connection.
  std::size_t unsent() const { return frames_ == nullptr ? 0 : frames_->unsent(); }
  // Counts a malformed message from the launcher, and logs the first one.
  void NoteBadWord(std::string_view what);
  std::uint64_t bad_words() const { return bad_words_; }

 private:
  void ConnectAfter(absl::Duration pause);
  void ConnectNow();
  void OnFrame(std::string_view frame);
  void OnWelcome();
  void OnRefused(const NodeOrder& order);
  void OnClosed(const absl::Status& why);
  void WaitForWelcome();
  void TellUnwanted(const std::string& why);

  const Options options_;
  std::unique_ptr<NodeFrames> frames_;
  bool is_welcome_ = false;
  absl::Duration pause_ = kFirstPause;
  bool is_loss_logged_ = false;
  std::uint64_t bad_words_ = 0;
  runtime::Timer connect_timer_, welcome_timer_, patience_timer_;
  const std::shared_ptr<WayBack> way_ = std::make_shared<WayBack>(options_.loop);

  static constexpr absl::Duration kFirstPause = absl::Milliseconds(20);
};

}  // namespace launcher

#endif  // LAUNCHER_NODE_LAUNCHER_LINK_H_
