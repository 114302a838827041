#include "launcher/node/remote_attempt.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "glog/logging.h"
#include "launcher/wire/record.h"
#include "runtime/file/file.h"
#include "runtime/text/random_id.h"

// Always true:
// - The id of the node that is to start the attempt is stored (Store) before the order is sent; no
//   other node ever gets the order.
// - `base + copied` is the length of the output file here. Bytes are appended only at that offset,
//   and only copied output is reported to the launcher.
// - The end is reported (Finish) once: after all output and all files of the attempt are here,
//   unless it could not start or its node is lost.
// - Callbacks that may run later are posted through way_, which ends with the attempt.

namespace launcher {
namespace {

// File in the attempt's folder on this host: the node that was ordered to start it, and the offsets
// at which its output begins in this host's files.
constexpr char kRemoteFile[] = "remote";
constexpr std::size_t kMaxRemoteFile = 64 << 10;
// Wait after a file could not be written: the disk may have room then.
constexpr absl::Duration kRetry = absl::Seconds(1);
std::uint64_t SizeOf(const std::string& path) {
  std::error_code error;
  const auto size = std::filesystem::file_size(path, error);
  return error ? 0 : size;
}

std::string RemotePath(const std::string& folder) { return absl::StrCat(folder, "/", kRemoteFile); }

}  // namespace

RemoteAttempt::RemoteAttempt(Options options, Callbacks callbacks)
    : options_(std::move(options)),
      callbacks_(std::move(callbacks)),
      marks_({.loop = options_.loop, .write = options_.write_mark}) {
  StreamOf(false).path = options_.stdout_path;
  StreamOf(true).path = options_.stderr_path;
}

RemoteAttempt::~RemoteAttempt() {
  way_->Close();
  options_.node->Leave(options_.key);
}

absl::Status RemoteAttempt::Store() const {
  Record record("remote");
  record.Add("node", node_);
  record.AddNumber("stdout_base", static_cast<std::int64_t>(streams_[0].base));
  record.AddNumber("stderr_base", static_cast<std::int64_t>(streams_[1].base));
  record.Add("run_mark", marks_plan_.run);
  record.Add("work_mark", marks_plan_.work);
  record.Add("mark", marks_plan_.mark);
  return runtime::WriteFileAtomically(RemotePath(options_.folder), record.Encode(), 0600);
}

// Loads the state of an earlier launcher; returns false if no node was ever ordered to start the
// attempt.
bool RemoteAttempt::Load() {
  const auto bytes = runtime::ReadFile(RemotePath(options_.folder), kMaxRemoteFile);
  const auto record = bytes.ok() ? Record::Parse(*bytes) : std::nullopt;
  if (!record) return false;
  node_ = record->Get("node");
  marks_plan_.run = record->Get("run_mark");
  marks_plan_.work = record->Get("work_mark");
  marks_plan_.mark = record->Get("mark");
  may_have_marks_ = told_ = !node_.empty();
  streams_[0].base = static_cast<std::uint64_t>(record->GetNumber("stdout_base"));
  streams_[1].base = static_cast<std::uint64_t>(record->GetNumber("stderr_base"));
  for (Stream& stream : streams_) {
    stream.copied = std::max(SizeOf(stream.path), stream.base) - stream.base;
  }
  return true;
}

void RemoteAttempt::PlanMarks(const ShimSpec& spec) {
  const auto in = [](const std::string& directory) {
    return directory.empty() ? "" : absl::StrCat(directory, "/.yard-", runtime::RandomHex128());
  };
  marks_plan_.mark = runtime::RandomHex128();
  marks_plan_.run = in(spec.Variable("YARD_LOGDIR"));
  // (Without an archive, the attempt uses the directory of the same path on the node, shared or
  // not.)
  marks_plan_.work = options_.work ? in(spec.working_directory) : "";
}

void RemoteAttempt::WriteMarks() {
  may_have_marks_ = true;
  marks_.Write(marks_plan_, [this](const absl::StatusOr<SharedMarks::Written>& written) {
    if (!written.ok()) {
      AttemptEnd end;
      end.how = std::string(written.status().message());
      end.state.failure = end.how;
      return Finish(std::move(end));
    }
    files_ = MakeFiles(*written).Encode();
    Fault("after marks");
    if (options_.node->is_connected()) OnConnected(options_.node->hello().node);
  });
}

NodeFiles RemoteAttempt::MakeFiles(const SharedMarks::Written& marks) const {
  NodeFiles files{.node = options_.node->name(), .mark = marks_plan_.mark, .config = marks.config};
  files.run_files_travel = received_ != nullptr;
  if (marks.run) files.run_mark = marks_plan_.run;
  if (marks.work) files.work_mark = marks_plan_.work;
  if (options_.work) {
    files.work = options_.work->sha256;
    files.work_bytes = options_.work->bytes;
    files.subdirectory = options_.work->subdirectory;
    // The modification time records the last use.
    (void)utimensat(AT_FDCWD, options_.work->path.c_str(), nullptr, AT_SYMLINK_NOFOLLOW);
  }
  return files;
}

void RemoteAttempt::RemoveMarks() {
  files_.reset();
  if (std::exchange(may_have_marks_, false)) marks_.Remove(marks_plan_, nullptr);
}

void RemoteAttempt::OpenRunFiles(const ShimSpec& spec) {
  const std::string run = spec.Variable("YARD_LOGDIR");
  if (run.empty() || over_ || received_ != nullptr) return;
  received_ = std::make_unique<ReceivedFiles>(ReceivedFiles::Options{
      .loop = options_.loop,
      .attempt = options_.key,
      .run_directory = run,
      .answer = [this](const FileAnswer& answer) { (void)options_.node->Send(answer); }});
  const std::string checkpoint = spec.Variable("YARD_CHECKPOINT");
  if (!checkpoint.starts_with(run + "/")) return;
  source_ = std::make_unique<CheckpointSource>(CheckpointSource::Options{
      .loop = options_.loop,
      .attempt = options_.key,
      .run_directory = run,
      .checkpoint = checkpoint.substr(run.size() + 1),
      .send_list = [this](const FileListAnswer& list) { (void)options_.node->Send(list); },
      .send_piece = [this](const NodeOrder& piece) { (void)options_.node->Send(piece); }});
}

void RemoteAttempt::OnFilePart(FilePart part) {
  // (After the end of this attempt, another one may use the run directory.)
  if (!over_ && received_ != nullptr) received_->Take(std::move(part));
}

absl::Status RemoteAttempt::Start() {
  if (auto made = runtime::MakeDirectories(options_.folder, 0700); !made.ok()) return made;
  for (Stream& stream : streams_) stream.base = SizeOf(stream.path);
  Fault("before spec");
  if (auto stored = Store(); !stored.ok()) return stored;
  auto written =
      runtime::WriteFileAtomically(SpecPath(options_.folder), options_.spec().Encode(), 0600);
  if (!written.ok()) return written;
  Fault("after spec, before spawn");
  options_.node->Attend(options_.key, this);
  return absl::OkStatus();
}

void RemoteAttempt::Adopt() {
  if (Load()) return options_.node->Attend(options_.key, this);
  if (const absl::Status again = Start(); !again.ok()) {
    Finish({.state = state_,
            .lost = true,
            .how = absl::StrCat("cannot start the attempt: ", again.message())});
  }
}

void RemoteAttempt::OnConnected(const std::string& node) {
  if (left_) return;
  if (acknowledged_) {
    // An attempt whose end is unknown may still run on the node.
    const auto kind = end_ ? NodeOrder::Kind::kAcknowledge : NodeOrder::Kind::kDiscard;
    (void)options_.node->Send({.kind = kind, .attempt = options_.key});
    return;
  }
  if (over_) return;
  if (!node_.empty() && node_ != node) {
    return OnLost(absl::StrCat("node ", options_.node->name(),
                               " was started anew, and the attempt has ended with the old one"));
  }
  const auto bytes = runtime::ReadFile(SpecPath(options_.folder), NodeFrames::kMaxFrame / 2);
  if (!bytes.ok()) {
    return OnLost(absl::StrCat("cannot read its spec: ", bytes.status().message()));
  }
  const ShimSpec spec = ShimSpec::Decode(*bytes).value_or(ShimSpec());
  OpenRunFiles(spec);
  if (node_.empty()) {
    node_ = node;
    PlanMarks(spec);
    if (const absl::Status stored = Store(); !stored.ok()) {
      node_.clear();
      LOG_EVERY_N(ERROR, 60) << "cannot start " << options_.key << " yet: " << stored;
      if (timer_.is_set()) return;
      timer_.Start(options_.loop, kRetry, [this] {
        if (options_.node->is_connected()) OnConnected(options_.node->hello().node);
      });
      return;
    }
  }
  if (running_ || files_) return Tell(*bytes);
  // (Marks may still be being written for the previous connection.)
  if (marks_.is_wanted()) return;
  marks_plan_.config = spec.Variable("YARD_CONFIG");
  WriteMarks();
}

void RemoteAttempt::Tell(const std::string& spec) {
  Fault("before remote start");
  // (A node that already has the attempt sends its state.)
  (void)options_.node->Send({.kind = NodeOrder::Kind::kStart,
                             .attempt = options_.key,
                             .spec = spec,
                             .files = files_.value_or(""),
                             .lets_go = options_.lets_go,
                             .probe = options_.probe});
  told_ = true;
  Fault("after remote start");
  if (stop_) (void)options_.node->Send(*stop_);
  // Orders on the previous connection are never answered.
  for (Stream& stream : streams_) stream.asked = false;
  Read();
}

void RemoteAttempt::OnNews(const NodeNews& news) {
  if (news.kind == NodeNews::Kind::kLeft) {
    if (acknowledged_) LeaveSoon();
    return;
  }
  if (over_ || end_) return;
  told_ = true;
  switch (news.kind) {
    case NodeNews::Kind::kState:
      return OnState(news.state);
    case NodeNews::Kind::kBarrier:
      if (callbacks_.on_barrier) callbacks_.on_barrier(news.barrier);
      return;
    case NodeNews::Kind::kProbe:
      if (!running_ || options_.probe.empty()) return;
      if (callbacks_.on_look) callbacks_.on_look(news.look);
      if (!news.failed.empty() && callbacks_.on_probe_failed)
        callbacks_.on_probe_failed(news.failed);
      return;
    case NodeNews::Kind::kOver:
      RemoveMarks();
      end_ = news;
      for (Stream& stream : streams_) stream.at_end = false;
      Read();
      return FinishIfCopied();
    case NodeNews::Kind::kLeft:
      return;
  }
}

void RemoteAttempt::OnWant(const NodeWant& want) {
  const bool is_work = options_.work && want.work == options_.work->sha256;
  if (!is_work && source_ != nullptr) return source_->Take(want);
  if (!is_work) return;
  NodeOrder piece{.kind = NodeOrder::Kind::kWork,
                  .attempt = options_.key,
                  .offset = want.offset,
                  .work = want.work};
  const std::string& path = options_.work->path;
  const runtime::UniqueFd file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  piece.bytes.resize(kMaxWorkPiece);
  const ssize_t got = file.valid() ? pread(file.get(), piece.bytes.data(), kMaxWorkPiece,
                                           static_cast<off_t>(want.offset))
                                   : -1;
  if (got < 0) {
    piece.line =
        absl::StrCat("cannot read the archive ", path,
                     " with the attempt's files: ", std::strerror(errno), "; next: start it anew");
  }
  piece.bytes.resize(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  (void)options_.node->Send(piece);
}

void RemoteAttempt::OnState(const ShimState& state) {
  if (!running_) RemoveMarks();
  state_ = state;
  if (state.phase != ShimPhase::kRunning) return;
  if (!std::exchange(running_, true)) callbacks_.on_running(AsHere(state));
  if (state.ready && !std::exchange(ready_, true) && callbacks_.on_ready) callbacks_.on_ready();
  streams_[0].known = std::max(streams_[0].known, state.stdout_end);
  streams_[1].known = std::max(streams_[1].known, state.stderr_end);
  Read();
}

void RemoteAttempt::Read() {
  for (Stream& stream : streams_) {
    if (over_ || stream.asked || stream.at_end || timer_.is_set()) continue;
    // After the end, output is requested until the node has no more: if no process observed the
    // end, the size of the output is unknown.
    if (!end_ && stream.copied >= stream.known) continue;
    stream.asked = options_.node->Send({.kind = NodeOrder::Kind::kRead,
                                        .attempt = options_.key,
                                        .is_stderr = &stream == &streams_[1],
                                        .offset = stream.copied});
  }
}

void RemoteAttempt::OnBytes(const NodeOutput& output) {
  Stream& stream = StreamOf(output.is_stderr);
  if (over_ || !stream.asked || output.offset != stream.copied) return;
  stream.asked = false;
  if (output.bytes.empty()) {
    stream.known = stream.copied;
    stream.at_end = end_.has_value();
    Read();
    return FinishIfCopied();
  }
  if (const absl::Status written = Write(stream, output.bytes); !written.ok()) {
    return ReadAgainLater(written);
  }
  stream.known = std::max(stream.known, stream.copied);
  if (running_ && !end_) callbacks_.on_output(AsHere(state_));
  Read();
}

absl::Status RemoteAttempt::Write(Stream& stream, const std::string& bytes) {
  const auto failed = [&stream](const char* verb) {
    return absl::UnavailableError(
        absl::StrCat("cannot ", verb, " ", stream.path, ": ", std::strerror(errno)));
  };
  if (!stream.file.valid()) {
    stream.file = runtime::UniqueFd(
        open(stream.path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644));
    if (!stream.file.valid()) return failed("open");
  }
  std::string_view rest = bytes;
  while (!rest.empty()) {
    const ssize_t written = pwrite(stream.file.get(), rest.data(), rest.size(),
                                   static_cast<off_t>(stream.base + stream.copied));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return failed("write");
    stream.copied += static_cast<std::uint64_t>(written);
    rest.remove_prefix(static_cast<std::size_t>(written));
  }
  return absl::OkStatus();
}

// Requests the output again after a pause. The node keeps it until the end is acknowledged.
void RemoteAttempt::ReadAgainLater(const absl::Status& why) {
  LOG_EVERY_N(ERROR, 60) << why << "; the output is kept on node " << options_.node->name();
  if (timer_.is_set()) return;
  timer_.Start(options_.loop, kRetry, [this] { Read(); });
}

ShimState RemoteAttempt::AsHere(ShimState state) const {
  state.stdout_begin = streams_[0].base;
  state.stderr_begin = streams_[1].base;
  state.stdout_end = streams_[0].base + streams_[0].copied;
  state.stderr_end = streams_[1].base + streams_[1].copied;
  return state;
}

void RemoteAttempt::FinishIfCopied() {
  if (over_ || !end_ || !streams_[0].at_end || !streams_[1].at_end) return;
  Finish({.state = AsHere(end_->state),
          .lost = end_->lost,
          .shim_lost = end_->shim_lost,
          .how = end_->how});
}

void RemoteAttempt::OnLost(const std::string& why) {
  if (acknowledged_) return LeaveSoon();
  if (over_) return;
  // (The end may be known, while only output is missing.)
  AttemptEnd end{.state = AsHere(end_ ? end_->state : state_), .lost = !end_, .how = why};
  if (end_) end.how = absl::StrCat(end_->how, "; the last output is missing: ", why);
  Finish(std::move(end));
}

void RemoteAttempt::Finish(AttemptEnd end) {
  over_ = true;
  received_.reset();
  source_.reset();
  RemoveMarks();
  timer_.Cancel();
  callbacks_.on_over(end);
}

void RemoteAttempt::Stop(int signal, absl::Duration grace) {
  if (over_) return;
  if (!told_) {
    // The attempt will not be started. (Posted, because the caller may still use state that the end
    // changes.)
    way_->Post([this, signal, grace] {
      if (over_) return;
      if (told_) return Stop(signal, grace);
      AttemptEnd end;
      end.how = absl::StrCat("stopped before node ", options_.node->name(), " could start it");
      end.state.failure = end.how;
      Finish(std::move(end));
    });
    return;
  }
  stop_ = NodeOrder{.kind = NodeOrder::Kind::kStop,
                    .attempt = options_.key,
                    .signal = signal,
                    .grace_ms = absl::ToInt64Milliseconds(grace)};
  Fault("before stop");
  (void)options_.node->Send(*stop_);
  Fault("after stop");
}

bool RemoteAttempt::Signal(int signal) {
  return running_ && !over_ &&
         options_.node->Send(
             {.kind = NodeOrder::Kind::kSignal, .attempt = options_.key, .signal = signal});
}

void RemoteAttempt::AnswerBarrier(std::uint64_t number, std::string line) {
  (void)options_.node->Send({.kind = NodeOrder::Kind::kBarrier,
                             .attempt = options_.key,
                             .number = number,
                             .line = std::move(line)});
}

void RemoteAttempt::Acknowledge() {
  acknowledged_ = over_ = true;
  Fault("before acknowledge");
  options_.node->Attend(options_.key, this);
  if (!node_.empty() || Load()) return;
  LeaveSoon();  // No node was ordered to start it.
}

void RemoteAttempt::LeaveSoon() {
  if (std::exchange(left_, true)) return;
  Fault("after acknowledge");
  options_.node->Leave(options_.key);
  const SharedMarks::Plan plan =
      std::exchange(may_have_marks_, false) ? marks_plan_ : SharedMarks::Plan();
  marks_.Remove(plan, [this] {
    unlink(RemotePath(options_.folder).c_str());
    // The spec is removed last: its absence shows that all this was done.
    unlink(SpecPath(options_.folder).c_str());
    Fault("let go");
    callbacks_.on_left();
  });
}

}  // namespace launcher
