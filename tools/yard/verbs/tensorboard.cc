#include <errno.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "bus/schema/registry_methods.h"
#include "runtime/file/locations.h"
#include "runtime/text/printable.h"
#include "tools/yard/follow/follow.h"
#include "tools/yard/follow/json_output.h"
#include "tools/yard/services/failure.h"
#include "tools/yard/services/instances.h"
#include "tools/yard/services/tensorboard_environment.h"
#include "tools/yard/state/wanted.h"
#include "tools/yard/verbs/verbs.h"

namespace yard {
namespace {

constexpr std::size_t kErrorLines = 20;
// The call's timeout exceeds the tool's start timeout by this, so that the answer can say what
// happened.
constexpr absl::Duration kAnswerTime = absl::Seconds(1);

// Returns the last lines of a stream, each on its own line after "  | ".
std::string Quote(const std::vector<std::uint8_t>& bytes) {
  std::vector<std::string> lines(1);
  for (const std::uint8_t byte : bytes) {
    if (byte == '\n') {
      lines.emplace_back();
    } else {
      lines.back().push_back(static_cast<char>(byte));
    }
  }
  if (lines.back().empty()) lines.pop_back();
  std::string text;
  for (std::size_t i = lines.size() - std::min(lines.size(), kErrorLines); i < lines.size(); ++i) {
    absl::StrAppend(&text, "\n  | ", lines[i]);
  }
  return text;
}

std::string Ending(int exit_code) {
  return exit_code < 0 ? absl::StrCat("was killed by signal ", -exit_code)
                       : absl::StrCat("ended with exit code ", exit_code);
}

absl::Status WhyNot(const msg::StartOrReuseReplyT& reply) {
  switch (reply.outcome) {
    case msg::StartOutcome::Failed:
      return absl::UnknownError(absl::StrCat(
          "TensorBoard ", Ending(reply.exit_code), " before it served", Quote(reply.stdout),
          Quote(reply.stderr), "\n", "next: yard logs ", reply.job));
    case msg::StartOutcome::ExecFailed: {
      const std::string hint =
          reply.explicit_binary.empty()
              ? "\nnext: pip install tensorboard, or set $TENSORBOARD_BINARY to where it is"
              : "";
      const std::string text = absl::StrCat("cannot start TensorBoard: ", reply.error, hint);
      if (reply.error_number == ENOENT) return absl::NotFoundError(text);
      return absl::UnknownError(text);
    }
    case msg::StartOutcome::TimedOut:
      return absl::DeadlineExceededError(absl::StrCat(
          "TensorBoard does not serve after ", reply.elapsed_ms / 1000, " s; process ", reply.pid,
          " goes on trying\nnext: yard logs ", reply.job, "   yard stop ", reply.job));
    default:
      return absl::OkStatus();
  }
}

class TensorBoard : public Verb {
 public:
  void Declare(OptionSet& options) override {
    options.Add("--timeout", timeout_,
                "Seconds to wait until it serves (default: 60). Options of yard itself go before a "
                "\"--\"; without one all words are TensorBoard's.");
  }

  int Run(Context& context) override {
    msg::StartOrReuseRequestT request;
    request.tool = "tensorboard";
    request.arguments = context.rest;
    if (request.arguments.empty()) {
      const auto wanted = ReadWanted(context.locations);
      if (!wanted.ok()) return Fail(context, "tensorboard", wanted.status());
      if (!wanted->has_value()) {
        return Fail(context, "tensorboard",
                    absl::UnavailableError("the yard is not up: `yard up` first, or say --logdir"));
      }
      request.arguments = {"--logdir", (*wanted)->logdir};
    }
    request.environment = TensorBoardEnvironment(
        context.environment,
        runtime::FindBinary("datamanager/tensorboard/yard-data-server").value_or(""));
    request.working_directory = context.working_directory;
    request.timeout_ms = static_cast<std::uint32_t>(timeout_ * 1000);
    auto client = context.client();
    if (!client.ok()) return Fail(context, "tensorboard", client.status());
    bool drawn = false;
    auto reply = (*client)->Stream<rpc::Registry::StartOrReuse>(
        request,
        [&](const msg::StartOrReuseReplyT& part) {
          drawn = Draw(context, part);
          return true;
        },
        Patient(absl::Seconds(timeout_) + kAnswerTime));
    if (drawn) *context.err << "\r\x1b[K";
    if (!reply.ok()) return Fail(context, "tensorboard", reply.status());
    if (const absl::Status why_not = WhyNot(*reply); !why_not.ok()) {
      return Fail(context, "tensorboard", why_not);
    }
    return Say(context, *reply);
  }

 private:
  // Draws the progress line on a terminal. Returns false without a terminal or without progress.
  static bool Draw(Context& context, const msg::StartOrReuseReplyT& part) {
    if (!context.err_is_terminal || part.progress.empty()) return false;
    const auto width = static_cast<std::size_t>(std::max(context.width - 1, 10));
    *context.err << "\r\x1b[K" << runtime::Printable(part.progress).substr(0, width) << std::flush;
    return true;
  }

  static int Say(Context& context, const msg::StartOrReuseReplyT& reply) {
    if (reply.instance == nullptr || reply.instance->info == nullptr) {
      return Fail(context, "tensorboard", absl::InternalError("the registry sent no instance"));
    }
    const msg::InstanceT& instance = *reply.instance;
    const bool reused = reply.outcome == msg::StartOutcome::Reused;
    if (context.json) {
      nlohmann::json json = ToJson(instance);
      json["outcome"] = reused ? "reused" : "launched";
      PrintJson(context, json);
      return kDone;
    }
    *context.out << runtime::Printable(instance.url) << std::endl;
    *context.err << (reused ? "runs already: " : "started: ") << runtime::Printable(instance.id)
                 << " (process " << instance.info->pid << ", "
                 << runtime::Printable(DataSource(*instance.info)) << ")   next: yard stop "
                 << runtime::Printable(instance.id) << "\n";
    return kDone;
  }

  double timeout_ = 60;
};

}  // namespace

std::unique_ptr<Verb> MakeTensorBoard() { return std::make_unique<TensorBoard>(); }

}  // namespace yard
