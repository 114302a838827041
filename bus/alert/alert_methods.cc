#include "bus/alert/alert_methods.h"

#include <utility>

#include "absl/time/time.h"
#include "bus/call/loop_methods.h"
#include "bus/schema/common_methods.h"
#include "glog/logging.h"

namespace bus {
namespace {

absl::Status FindTrial(const AlertMethods& parts, std::string* trial) {
  if (trial->empty() || !parts.find_trial) return absl::OkStatus();
  auto id = parts.find_trial(*trial);
  if (!id.ok()) return id.status();
  *trial = *std::move(id);
  return absl::OkStatus();
}

absl::StatusOr<msg::AlertsReplyT> List(const AlertMethods& parts, msg::AlertsRequestT request) {
  if (auto status = FindTrial(parts, &request.trial); !status.ok()) return status;
  return parts.alerts->List(request);
}

absl::StatusOr<msg::AcknowledgeAlertsReplyT> Acknowledge(const AlertMethods& parts,
                                                         msg::AcknowledgeAlertsRequestT request) {
  if (auto status = FindTrial(parts, &request.trial); !status.ok()) return status;
  auto done = parts.alerts->Acknowledge(request, absl::ToUnixMicros(parts.clock->Now()));
  if (!done.ok()) return done.status();
  if (parts.on_acknowledged && !done->changed.empty()) parts.on_acknowledged(done->changed);
  return std::move(done->reply);
}

}  // namespace

void PublishAlert(Publisher* publisher, AlertStore* alerts, const msg::AlertT& alert) {
  auto envelope = alerts->EnvelopeOf(alert);
  const absl::Status published =
      envelope.ok() ? publisher->PublishEnvelope(TopicOfAlert(alert), *std::move(envelope))
                    : envelope.status();
  LOG_IF(WARNING, !published.ok()) << "cannot publish alert " << alert.id << ": " << published;
}

void AddAlertMethods(Service* service, AlertMethods parts) {
  const LoopMethods methods(service, parts.loop);
  methods.Answer<rpc::Common::Alerts>(
      [parts](const CallContext&, auto request) { return List(parts, std::move(request)); });
  methods.Answer<rpc::Common::AcknowledgeAlerts>(
      [parts](const CallContext&, auto request) { return Acknowledge(parts, std::move(request)); });
}

}  // namespace bus
