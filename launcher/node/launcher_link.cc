#include "launcher/node/launcher_link.h"

#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "glog/logging.h"
#include "runtime/file/unique_fd.h"

namespace launcher {
namespace {

constexpr absl::Duration kLongestPause = absl::Seconds(1);
// Time for a launcher to answer the hello; it does so at once after accepting a connection.
constexpr absl::Duration kToWelcome = absl::Seconds(20);

absl::StatusOr<runtime::UniqueFd> ConnectTo(const std::string& path) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.c_str(), std::min(path.size(), sizeof address.sun_path - 1));
  runtime::UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (socket.valid() &&
      connect(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0) {
    return socket;
  }
  return absl::UnavailableError(
      absl::StrCat("cannot reach a launcher at ", path, ": ", std::strerror(errno)));
}

}  // namespace

LauncherLink::~LauncherLink() { way_->Close(); }

void LauncherLink::Connect() {
  if (!patience_timer_.is_set() && !is_welcome_) WaitForWelcome();
  ConnectAfter(absl::ZeroDuration());
}

void LauncherLink::ConnectAfter(absl::Duration pause) {
  if (connect_timer_.is_set() || frames_ != nullptr) return;
  connect_timer_.Start(options_.loop, pause, [this] { ConnectNow(); });
}

void LauncherLink::ConnectNow() {
  if (options_.may_connect && !options_.may_connect()) return;
  auto socket = ConnectTo(options_.socket_path);
  if (!socket.ok()) return OnClosed(socket.status());
  frames_ = std::make_unique<NodeFrames>(
      options_.loop, *std::move(socket),
      NodeFrames::Callbacks{.on_frame = [this](std::string_view frame) { OnFrame(frame); },
                            .on_closed = [this](const absl::Status& why) { OnClosed(why); }});
  welcome_timer_.Start(options_.loop, kToWelcome, [this] {
    OnClosed(absl::UnavailableError("no launcher has answered the node"));
  });
  frames_->Send(options_.hello().Encode());
}

void LauncherLink::OnFrame(std::string_view frame) {
  if (is_welcome_) return options_.on_frame(frame);
  const auto order = NodeOrder::Decode(frame);
  if (!order) return NoteBadWord("cannot be decoded");
  if (order->kind == NodeOrder::Kind::kRefuse) return OnRefused(*order);
  if (order->kind == NodeOrder::Kind::kWelcome) return OnWelcome();
  NoteBadWord("comes before the welcome");
}

void LauncherLink::OnWelcome() {
  is_welcome_ = true;
  welcome_timer_.Cancel();
  patience_timer_.Cancel();
  pause_ = kFirstPause;
  is_loss_logged_ = false;
  LOG(INFO) << "connected to the launcher at " << options_.socket_path;
  options_.on_welcome();
}

void LauncherLink::OnRefused(const NodeOrder& order) {
  LOG(ERROR) << "the launcher refuses this node: " << order.line;
  frames_.reset();
  welcome_timer_.Cancel();
  if (order.for_good) TellUnwanted(order.line);
  ConnectAfter(options_.refused_pause);
}

void LauncherLink::OnClosed(const absl::Status& why) {
  if (!std::exchange(is_loss_logged_, true)) LOG(WARNING) << why.message() << "; trying again";
  frames_.reset();
  welcome_timer_.Cancel();
  if (std::exchange(is_welcome_, false)) WaitForWelcome();
  ConnectAfter(pause_);
  pause_ = std::min(2 * pause_, kLongestPause);
}

void LauncherLink::WaitForWelcome() {
  if (options_.patience == absl::InfiniteDuration()) return;
  patience_timer_.Start(options_.loop, options_.patience, [this] {
    TellUnwanted("no launcher has welcomed this node for " +
                 absl::FormatDuration(options_.patience));
  });
}

void LauncherLink::TellUnwanted(const std::string& why) {
  if (!options_.on_unwanted) return;
  way_->Post([this, why] { options_.on_unwanted(why); });
}

void LauncherLink::NoteBadWord(std::string_view what) {
  if (bad_words_++ == 0) {
    LOG(WARNING) << "dropped a word of the launcher: it " << what << " (said once)";
  }
}

}  // namespace launcher
