#include "web/metrics/metrics_handler.h"

#include <atomic>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "bus/process/prometheus_page.h"
#include "web/http/guard.h"
#include "web/http/problem.h"

namespace web {
namespace {

class Handler : public std::enable_shared_from_this<Handler> {
 public:
  explicit Handler(MetricsHandlerOptions options)
      : options_(std::move(options)), guard_(options_.hosts) {}

  void Handle(const Request& request, const std::shared_ptr<Reply>& reply) {
    if (auto refused = Refuse(request)) return reply->Send(*std::move(refused));
    if (request.target.segments.front() == "healthz") {
      return reply->Send({.type = "text/plain", .body = "ok\n"});
    }
    if (is_busy_.exchange(true)) {
      return reply->Send(Problem(503, "the metrics are being read for somebody else"));
    }
    const absl::Status queued = options_.pool->Submit([self = shared_from_this(), reply] {
      std::string text = self->options_.text();
      self->is_busy_ = false;
      reply->Send({.type = bus::PrometheusPage::kType, .body = std::move(text)});
      return absl::OkStatus();
    });
    if (queued.ok()) return;
    is_busy_ = false;
    reply->Send(ProblemOf(queued));
  }

 private:
  std::optional<Response> Refuse(const Request& request) const {
    if (auto refused = guard_.Refuse(request)) return refused;
    const auto& path = request.target.segments;
    if (path.size() != 1 || (path.front() != "metrics" && path.front() != "healthz")) {
      return Problem(404, "there is nothing at this path", "/metrics");
    }
    if (request.method == "GET" || request.method == "HEAD") return std::nullopt;
    return Problem(405, "this path is only read");
  }

  const MetricsHandlerOptions options_;
  const Guard guard_;
  std::atomic<bool> is_busy_ = false;
};

}  // namespace

std::function<void(Request, std::shared_ptr<Reply>)> MetricsHandler(MetricsHandlerOptions options) {
  return [handler = std::make_shared<Handler>(std::move(options))](
             const Request& request, const std::shared_ptr<Reply>& reply) {
    handler->Handle(request, reply);
  };
}

}  // namespace web
