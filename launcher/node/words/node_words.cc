#include "launcher/node/words/node_words.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>

#include "launcher/node/words/word_fields.h"
#include "launcher/wire/record.h"
#include "runtime/text/sha256.h"

namespace launcher {
namespace {

constexpr std::size_t kMaxKey = 100;
constexpr std::size_t kMaxProbeWords = 4096;
constexpr std::array<std::string_view, 5> kNews = {"state", "barrier", "over", "left", "probe"};
constexpr std::array<std::string_view, 14> kOrders = {
    "welcome",     "refuse",  "heard", "start", "stop",  "signal",     "barrier",
    "acknowledge", "discard", "read",  "work",  "usage", "take_ports", "keep_ports"};

// True for an empty path, or a relative path without "..".
bool LeadsDown(const std::string& path) {
  const std::filesystem::path all(path);
  return all.is_relative() && path.find('\0') == path.npos &&
         std::none_of(all.begin(), all.end(), [](const auto& name) { return name == ".."; });
}

std::vector<int> NumbersOf(const Record& record, std::string_view key) {
  std::vector<int> numbers;
  for (const std::string& text : record.GetAll(key)) numbers.push_back(std::atoi(text.c_str()));
  return numbers;
}

}  // namespace

std::string NodeHello::Encode() const {
  Record record("node");
  record.AddNumber("protocol", protocol);
  record.Add("node", node);
  record.Add("host", host);
  record.Add("boot", boot);
  record.Add("address", address);
  record.AddNumber("uid", uid);
  record.AddNumber("pid", pid);
  record.Add("version", version);
  record.AddNumber("cpus", Signed(cpus));
  record.AddNumber("memory_bytes", Signed(memory_bytes));
  record.AddAll("gpu", gpus);
  record.Add("run", run);
  if (leaving) record.AddNumber("leaving", 1);
  record.AddAll("attempt", attempts);
  return record.Encode();
}

std::optional<NodeHello> NodeHello::Decode(std::string_view bytes) {
  const auto record = ParseWord(bytes, "node");
  if (!record) return std::nullopt;
  return NodeHello{.protocol = static_cast<int>(record->GetNumber("protocol")),
                   .node = record->Get("node"),
                   .host = record->Get("host"),
                   .boot = record->Get("boot"),
                   .address = record->Get("address"),
                   .uid = static_cast<uid_t>(record->GetNumber("uid")),
                   .pid = static_cast<pid_t>(record->GetNumber("pid")),
                   .version = record->Get("version"),
                   .cpus = Unsigned(*record, "cpus"),
                   .memory_bytes = Unsigned(*record, "memory_bytes"),
                   .gpus = record->GetAll("gpu"),
                   .run = record->Get("run"),
                   .leaving = record->GetNumber("leaving") != 0,
                   .attempts = record->GetAll("attempt")};
}

std::string NodeNews::Encode() const {
  Record record("news");
  record.AddNumber("number", Signed(number));
  record.Add("attempt", attempt);
  record.Add("kind", kNews[static_cast<std::size_t>(kind)]);
  switch (kind) {
    case Kind::kState:
      record.Add("state", state.Encode());
      break;
    case Kind::kBarrier:
      record.Add("barrier", barrier.Encode());
      break;
    case Kind::kOver:
      record.Add("state", state.Encode());
      record.AddNumber("lost", lost ? 1 : 0);
      record.AddNumber("shim_lost", shim_lost ? 1 : 0);
      record.Add("how", how);
      break;
    case Kind::kLeft:
      break;
    case Kind::kProbe:
      record.Add("look", look);
      record.Add("failed", failed);
      break;
  }
  return record.Encode();
}

std::optional<NodeNews> NodeNews::Decode(std::string_view bytes) {
  const auto record = ParseWord(bytes, "news");
  if (!record || !IsAttemptKey(record->Get("attempt"))) return std::nullopt;
  const auto kind = NamedIn<Kind>(kNews, record->Get("kind"));
  if (!kind) return std::nullopt;
  NodeNews news{.number = Unsigned(*record, "number"),
                .attempt = record->Get("attempt"),
                .kind = *kind,
                .lost = record->GetNumber("lost") != 0,
                .shim_lost = record->GetNumber("shim_lost") != 0,
                .how = record->Get("how"),
                .look = record->Get("look").substr(0, kMaxProbeWords),
                .failed = record->Get("failed").substr(0, kMaxProbeWords)};
  if (*kind == Kind::kState || *kind == Kind::kOver) {
    auto state = ShimState::Decode(record->Get("state"));
    if (!state) return std::nullopt;
    news.state = *std::move(state);
  }
  if (*kind == Kind::kBarrier) {
    auto barrier = ShimBarrier::Decode(record->Get("barrier"));
    if (!barrier) return std::nullopt;
    news.barrier = *std::move(barrier);
  }
  return news;
}

std::string NodeOutput::Encode() const {
  Record record("output");
  record.Add("attempt", attempt);
  record.AddNumber("stderr", is_stderr ? 1 : 0);
  record.AddNumber("offset", Signed(offset));
  record.Add("bytes", bytes);
  return record.Encode();
}

std::optional<NodeOutput> NodeOutput::Decode(std::string_view bytes) {
  const auto record = ParseWord(bytes, "output");
  if (!record || !IsAttemptKey(record->Get("attempt"))) return std::nullopt;
  NodeOutput output{.attempt = record->Get("attempt"),
                    .is_stderr = record->GetNumber("stderr") != 0,
                    .offset = Unsigned(*record, "offset"),
                    .bytes = record->Get("bytes")};
  if (output.bytes.size() > kMaxNodeOutput) return std::nullopt;
  return output;
}

std::string NodeWant::Encode() const {
  Record record("want");
  record.Add("attempt", attempt);
  record.Add("work", work);
  record.AddNumber("offset", Signed(offset));
  if (!checkpoint.empty()) record.Add("checkpoint", checkpoint);
  return record.Encode();
}

std::optional<NodeWant> NodeWant::Decode(std::string_view bytes) {
  const auto record = ParseWord(bytes, "want");
  if (!record || !IsAttemptKey(record->Get("attempt"))) return std::nullopt;
  NodeWant want{.attempt = record->Get("attempt"),
                .work = record->Get("work"),
                .offset = Unsigned(*record, "offset"),
                .checkpoint = record->Get("checkpoint")};
  const bool is_list = want.work.empty() && !want.checkpoint.empty();
  if ((!is_list && !runtime::IsSha256(want.work)) || !LeadsDown(want.checkpoint)) {
    return std::nullopt;
  }
  return want;
}

std::string NodeFiles::Encode() const {
  Record record("files");
  record.Add("node", node);
  record.Add("run_mark", run_mark);
  record.Add("work_mark", work_mark);
  record.Add("mark", mark);
  record.Add("config", config);
  record.Add("work", work);
  record.AddNumber("work_bytes", Signed(work_bytes));
  record.Add("subdirectory", subdirectory);
  if (run_files_travel) record.AddNumber("run_files_travel", 1);
  return record.Encode();
}

std::optional<NodeFiles> NodeFiles::Decode(std::string_view bytes) {
  const auto record = ParseWord(bytes, "files");
  if (!record) return std::nullopt;
  NodeFiles files{.node = record->Get("node"),
                  .run_mark = record->Get("run_mark"),
                  .work_mark = record->Get("work_mark"),
                  .mark = record->Get("mark"),
                  .config = record->Get("config"),
                  .work = record->Get("work"),
                  .work_bytes = Unsigned(*record, "work_bytes"),
                  .subdirectory = record->Get("subdirectory"),
                  .run_files_travel = record->GetNumber("run_files_travel") != 0};
  if (!files.work.empty() && !runtime::IsSha256(files.work)) return std::nullopt;
  if (files.work_bytes > kMaxWork || !LeadsDown(files.subdirectory)) return std::nullopt;
  return files;
}

std::string NodeOrder::Encode() const {
  Record record("order");
  record.Add("kind", kOrders[static_cast<std::size_t>(kind)]);
  if (!attempt.empty()) record.Add("attempt", attempt);
  if (!spec.empty()) record.Add("spec", spec);
  if (!files.empty()) record.Add("files", files);
  if (!probe.empty()) record.Add("probe", probe);
  for (const int port : lets_go) record.AddNumber("lets_go", port);
  if (!job.empty()) record.Add("job", job);
  record.AddAll("keep", jobs);
  if (count != 0) record.AddNumber("count", Signed(count));
  if (for_good) record.AddNumber("for_good", 1);
  if (signal != 0) record.AddNumber("signal", signal);
  if (grace_ms != 0) record.AddNumber("grace_ms", grace_ms);
  if (number != 0) record.AddNumber("number", Signed(number));
  if (!line.empty()) record.Add("line", line);
  if (is_stderr) record.AddNumber("stderr", 1);
  if (offset != 0) record.AddNumber("offset", Signed(offset));
  if (!work.empty()) record.Add("work", work);
  if (!bytes.empty()) record.Add("bytes", bytes);
  return record.Encode();
}

std::optional<NodeOrder> NodeOrder::Decode(std::string_view bytes) {
  const auto record = ParseWord(bytes, "order");
  if (!record) return std::nullopt;
  const auto kind = NamedIn<Kind>(kOrders, record->Get("kind"));
  if (!kind) return std::nullopt;
  const bool is_of_attempt = *kind > Kind::kHeard && *kind < Kind::kUsage;
  if (is_of_attempt && !IsAttemptKey(record->Get("attempt"))) return std::nullopt;
  if (*kind == Kind::kWork && !runtime::IsSha256(record->Get("work"))) return std::nullopt;
  return NodeOrder{.kind = *kind,
                   .attempt = record->Get("attempt"),
                   .spec = record->Get("spec"),
                   .files = record->Get("files"),
                   .lets_go = NumbersOf(*record, "lets_go"),
                   .probe = record->Get("probe"),
                   .signal = static_cast<int>(record->GetNumber("signal")),
                   .grace_ms = record->GetNumber("grace_ms"),
                   .number = Unsigned(*record, "number"),
                   .line = record->Get("line"),
                   .is_stderr = record->GetNumber("stderr") != 0,
                   .offset = Unsigned(*record, "offset"),
                   .work = record->Get("work"),
                   .bytes = record->Get("bytes"),
                   .job = record->Get("job"),
                   .jobs = record->GetAll("keep"),
                   .count = Unsigned(*record, "count"),
                   .for_good = record->GetNumber("for_good") != 0};
}

bool IsAttemptKey(std::string_view key) {
  return !key.empty() && key.size() <= kMaxKey && key.front() != '.' &&
         std::all_of(key.begin(), key.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' || c == '-';
         });
}

}  // namespace launcher
