#include "launcher/share/barrier_line.h"

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "launcher/wire/shim_protocol.h"
#include "runtime/text/string_view.h"

namespace launcher {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMaxSeq = 256;
// Small enough that, with escapes of up to six bytes each, an answer fits into kMaxBarrierAnswer.
constexpr std::size_t kMaxError = 400;

// Encodes JSON; invalid UTF-8 is replaced.
std::string Text(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

absl::Status Expected(std::string_view field, std::string_view what) {
  return absl::InvalidArgumentError(
      absl::StrCat("a barrier needs ", runtime::Absl(what), " as \"", runtime::Absl(field), "\""));
}

absl::Status ReadTasks(const Json& tasks, msg::BarrierRequestT* request) {
  const auto wrong = Expected("tasks", "a list of names");
  if (!tasks.is_array()) return wrong;
  for (const Json& task : tasks) {
    if (!task.is_string()) return wrong;
    request->parties.push_back(task.get<std::string>());
  }
  return absl::OkStatus();
}

absl::Status ReadTimeout(const Json& timeout, msg::BarrierRequestT* request) {
  constexpr double kMost = std::numeric_limits<std::uint32_t>::max();
  const double milliseconds = timeout.is_number() ? timeout.get<double>() * 1000 : 0;
  if (!(milliseconds > 0 && milliseconds <= kMost)) {
    return Expected("timeout_s", "a number of seconds above 0, up to 4294967,");
  }
  request->timeout_ms = static_cast<std::uint32_t>(std::ceil(milliseconds));
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<BarrierLine> ParseBarrierLine(std::string_view line) {
  const Json json = Json::parse(line, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return absl::InvalidArgumentError("the line is no JSON object");
  BarrierLine barrier;
  const auto member = [&](const char* name) {
    const auto found = json.find(name);
    return found == json.end() || found->is_null() ? nullptr : &*found;
  };
  if (const Json* const seq = member("seq")) barrier.seq = Text(*seq);
  if (barrier.seq.size() > kMaxSeq) {
    return absl::InvalidArgumentError("\"seq\" is longer than 256 bytes");
  }
  const Json* const name = member("name");
  if (name == nullptr || !name->is_string()) return Expected("name", "a text");
  barrier.request.name = name->get<std::string>();
  absl::Status read;
  if (const Json* const tasks = member("tasks")) read.Update(ReadTasks(*tasks, &barrier.request));
  if (const Json* const timeout = member("timeout_s")) {
    read.Update(ReadTimeout(*timeout, &barrier.request));
  }
  if (!read.ok()) return read;
  return barrier;
}

std::string BarrierAnswer(std::string_view seq, const absl::StatusOr<int>& place) {
  std::string answer = place.ok() ? R"({"t":"ok")" : R"({"t":"error")";
  if (!seq.empty()) absl::StrAppend(&answer, ",\"seq\":", runtime::Absl(seq));
  if (place.ok()) return absl::StrCat(answer, ",\"index\":", *place, "}");
  std::string message(place.status().message());
  if (message.size() > kMaxError) message.replace(kMaxError, std::string::npos, "...");
  return absl::StrCat(answer, ",\"code\":\"", absl::StatusCodeToString(place.status().code()),
                      "\",\"error\":", Text(message), "}");
}

}  // namespace launcher
