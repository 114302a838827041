#include "launcher/node/node_worker.h"

#include <signal.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "glog/logging.h"
#include "launcher/job/probe_record.h"
#include "launcher/node/attempt_news.h"
#include "launcher/node/files/attempt_files.h"
#include "launcher/node/files/checkpoint_relay.h"
#include "launcher/node/files/run_files_sender.h"
#include "launcher/node/files/sent_files.h"
#include "launcher/node/files/way_back.h"
#include "launcher/node/launcher_link.h"
#include "launcher/node/news_turns.h"
#include "launcher/node/node_ports.h"
#include "launcher/node/node_usage.h"
#include "launcher/node/spec_at_node.h"
#include "launcher/node/words/file_words.h"
#include "launcher/process/process_table.h"
#include "launcher/run/liveness.h"
#include "launcher/run/local_attempt.h"
#include "launcher/run/shim_spawner.h"
#include "launcher/run/usage_meter.h"
#include "launcher/wire/log_files.h"
#include "launcher/wire/shim_protocol.h"
#include "runtime/file/file.h"
#include "runtime/file/unique_fd.h"
#include "runtime/text/random_id.h"
#include "runtime/text/string_view.h"
#include "runtime/timer.h"

// Always true:
// - An attempt is in held_ exactly from its order, or from the start of a worker that re-adopts it,
//   until its processes, sockets and files are gone.
// - Only turns_ sends news, from a timer: never from within an attempt's callback. Numbers increase
//   in the order of sending, so that a kHeard acknowledges everything that was sent before it.
// - Only Remove() destroys an attempt, and never from within its callback.

namespace launcher {
namespace {

// No more news are passed to a connection that has this many unsent bytes.
constexpr std::size_t kMaxQueued = 1 << 20;
constexpr absl::Duration kLongestGrace = absl::Hours(24 * 365);
// Time, when the worker leaves, for the launcher's acknowledgements and for kills that take long.
constexpr absl::Duration kToLeave = absl::Seconds(5);
constexpr int kHighestSignal = 64;
// Files of a checkpoint that was saved here go into the cache from this size on, up to this number.
constexpr std::uint64_t kLargeFile = 1 << 20;
constexpr std::size_t kMaxRemembered = 64;
constexpr std::size_t kLongestSocketName = 33 + 4;  // "/", 32 digits and ".ctl".

struct Stop {
  int signal = 0;
  absl::Duration grace;
};

// One attempt, or the end of one that could not be started.
struct Held {
  std::string key;
  std::unique_ptr<LocalAttempt> attempt;  // Null if it could not be started or its spec is damaged.
  std::string task_socket, control_socket;
  AttemptNews news;
  std::vector<int> lets_go;            // Ports to let go of before its program starts.
  std::optional<msg::ProbeT> probe;    // A liveness probe that runs on this host.
  std::unique_ptr<Liveness> liveness;  // Set while the program runs.
  std::optional<Stop> stop = {};
  bool is_taken = false;      // `stop` was caused by Options::taken_by.
  bool is_preparing = false;  // Its files are being prepared.
  bool is_of_earlier_owner = false;
  bool is_discarded = false;
  bool is_acknowledged = false;
};

absl::Status CheckSocketPath(const std::string& what, const std::string& path, std::size_t more) {
  if (path.size() + more < sizeof(sockaddr_un::sun_path)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(what, " ", path, " is too long: ", path.size(),
                                                 " bytes (at most ",
                                                 sizeof(sockaddr_un::sun_path) - 1 - more, ")"));
}

ShimSpec ReadSpec(const std::string& folder) {
  const auto encoded = runtime::ReadFile(SpecPath(folder), NodeWorker::kMaxSpec);
  return ShimSpec::Decode(encoded.value_or("")).value_or(ShimSpec());
}

AttemptEnd FailedStart(std::string why) {
  AttemptEnd end;
  end.state.phase = ShimPhase::kExited;
  end.state.failure = why;
  end.how = std::move(why);
  return end;
}

}  // namespace

class NodeWorker::Impl {
 public:
  explicit Impl(Options options)
      : options_(std::move(options)),
        spawner_(options_.shim_path),
        files_({.loop = options_.loop,
                .cache = options_.folder + "/work",
                .max_cache_bytes = options_.max_cache_bytes,
                .ask = [this](const NodeWant& want) { link_.Send(want.Encode()); }}),
        sent_(SentFiles::Create(
            {.loop = options_.loop,
             .send = [this](const FilePart& part) { link_.Send(part.Encode()); }})),
        run_files_({.loop = options_.loop,
                    .send = [this](const FilePart& part) { link_.Send(part.Encode()); }}),
        meter_(options_.loop, options_.gpus) {}
  ~Impl();
  absl::Status Open();
  void Leave(absl::Duration grace, std::function<void()> done);
  std::uint64_t bad_words() const { return link_.bad_words(); }

 private:
  std::string Folder(const std::string& key) const {
    return absl::StrCat(options_.folder, "/attempts/", key);
  }
  std::string ProbePath(const std::string& key) const { return Folder(key) + "/probe"; }

  // Connections.
  void OnFrame(std::string_view frame);
  void OnWelcome();
  NodeHello Hello() const;

  // News.
  void SayAgain(Held* held);
  void SendNewsOf(const std::string& key);
  void Send(NodeNews news);
  void OnHeard(std::uint64_t number);

  // Orders.
  void OnOrder(const NodeOrder& order);
  void OnStart(const NodeOrder& order);
  void OnRead(const NodeOrder& order);
  void OnUsage(const NodeOrder& order);
  void OnTakePorts(const NodeOrder& order);
  void OnOrderOf(Held* held, const NodeOrder& order);

  // Attempts.
  absl::Status AdoptAll();
  void Adopt(const std::string& key);
  Held* Hold(const std::string& key);
  // Prepares the files of the attempt, if the order has some, and then calls Begin().
  void Prepare(Held* held, const NodeOrder& order);
  void OnPrepared(const std::string& key, const absl::StatusOr<ShimSpec>& spec);
  void Begin(Held* held, const ShimSpec& spec);
  void FailStart(Held* held, const absl::Status& why);
  // Returns the path at which the shim of an attempt with this folder reaches the trainer; empty if
  // the node cannot reach the trainer.
  std::string TrainerSocketFor(const std::string& folder) const;
  void MakeAttempt(Held* held);
  std::string RelaySocket() const { return options_.socket_directory + "/reports"; }
  absl::Status OpenRelay();
  // If the run directory is the node's own, copies its files to the launcher and passes the reports
  // through the relay.
  void OpenRunFiles(const Held& held, const ShimSpec& spec);
  void RememberFiles(const std::string& run_directory, const FileList& files);
  void BeginLiveness(Held* held, const ShimState& state);
  void OnState(Held* held, const ShimState& state);
  void OnOver(Held* held, const AttemptEnd& end);
  void OnCopied(const std::string& key, const std::string& problem);
  void StopIt(Held* held, Stop stop);
  void Discard(Held* held);
  void LetGo(const std::string& key);
  void Remove(std::string key);  // (By value: the caller's key may belong to the attempt.)
  void RemoveFiles(const Held& held);
  bool IsFree(bool of_earlier_owners_only) const;

  void LookWhetherLeft();
  void FinishLeaving();

  const Options options_;
  ShimSpawner spawner_;
  AttemptFiles files_;
  std::unique_ptr<SentFiles> sent_;
  RunFilesSender run_files_;
  std::unique_ptr<CheckpointRelay> relay_;  // Null if the node cannot reach the trainer.
  AttemptMeter meter_;
  NodePorts ports_{{.ranges = {}, .start = runtime::RandomId() >> 1}};
  std::uint64_t usage_asked_ = 0;  // The number of the latest order.
  std::map<std::string, std::unique_ptr<Held>> held_;
  // Removed attempts, and the number of the kLeft that was last sent for each; 0 before that.
  std::map<std::string, std::uint64_t> left_;
  std::uint64_t last_number_ = 0;

  runtime::Timer leave_timer_;
  NewsTurns turns_{{.loop = options_.loop,
                    .is_open = [this] { return link_.is_welcome(); },
                    .is_full = [this] { return link_.unsent() > kMaxQueued; },
                    .say = [this](const std::string& key) { SendNewsOf(key); }}};

  bool is_leaving_ = false;
  bool all_are_over_ = false;      // Set while leaving, once all attempts have ended.
  std::function<void()> on_left_;  // Empty unless the worker is leaving and has not called it yet.
  const std::shared_ptr<WayBack> way_ = std::make_shared<WayBack>(options_.loop);
  LauncherLink link_{{.loop = options_.loop,
                      .socket_path = options_.launcher_socket,
                      .refused_pause = options_.refused_pause,
                      .patience = options_.patience,
                      .on_unwanted = options_.on_unwanted,
                      .hello = [this] { return Hello(); },
                      // Attempts of an earlier owner must end first.
                      .may_connect = [this] { return IsFree(/*of_earlier_owners_only=*/true); },
                      .on_welcome = [this] { OnWelcome(); },
                      .on_frame = [this](std::string_view frame) { OnFrame(frame); }}};
};

NodeWorker::Impl::~Impl() { way_->Close(); }

absl::Status NodeWorker::Impl::Open() {
  for (const auto& checked :
       {CheckSocketPath("the directory of sockets", options_.socket_directory, kLongestSocketName),
        CheckSocketPath("the launcher's socket", options_.launcher_socket, 0),
        CheckSocketPath("the trainer's socket", options_.trainer_socket, 0),
        runtime::MakeDirectories(options_.folder, 0700),
        runtime::MakePrivateDirectory(options_.folder),
        runtime::MakePrivateDirectory(options_.folder + "/attempts"),
        runtime::MakePrivateDirectory(options_.socket_directory)}) {
    if (!checked.ok()) return checked;
  }
  if (absl::Status opened = OpenRelay(); !opened.ok()) return opened;
  // Adopted last, since that may start programs.
  if (absl::Status adopted = AdoptAll(); !adopted.ok()) return adopted;
  link_.Connect();
  return absl::OkStatus();
}

absl::Status NodeWorker::Impl::OpenRelay() {
  if (options_.trainer_socket.empty()) return absl::OkStatus();
  auto relay = CheckpointRelay::Listen(
      {.loop = options_.loop,
       .socket_path = RelaySocket(),
       .trainer_socket = options_.trainer_socket,
       .files = sent_.get(),
       .on_committed = [this](const std::string& run_directory, const FileList& files) {
         RememberFiles(run_directory, files);
       }});
  if (!relay.ok()) return relay.status();
  relay_ = *std::move(relay);
  return absl::OkStatus();
}

void NodeWorker::Impl::OpenRunFiles(const Held& held, const ShimSpec& spec) {
  const auto places = RunPlacesOf(Folder(held.key));
  if (!places) return;
  run_files_.Add(held.key, places->node);
  if (relay_ == nullptr || spec.trainer_socket != RelaySocket()) return;
  relay_->Add({.key = held.key,
               .nonce = spec.nonce,
               .run = *places,
               .start = spec.Variable("YARD_CHECKPOINT")});
}

// Caches the large files of a checkpoint for later attempts that start from it here, so that they
// are not transferred again.
void NodeWorker::Impl::RememberFiles(const std::string& run_directory, const FileList& files) {
  std::size_t count = 0;
  for (const FileList::File& file : files.files) {
    if (file.size < kLargeFile || ++count > kMaxRemembered) continue;
    files_.Remember(absl::StrCat(run_directory, "/", file.path), file);
  }
}

// --- Connections.

NodeHello NodeWorker::Impl::Hello() const {
  NodeHello hello = options_.hello;
  hello.protocol = kNodeProtocol;
  hello.boot = BootId();
  hello.uid = getuid();
  hello.pid = getpid();
  hello.leaving = is_leaving_;
  hello.attempts.clear();
  for (const auto& [key, held] : held_) hello.attempts.push_back(key);
  return hello;
}

void NodeWorker::Impl::OnWelcome() {
  for (const auto& [key, held] : held_) SayAgain(held.get());
  for (const auto& [key, number] : left_) turns_.Say(key);
  files_.OnConnected();
  sent_->OnConnected();
  run_files_.OnConnected();
}

void NodeWorker::Impl::OnFrame(std::string_view frame) {
  if (const auto answer = FileAnswer::Decode(frame)) {
    sent_->OnAnswer(*answer);
    return run_files_.OnAnswer(*answer);
  }
  if (const auto list = FileListAnswer::Decode(frame)) return files_.OnList(*list);
  const auto order = NodeOrder::Decode(frame);
  if (!order) return link_.NoteBadWord("cannot be decoded");
  OnOrder(*order);
}

// --- News.

void NodeWorker::Impl::SayAgain(Held* held) {
  held->news.SayAll(held->probe.has_value());
  turns_.Say(held->key);
}

void NodeWorker::Impl::SendNewsOf(const std::string& key) {
  if (const auto left = left_.find(key); left != left_.end()) {
    left->second = last_number_ + 1;
    return Send({.attempt = key, .kind = NodeNews::Kind::kLeft});
  }
  const auto found = held_.find(key);
  if (found == held_.end()) return;
  for (NodeNews& news : found->second->news.Take(key)) Send(std::move(news));
}

void NodeWorker::Impl::Send(NodeNews news) {
  news.number = ++last_number_;
  link_.Send(news.Encode());
}

void NodeWorker::Impl::OnHeard(std::uint64_t number) {
  std::erase_if(left_,
                [number](const auto& left) { return left.second != 0 && left.second <= number; });
  LookWhetherLeft();
}

// --- Orders.

void NodeWorker::Impl::OnOrder(const NodeOrder& order) {
  using Kind = NodeOrder::Kind;
  if (order.kind == Kind::kHeard) return OnHeard(order.number);
  if (order.kind == Kind::kStart) return OnStart(order);
  if (order.kind == Kind::kRead) return OnRead(order);
  if (order.kind == Kind::kWork) return files_.OnPiece(order);
  if (order.kind == Kind::kUsage) return OnUsage(order);
  if (order.kind == Kind::kTakePorts) return OnTakePorts(order);
  if (order.kind == Kind::kKeepPorts) return ports_.Keep({order.jobs.begin(), order.jobs.end()});
  const auto found = held_.find(order.attempt);
  if (found != held_.end()) return OnOrderOf(found->second.get(), order);
  if (order.kind != Kind::kAcknowledge && order.kind != Kind::kDiscard) return;
  // (A one-time answer, which is not kept: the launcher asks again on a new connection.)
  if (!left_.contains(order.attempt)) {
    Send({.attempt = order.attempt, .kind = NodeNews::Kind::kLeft});
  }
}

void NodeWorker::Impl::OnOrderOf(Held* held, const NodeOrder& order) {
  using Kind = NodeOrder::Kind;
  const bool has_signal = order.kind == Kind::kStop || order.kind == Kind::kSignal;
  if (has_signal && (order.signal < 1 || order.signal > kHighestSignal)) {
    return link_.NoteBadWord("has no signal that there is");
  }
  switch (order.kind) {
    case Kind::kStop:
      return StopIt(held, {.signal = order.signal,
                           .grace = std::clamp(absl::Milliseconds(order.grace_ms),
                                               absl::ZeroDuration(), kLongestGrace)});
    case Kind::kSignal:
      if (held->attempt != nullptr && !held->news.has_ended()) {
        (void)held->attempt->Signal(order.signal);
      }
      return;
    case Kind::kBarrier:
      if (order.line.size() > kMaxBarrierAnswer) return link_.NoteBadWord("has too long an answer");
      if (held->attempt == nullptr || held->news.has_ended()) return;
      held->news.ForgetBarrier(order.number);
      return held->attempt->AnswerBarrier(order.number, order.line);
    case Kind::kAcknowledge:
      if (held->news.has_ended()) LetGo(held->key);
      return;
    case Kind::kDiscard:
      return Discard(held);
    default:
      return;
  }
}

void NodeWorker::Impl::OnStart(const NodeOrder& order) {
  if (const auto found = held_.find(order.attempt); found != held_.end()) {
    return SayAgain(found->second.get());
  }
  if (held_.size() >= kMaxAttempts) {
    // (A one-time answer, which is not kept: the launcher sends the order again on a new
    // connection.)
    const AttemptEnd end =
        FailedStart(absl::StrCat("the node has ", kMaxAttempts, " attempts already"));
    return Send({.attempt = order.attempt,
                 .kind = NodeNews::Kind::kOver,
                 .state = end.state,
                 .how = end.how});
  }
  left_.erase(order.attempt);
  Held* const held = Hold(order.attempt);
  held->is_taken = is_leaving_ && !options_.taken_by.empty();
  if (is_leaving_) return FailStart(held, absl::UnavailableError("the node is being stopped"));
  Prepare(held, order);
}

void NodeWorker::Impl::OnRead(const NodeOrder& order) {
  NodeOutput output{.attempt = order.attempt, .is_stderr = order.is_stderr, .offset = order.offset};
  if (held_.contains(order.attempt)) {
    const runtime::UniqueFd file =
        OpenLogFile(absl::StrCat(Folder(order.attempt), order.is_stderr ? "/stderr" : "/stdout"));
    output.bytes.resize(kMaxNodeOutput);
    const ssize_t got = file.valid() ? pread(file.get(), output.bytes.data(), kMaxNodeOutput,
                                             static_cast<off_t>(order.offset))
                                     : 0;
    output.bytes.resize(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  }
  link_.Send(output.Encode());
}

void NodeWorker::Impl::OnUsage(const NodeOrder& order) {
  std::vector<RunningAttempt> running;
  for (const auto& [key, held] : held_) {
    const auto& state = held->news.state();
    if (held->news.has_ended() || !state || state->pid == 0) continue;
    running.push_back(
        {.task = key, .pid = state->pid, .start_ticks = state->start_ticks, .folder = Folder(key)});
  }
  usage_asked_ = order.number;
  meter_.Measure(std::move(running), [this](NodeUsage usage) {
    usage.number = usage_asked_;
    link_.Send(usage.Encode());
  });
}

void NodeWorker::Impl::OnTakePorts(const NodeOrder& order) {
  NodePortsTaken taken{.number = order.number};
  auto ports = ports_.Take(order.job, order.count);
  if (ports.ok()) {
    taken.ports = *std::move(ports);
  } else {
    taken.why = std::string(ports.status().message());
  }
  link_.Send(taken.Encode());
}

// --- Attempts.

absl::Status NodeWorker::Impl::AdoptAll() {
  std::vector<std::string> keys;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(options_.folder + "/attempts", error), end;
       !error && entry != end; entry.increment(error)) {
    std::string key = entry->path().filename();
    if (IsAttemptKey(key)) keys.push_back(std::move(key));
  }
  if (error) {
    return absl::UnavailableError(
        absl::StrCat("cannot read ", options_.folder, "/attempts: ", error.message()));
  }
  for (const std::string& key : keys) Adopt(key);
  return absl::OkStatus();
}

void NodeWorker::Impl::Adopt(const std::string& key) {
  if (Attempt::IsAcknowledged(Folder(key))) {
    // An earlier worker was killed while it removed the attempt, or before it had stored the order.
    std::error_code ignored;
    std::filesystem::remove_all(Folder(key), ignored);
    return;
  }
  Held* const held = Hold(key);
  const auto spec =
      ShimSpec::Decode(runtime::ReadFile(SpecPath(Folder(key)), kMaxSpec).value_or(""));
  if (!spec) {
    AttemptEnd end = FailedStart("its spec on the node cannot be read");
    end.lost = true;
    return OnOver(held, end);
  }
  held->task_socket = spec->task_socket;
  held->control_socket = spec->control_socket;
  held->probe = DecodeProbe(runtime::ReadFile(ProbePath(key), kMaxSpec).value_or(""));
  held->is_of_earlier_owner =
      spec->owner != options_.owner || spec->owner_start_ticks != options_.owner_start_ticks;
  OpenRunFiles(*held, *spec);
  MakeAttempt(held);
  if (held->is_of_earlier_owner) held->stop = {.signal = SIGKILL, .grace = absl::ZeroDuration()};
  // Starts the program if that was not done. That is correct, since only ordered attempts have a
  // spec. (The shim does not start an attempt whose owner has ended.)
  held->attempt->Adopt();
  if (held->stop) StopIt(held, *held->stop);
}

Held* NodeWorker::Impl::Hold(const std::string& key) {
  auto held = std::make_unique<Held>();
  held->key = key;
  return (held_[key] = std::move(held)).get();
}

void NodeWorker::Impl::Prepare(Held* held, const NodeOrder& order) {
  if (order.spec.size() > kMaxSpec) {
    return FailStart(held, absl::InvalidArgumentError(
                               absl::StrCat("the spec of the attempt has ", order.spec.size(),
                                            " bytes (at most ", kMaxSpec, ")")));
  }
  const auto spec = ShimSpec::Decode(order.spec);
  if (!spec) {
    return FailStart(held, absl::InvalidArgumentError("the spec of the attempt cannot be decoded"));
  }
  held->lets_go = order.lets_go;
  held->probe = DecodeProbe(order.probe);
  if (!order.probe.empty() && !held->probe) {
    return FailStart(
        held, absl::InvalidArgumentError("the liveness probe of the attempt cannot be decoded"));
  }
  if (order.files.empty()) return Begin(held, *spec);
  const auto files = NodeFiles::Decode(order.files);
  if (!files) {
    return FailStart(held,
                     absl::InvalidArgumentError("the files of the attempt cannot be decoded"));
  }
  held->is_preparing = true;
  files_.Prepare(held->key, Folder(held->key), *files, *spec,
                 [this, key = held->key](const absl::StatusOr<ShimSpec>& prepared) {
                   OnPrepared(key, prepared);
                 });
}

void NodeWorker::Impl::OnPrepared(const std::string& key, const absl::StatusOr<ShimSpec>& spec) {
  const auto found = held_.find(key);
  if (found == held_.end()) return;
  Held* const held = found->second.get();
  held->is_preparing = false;
  if (held->stop) {
    return FailStart(held, absl::CancelledError("stopped before its program was started"));
  }
  if (!spec.ok()) return FailStart(held, spec.status());
  Begin(held, *spec);
}

void NodeWorker::Impl::FailStart(Held* held, const absl::Status& why) {
  held->attempt.reset();
  RemoveFiles(*held);
  OnOver(held, FailedStart(std::string(runtime::Std(why.message()))));
}

std::string NodeWorker::Impl::TrainerSocketFor(const std::string& folder) const {
  if (options_.trainer_socket.empty()) return "";
  return RunPlacesOf(folder) ? RelaySocket() : options_.trainer_socket;
}

void NodeWorker::Impl::Begin(Held* held, const ShimSpec& given) {
  // A random name, since a key is too long for the path of a socket.
  held->task_socket = absl::StrCat(options_.socket_directory, "/", runtime::RandomHex128());
  held->control_socket = held->task_socket + ".ctl";
  const std::string folder = Folder(held->key);
  const auto spec = SpecAtNode(given, {.folder = folder,
                                       .task_socket = held->task_socket,
                                       .control_socket = held->control_socket,
                                       .trainer_socket = TrainerSocketFor(folder),
                                       .owner = options_.owner,
                                       .owner_start_ticks = options_.owner_start_ticks});
  if (!spec.ok()) return FailStart(held, spec.status());
  absl::Status done = runtime::MakeDirectories(folder, 0700);
  if (done.ok() && held->probe) {
    done = runtime::WriteFileAtomically(ProbePath(held->key), EncodeProbe(*held->probe), 0600);
  }
  // The spec is written last: with it, the attempt exists.
  if (done.ok()) done = runtime::WriteFileAtomically(SpecPath(folder), spec->Encode(), 0600);
  if (!done.ok()) return FailStart(held, done);
  OpenRunFiles(*held, *spec);
  const std::string job = held->key.substr(0, held->key.find('.'));
  for (const int port : held->lets_go) ports_.LetGo(job, port);
  MakeAttempt(held);
  if (const absl::Status begun = held->attempt->Start(); !begun.ok()) FailStart(held, begun);
}

void NodeWorker::Impl::MakeAttempt(Held* held) {
  const std::string folder = Folder(held->key);
  const std::string key = held->key;
  held->attempt = std::make_unique<LocalAttempt>(
      LocalAttempt::Options{.loop = options_.loop,
                            .spawner = &spawner_,
                            .folder = folder,
                            .task_socket = held->task_socket,
                            .control_socket = held->control_socket,
                            .spec = [folder] { return ReadSpec(folder); }},
      Attempt::Callbacks{
          .on_running =
              [this, held](const ShimState& state) {
                if (held->stop) StopIt(held, *held->stop);
                BeginLiveness(held, state);
              },
          .on_output = [this, held](const ShimState& state) { OnState(held, state); },
          .on_barrier =
              [this, held](const ShimBarrier& barrier) {
                held->news.SetBarrier(barrier);
                turns_.Say(held->key);
              },
          .on_over = [this, held](const AttemptEnd& end) { OnOver(held, end); },
          .on_left = [this, key] { way_->Post([this, key] { Remove(key); }); }});
}

void NodeWorker::Impl::BeginLiveness(Held* held, const ShimState& state) {
  if (!held->probe || held->liveness != nullptr) return;
  Liveness::Options options{.loop = options_.loop, .probe = *held->probe};
  options.heartbeat_file = HeartbeatAtNode(Folder(held->key));
  options.spec = [folder = Folder(held->key)] { return ReadSpec(folder); };
  options.age =
      std::max(absl::Now() - absl::FromUnixMicros(state.started_us), absl::ZeroDuration());
  options.on_look = [this, held](const std::string& why) {
    if (held->news.SetLook(why)) turns_.Say(held->key);
  };
  options.on_failed = [this, held](const std::string& reason) {
    held->news.SetFailed(reason);
    turns_.Say(held->key);
  };
  held->liveness = Liveness::Begin(std::move(options));
}

void NodeWorker::Impl::OnState(Held* held, const ShimState& state) {
  const bool at_once = held->news.SetState(state);
  turns_.Say(held->key, at_once);
}

void NodeWorker::Impl::OnOver(Held* held, const AttemptEnd& end) {
  AttemptEnd told = end;
  if (held->is_taken) {
    told.lost = true;
    told.how = absl::StrCat(options_.taken_by, " (", end.how, ")");
  }
  held->liveness.reset();
  // (The launcher accepts no files of an attempt of an earlier stub.)
  const bool waits = !held->is_discarded && !held->is_of_earlier_owner &&
                     RunPlacesOf(Folder(held->key)).has_value();
  held->news.SetEnd(std::move(told), waits);
  if (waits) {
    run_files_.Finish(
        held->key, [this, key = held->key](const std::string& problem) { OnCopied(key, problem); });
  }
  turns_.Say(held->key);
  if (held->is_discarded) way_->Post([this, key = held->key] { LetGo(key); });
  if (held->is_of_earlier_owner) link_.Connect();
  LookWhetherLeft();
}

void NodeWorker::Impl::OnCopied(const std::string& key, const std::string& problem) {
  const auto found = held_.find(key);
  if (found != held_.end() && found->second->news.FinishEnd(problem)) turns_.Say(key);
}

void NodeWorker::Impl::StopIt(Held* held, Stop stop) {
  // Stored, because an attempt that is being re-adopted cannot be stopped yet.
  held->stop = stop;
  if (held->is_preparing) return files_.Cancel(held->key);
  if (held->attempt != nullptr && !held->news.has_ended()) {
    held->attempt->Stop(stop.signal, stop.grace);
  }
}

void NodeWorker::Impl::Discard(Held* held) {
  held->is_discarded = true;
  if (held->news.has_ended()) return LetGo(held->key);
  StopIt(held, {.signal = SIGKILL, .grace = absl::ZeroDuration()});
}

void NodeWorker::Impl::LetGo(const std::string& key) {
  const auto found = held_.find(key);
  if (found == held_.end() || std::exchange(found->second->is_acknowledged, true)) return;
  if (found->second->attempt == nullptr) return Remove(key);
  found->second->attempt->Acknowledge();
}

void NodeWorker::Impl::Remove(std::string key) {
  const auto found = held_.find(key);
  if (found == held_.end()) return;
  found->second->attempt.reset();
  RemoveFiles(*found->second);
  held_.erase(found);
  // If the entry of another attempt is dropped here, the launcher asks again for it.
  if (left_.size() >= kMaxAttempts) left_.erase(left_.begin());
  left_[key] = 0;
  turns_.Say(key);
  LookWhetherLeft();
}

void NodeWorker::Impl::RemoveFiles(const Held& held) {
  if (relay_ != nullptr) relay_->Remove(held.key);
  run_files_.Remove(held.key);
  const std::string folder = Folder(held.key);
  // The spec is removed first: without it the next worker removes the rest.
  unlink(SpecPath(folder).c_str());
  std::error_code error;
  std::filesystem::remove_all(folder, error);
  if (error) LOG(WARNING) << "cannot remove " << folder << ": " << error.message();
  if (held.control_socket.empty()) return;
  unlink(held.control_socket.c_str());
  unlink(held.task_socket.c_str());
}

bool NodeWorker::Impl::IsFree(bool of_earlier_owners_only) const {
  return std::all_of(held_.begin(), held_.end(), [&](const auto& entry) {
    return entry.second->news.has_ended() ||
           (of_earlier_owners_only && !entry.second->is_of_earlier_owner);
  });
}

// --- Leaving.

void NodeWorker::Impl::Leave(absl::Duration grace, std::function<void()> done) {
  if (std::exchange(is_leaving_, true)) return;
  on_left_ = std::move(done);
  // The hello is sent first, so that the launcher does not restart the attempts on this node.
  link_.Send(Hello().Encode());
  for (const auto& [key, held] : held_) {
    if (held->news.has_ended()) continue;
    held->is_taken = !held->stop && !options_.taken_by.empty();
    StopIt(held.get(), {.signal = SIGTERM, .grace = grace});
  }
  leave_timer_.Start(options_.loop, grace + kToLeave, [this] { FinishLeaving(); });
  way_->Post([this] { LookWhetherLeft(); });
}

void NodeWorker::Impl::LookWhetherLeft() {
  if (!on_left_ || !IsFree(/*of_earlier_owners_only=*/false)) return;
  if ((held_.empty() && left_.empty()) || !link_.is_welcome()) return FinishLeaving();
  if (std::exchange(all_are_over_, true)) return;
  leave_timer_.Start(options_.loop, kToLeave, [this] { FinishLeaving(); });
}

void NodeWorker::Impl::FinishLeaving() {
  for (const auto& [key, held] : held_) {
    // Without its control socket no shim waits for an acknowledgement; its exit file remains.
    if (held->news.has_ended() && !held->control_socket.empty()) {
      unlink(held->control_socket.c_str());
    }
  }
  if (on_left_) way_->Post(std::exchange(on_left_, {}));
}

absl::StatusOr<std::unique_ptr<NodeWorker>> NodeWorker::Create(Options options) {
  auto impl = std::make_unique<Impl>(std::move(options));
  if (auto opened = impl->Open(); !opened.ok()) return opened;
  return std::unique_ptr<NodeWorker>(new NodeWorker(std::move(impl)));
}

NodeWorker::NodeWorker(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
NodeWorker::~NodeWorker() = default;
void NodeWorker::Leave(absl::Duration grace, std::function<void()> done) {
  impl_->Leave(grace, std::move(done));
}
std::uint64_t NodeWorker::bad_words() const { return impl_->bad_words(); }

}  // namespace launcher
