#include "sdk/cc/reporter.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>
#include <vector>

#include "sdk/cc/json.h"
#include "sdk/cc/line_channel.h"

namespace yard {
namespace {

using internal::LineChannel;
using internal::Member;

// What hello is answered with in a task that is no trial.
constexpr std::string_view kNobodyCollects = R"("FAILED_PRECONDITION")";
constexpr std::size_t kMaxFailText = 64 << 10;

std::string Environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

Reply Error(std::string message) {
  return {.state = Reply::State::kError,
          .message = std::move(message),
          .grace = {},
          .events = {},
          .path = {}};
}

// The descriptor that `spec` (`N:INODE`) names, or -1 if that is not the socket it was.
int InheritedSocket(std::string_view spec) {
  int fd = -1;
  std::uint64_t inode = 0;
  const char* const end = spec.data() + spec.size();
  const auto number = std::from_chars(spec.data(), end, fd);
  if (number.ec != std::errc() || number.ptr == end || *number.ptr != ':' || fd < 0) return -1;
  const auto id = std::from_chars(number.ptr + 1, end, inode);
  if (id.ec != std::errc() || id.ptr != end) return -1;
  struct stat status = {};
  if (::fstat(fd, &status) != 0 || !S_ISSOCK(status.st_mode) || status.st_ino != inode) return -1;
  return fd;
}

// Connects to the unix socket `path`. Returns the descriptor, or -1 and says why in `error`.
int Connect(const std::string& path, std::string* error) {
  const auto failed = [&](const std::string& why) {
    *error = "cannot connect to the yard at " + path + ": " + why;
    return -1;
  };
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof(address.sun_path)) return failed("the path is too long");
  path.copy(address.sun_path, path.size());
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return failed(std::system_category().message(errno));
  int result;
  do {
    result = ::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address));
  } while (result != 0 && errno == EINTR);
  if (result == 0) return fd;
  const int why = errno;
  ::close(fd);
  return failed(std::system_category().message(why));
}

std::string ReportLine(std::span<const Metric> metrics, const ReportOptions& options,
                       std::int64_t seq) {
  std::string line = R"({"t":"report","m":{)";
  const auto name = [&line](std::string_view text) {
    if (line.back() != '{') line += ',';
    internal::AppendString(text, &line);
    line += ':';
  };
  for (const Metric& metric : metrics) {
    name(metric.name);
    internal::AppendNumber(metric.value, &line);
  }
  line += R"(},"seq":)";
  internal::AppendNumber(seq, &line);
  if (options.step.has_value()) {
    line += R"(,"step":)";
    internal::AppendNumber(*options.step, &line);
  }
  if (options.done) line += R"(,"done":true)";
  return line + '}';
}

std::string TextLine(std::string_view type, std::string_view name, std::string_view text) {
  std::string line = R"({"t":)";
  internal::AppendString(type, &line);
  line += ',';
  internal::AppendString(name, &line);
  line += ':';
  internal::AppendString(text, &line);
  return line + '}';
}

// So that the yard, which syncs all of it again and serves others too, need not wait. What is wrong
// with a file the yard says.
void SyncTree(const std::string& directory) {
  std::error_code error;
  auto entry = std::filesystem::recursive_directory_iterator(directory, error);
  for (; !error && entry != std::filesystem::recursive_directory_iterator();
       entry.increment(error)) {
    const int fd = ::open(entry->path().c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0) continue;
    ::fsync(fd);
    ::close(fd);
  }
}

// The part of an answer that a person may be shown.
std::string Excerpt(std::string_view line) {
  constexpr std::size_t kMost = 80;
  std::string quoted;
  internal::AppendString(line.substr(0, kMost), &quoted);
  return line.size() > kMost ? quoted + "..." : quoted;
}

std::string ErrorMessage(const std::vector<Member>& members) {
  const std::string code = internal::ParseString(internal::Find(members, "code")).value_or("");
  const std::string text = internal::ParseString(internal::Find(members, "error")).value_or("");
  if (code.empty() && text.empty()) return "the yard answered with an error and did not say which";
  return code.empty() || text.empty() ? code + text : code + ": " + text;
}

}  // namespace

ReporterOptions ReporterOptions::FromEnvironment() {
  ReporterOptions options;
  options.fd = Environment("YARD_FD");
  options.socket = Environment("YARD_SOCKET");
  return options;
}

Reporter::Reporter(ReporterOptions options)
    : answer_timeout_(options.answer_timeout), out_(options.out) {
  Open(options);
  if (channel_ != nullptr) SayHello();
}

Reporter::~Reporter() = default;

void Reporter::Open(const ReporterOptions& options) {
  if (const int fd = InheritedSocket(options.fd); fd >= 0) {
    connected_ = true;
    channel_ = std::make_unique<LineChannel>(fd, /*owned=*/false);
  } else if (!options.socket.empty()) {
    connected_ = true;
    const int connection = Connect(options.socket, &open_error_);
    if (connection >= 0) channel_ = std::make_unique<LineChannel>(connection, /*owned=*/true);
  }
}

void Reporter::SayHello() {
  std::string line;
  if (channel_->Send(R"({"t":"hello","v":1})").has_value()) return;
  if (channel_->Receive(answer_timeout_, &line).has_value()) return;
  const auto members = internal::ParseObject(line);
  const std::string type =
      members ? internal::ParseString(internal::Find(*members, "t")).value_or("") : "";
  if (type == "stop") return;  // The first report is told so again.
  if (type == "error" && internal::Find(*members, "code") == kNobodyCollects) {
    std::fprintf(stderr, "yard: reports are printed only: %s\n", ErrorMessage(*members).c_str());
    connected_ = false;  // The channel still serves barriers.
    in_trial_ = internal::Find(*members, "trial") == "true";
    if (in_trial_) ReadEnvironment();
  } else if (type == "error") {
    channel_->Break(ErrorMessage(*members));
  } else if (type != "welcome") {
    channel_->Break("the yard answered hello with " + Excerpt(line));
  } else {
    const std::string_view config = internal::Find(*members, "config");
    if (!config.empty() && config != "null") config_ = config;
    checkpoint_ = internal::ParseString(internal::Find(*members, "checkpoint")).value_or("");
    iteration_ = internal::ParseInteger(internal::Find(*members, "iteration")).value_or(0);
  }
}

// What rank 0 has from its welcome.
void Reporter::ReadEnvironment() {
  const std::string path = Environment("YARD_CONFIG");
  std::ifstream file(path);
  std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  while (!text.empty() && text.back() == '\n') text.pop_back();
  if (!file || !internal::ParseObject(text)) {
    channel_->Break("cannot read the configuration " + path);
    connected_ = true;  // Every later call says so.
    return;
  }
  config_ = std::move(text);
  checkpoint_ = Environment("YARD_CHECKPOINT");
  iteration_ = internal::ParseInteger(Environment("YARD_ITERATION")).value_or(0);
}

std::string Reporter::error() const {
  return channel_ == nullptr ? open_error_ : channel_->error().value_or("");
}

Reply Reporter::Report(std::initializer_list<Metric> metrics, ReportOptions options) {
  return Report(std::span<const Metric>(metrics.begin(), metrics.size()), options);
}

Reply Reporter::Report(std::span<const Metric> metrics, ReportOptions options) {
  for (const Metric& metric : metrics) {
    if (metric.name.empty()) return Error("a metric has no name");
  }
  if (!connected_) {
    std::lock_guard lock(report_mutex_);
    ++seq_;
    return Print(metrics, options);
  }
  if (channel_ == nullptr) return Error(open_error_);
  std::lock_guard lock(report_mutex_);
  if (auto error = channel_->Send(ReportLine(metrics, options, seq_ + 1))) {
    return Error(std::move(*error));
  }
  ++seq_;
  std::string answer;
  if (auto error = channel_->Receive(answer_timeout_, &answer)) return Error(std::move(*error));
  return ParseAnswer(answer, seq_);
}

Reply Reporter::Save(std::optional<std::int64_t> step,
                     const std::function<bool(const std::string& directory)>& write) {
  if (!connected_ && !in_trial_) return SaveHere(step, write);
  std::string begin = R"({"t":"ckpt_begin")";
  if (step.has_value()) {
    begin += R"(,"step":)";
    internal::AppendNumber(*step, &begin);
  }
  const Reply begun = AskForPath(begin + '}', "ckpt_dir");
  if (!begun) return begun;
  if (write(begun.path)) {
    SyncTree(begun.path);
    Reply saved = AskForPath(TextLine("ckpt_end", "path", begun.path), "ok");
    // A broken channel: the yard may be about to keep it.
    if (saved.state == Reply::State::kError && error().empty()) {
      std::error_code ignored;
      std::filesystem::remove_all(begun.path, ignored);
    }
    return saved;
  }
  std::error_code ignored;
  std::filesystem::remove_all(begun.path, ignored);
  return Error("the checkpoint was not written");
}

Reply Reporter::Barrier(std::string_view name, const BarrierOptions& options) {
  if (channel_ == nullptr) return connected_ ? Error(open_error_) : Reply();
  std::string line = TextLine("barrier", "name", name);
  line.pop_back();
  if (!options.tasks.empty()) {
    line += R"(,"tasks":)";
    for (const std::string& task : options.tasks) {
      line += &task == &options.tasks.front() ? '[' : ',';
      internal::AppendString(task, &line);
    }
    line += ']';
  }
  if (options.timeout.count() > 0) {
    line += R"(,"timeout_s":)";
    internal::AppendNumber(options.timeout.count(), &line);
  }
  std::lock_guard lock(report_mutex_);
  if (auto error = channel_->Send(line + '}')) return Error(std::move(*error));
  std::string answer;
  // It may take as long as the others do.
  const std::chrono::milliseconds no_limit{0};
  if (auto error = channel_->Receive(no_limit, &answer)) return Error(std::move(*error));
  const auto members = internal::ParseObject(answer);
  Reply reply = ParseAnswer(answer, seq_);
  if (reply && members) {
    reply.index = internal::ParseInteger(internal::Find(*members, "index")).value_or(0);
  }
  return reply;
}

Reply Reporter::SaveHere(std::optional<std::int64_t> step,
                         const std::function<bool(const std::string& directory)>& write) {
  std::int64_t number = 0;
  {
    std::lock_guard lock(report_mutex_);
    number = step.value_or(seq_);
  }
  char name[40];
  std::snprintf(name, sizeof(name), "checkpoint_%06lld", static_cast<long long>(number));
  std::error_code error;
  Reply reply;
  reply.path = std::filesystem::absolute(name, error).string();
  std::filesystem::create_directory(reply.path, error);
  if (error) return Error("cannot make the directory " + reply.path + ": " + error.message());
  return write(reply.path) ? reply : Error("the checkpoint was not written");
}

Reply Reporter::AskForPath(std::string_view line, std::string_view kind) {
  if (channel_ == nullptr) return Error(open_error_);
  std::lock_guard lock(report_mutex_);
  if (auto error = channel_->Send(line)) return Error(std::move(*error));
  std::string answer;
  if (auto error = channel_->Receive(answer_timeout_, &answer)) return Error(std::move(*error));
  const auto members = internal::ParseObject(answer);
  if (!members) return Error(channel_->Break("the yard's answer is not JSON: " + Excerpt(answer)));
  const std::string type = internal::ParseString(internal::Find(*members, "t")).value_or("");
  if (type == "stop" || type == "error") return ParseAnswer(answer, seq_);
  Reply reply;
  reply.path = internal::ParseString(internal::Find(*members, "path")).value_or("");
  if (type == kind && !reply.path.empty()) return reply;
  return Error("the yard's answer is of an unknown kind: " + Excerpt(answer));
}

Reply Reporter::ParseAnswer(std::string_view line, std::int64_t seq) {
  const auto members = internal::ParseObject(line);
  if (!members) return Error(channel_->Break("the yard's answer is not JSON: " + Excerpt(line)));
  const std::string type = internal::ParseString(internal::Find(*members, "t")).value_or("");
  if (type == "ok") {
    const std::string_view of = internal::Find(*members, "seq");
    if (!of.empty() && of != "null" && internal::ParseInteger(of) != seq) {
      return Error(channel_->Break("the yard answered report " + std::string(of.substr(0, 24)) +
                                   " instead of " + std::to_string(seq)));
    }
    Reply reply;
    const std::string_view events = internal::Find(*members, "events");
    if (events.size() > 2 && events.front() == '[') reply.events = events;
    return reply;
  }
  if (type == "stop") {
    Reply reply;
    reply.state = Reply::State::kStop;
    reply.message =
        internal::ParseString(internal::Find(*members, "reason")).value_or(std::string("stop"));
    const double grace = internal::ParseNumber(internal::Find(*members, "grace_s")).value_or(0);
    reply.grace = std::chrono::duration<double>(grace > 0 ? grace : 0);
    return reply;
  }
  if (type == "error") return Error(ErrorMessage(*members));
  return Error("the yard's answer is of an unknown kind: " + Excerpt(line));
}

Reply Reporter::Print(std::span<const Metric> metrics, const ReportOptions& options) {
  std::string line;
  const auto append = [&line](std::string_view name, auto value) {
    if (!line.empty()) line += ' ';
    line += name;
    line += '=';
    internal::AppendNumber(value, &line);
  };
  if (options.step.has_value()) append("step", *options.step);
  for (const Metric& metric : metrics) append(metric.name, metric.value);
  std::fprintf(out_, "%s\n", line.c_str());
  std::fflush(out_);
  return {};
}

Reply Reporter::Send(std::string_view line) {
  if (!connected_) return {};
  if (channel_ == nullptr) return Error(open_error_);
  if (auto error = channel_->Send(line)) return Error(std::move(*error));
  return {};
}

Reply Reporter::Log(std::string_view text) {
  if (!connected_) {
    std::fprintf(out_, "%.*s\n", static_cast<int>(text.size()), text.data());
    std::fflush(out_);
  }
  return Send(TextLine("log", "text", text));
}

Reply Reporter::Heartbeat() { return Send(R"({"t":"hb"})"); }

Reply Reporter::Fail(std::string_view error) {
  if (!connected_) {
    std::fprintf(stderr, "failed: %.*s\n", static_cast<int>(error.size()), error.data());
  }
  return Send(TextLine("fail", "error", error.substr(0, kMaxFailText)));
}

}  // namespace yard
