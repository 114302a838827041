#include "launcher/run/kill_mode_report.h"

#include <memory>
#include <string>

namespace launcher {

msg::KillModesReplyT KillModeReport::Get() {
  runtime::MutexLock lock(mutex_);
  if (!offers_.has_value()) offers_ = probe_();
  msg::KillModesReplyT reply;
  for (const KillModeOffer& offer : *offers_) {
    auto mode = std::make_unique<msg::KillModeOfferT>();
    mode->name = std::string(KillModeName(offer.mode));
    mode->offered = offer.offered;
    mode->detail = offer.detail;
    reply.modes.push_back(std::move(mode));
  }
  for (const KillMode wanted : KillModesFor("")) {
    for (const KillModeOffer& offer : *offers_) {
      const bool is_best = reply.chosen.empty() && offer.mode == wanted && offer.offered;
      if (is_best) reply.chosen = std::string(KillModeName(wanted));
    }
  }
  return reply;
}

}  // namespace launcher
