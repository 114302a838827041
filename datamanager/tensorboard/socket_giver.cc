#include "datamanager/tensorboard/socket_giver.h"

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "datamanager/tensorboard/socket_packet.h"
#include "runtime/file/unique_fd.h"

namespace datamanager::tensorboard {
namespace {

class Giver : public SocketGiver {
 public:
  Giver(Options options, runtime::UniqueFd connection)
      : options_(std::move(options)), connection_(std::move(connection)) {
    watch_ = options_.loop->Watch(connection_.get(), runtime::EventLoop::Readiness::kReadable,
                                  [this] { Read(); });
    patience_ = options_.loop->RunAfter(options_.patience, [this] {
      patience_ = 0;
      End("it does not answer");
    });
  }
  ~Giver() override { Forget(); }

 private:
  void Read() {
    const auto packet = ReceivePacket(connection_.get());
    if (!packet.has_value()) return End("it has ended");
    if (served_ || packet->text != kTaken) return End(packet->text);
    served_ = true;
    options_.loop->Cancel(std::exchange(patience_, 0));
  }

  void End(std::string why) {
    Forget();
    // `ended` may destroy this object.
    const auto ended = std::move(options_.ended);
    ended(why, served_);
  }

  void Forget() {
    if (watch_ != 0) options_.loop->Unwatch(std::exchange(watch_, 0));
    if (patience_ != 0) options_.loop->Cancel(std::exchange(patience_, 0));
    connection_.reset();
  }

  Options options_;
  runtime::UniqueFd connection_;
  runtime::EventLoop::WatchId watch_ = 0;
  runtime::EventLoop::TimerId patience_ = 0;
  bool served_ = false;
};

}  // namespace

std::unique_ptr<SocketGiver> SocketGiver::Give(Options options) {
  auto connection = ConnectForPackets(options.path);
  if (!connection.ok()) return nullptr;
  if (!SendPacket(connection->get(), options.line, options.sockets)) return nullptr;
  return std::make_unique<Giver>(std::move(options), *std::move(connection));
}

}  // namespace datamanager::tensorboard
