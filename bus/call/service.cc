#include "bus/call/service.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <exception>
#include <map>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "bus/call/call_log.h"
#include "bus/call/remembered_replies.h"
#include "bus/call/reply_target.h"
#include "bus/thread/bus_thread.h"
#include "bus/thread/counters.h"
#include "bus/thread/outbox.h"
#include "bus/thread/reply_parts.h"
#include "bus/thread/socket.h"
#include "bus/wire/envelope.h"
#include "bus/wire/frame.h"
#include "bus/wire/receive.h"
#include "bus/wire/trace.h"
#include "glog/logging.h"
#include "runtime/mutex.h"
#include "runtime/text/string_view.h"

// Invariants:
// - The socket, the open calls and the callers belong to the bus thread. Handlers on other threads
//   touch only a Call and its Outbox, which have locks of their own, and post everything else.
// - Every message to a caller goes through that caller's Outbox, which keeps their order whichever
//   threads send them.
// - A Call is in `calls` from its request until its reply is in the Outbox; no request is read
//   between the removal and the reply.
// - No callback runs while a lock is held.

namespace bus {
namespace {

constexpr int kMessagesAtOnce = 256;
constexpr std::size_t kMaxCallsOfOne = 1024;
// Limits of the queued replies of one caller. An answer over the first limit becomes an error, and
// errors may use the second, slightly larger one.
constexpr std::size_t kReplyBytesOfOne = kMaxAnswerBytes;
constexpr std::size_t kErrorBytesOfOne = kReplyBytesOfOne + (1 << 20);
constexpr std::size_t kMaxLoggedPeers = 1024;
constexpr absl::Duration kTick = absl::Milliseconds(400);
constexpr absl::Duration kSilence = absl::Milliseconds(500);
constexpr absl::Duration kRetrySend = absl::Milliseconds(2);

struct Method {
  MethodInfo info;
  msg::Body request_type;
  Service::Handler handler;
};

// One client connection. Bus thread only.
struct Caller {
  Caller(std::string identity, Counter* waiting)
      : outbox(std::make_shared<Outbox>(std::move(identity), waiting)) {}
  const std::shared_ptr<Outbox> outbox;
  std::size_t calls = 0;
};

struct Call {
  ReplyTarget target;
  CallContext context;
  const Method* method = nullptr;
  std::string memory_key;  // If not empty, the reply is remembered under this key.
  absl::Duration started;
  absl::Duration last_sent;  // Bus thread only.

  runtime::Mutex mutex;
  bool finished ABSL_GUARDED_BY(mutex) = false;
  bool cancelled ABSL_GUARDED_BY(mutex) = false;
  std::vector<std::function<void()>> on_cancel ABSL_GUARDED_BY(mutex);
};

using CallKey = std::pair<std::string, std::uint64_t>;

std::string Text(const flatbuffers::String* text) { return text == nullptr ? "" : text->str(); }

CallContext ContextOf(const Received& request, const std::optional<Peer>& peer) {
  CallContext context;
  context.uid = peer.value_or(Peer{.uid = static_cast<uid_t>(-1)}).uid;
  context.pid = peer.value_or(Peer()).pid;
  context.source = request->head() == nullptr ? 0 : request->head()->source();
  context.request_id = Text(request->request_id());
  context.trace = Text(request->trace());
  context.attempt = request->attempt();
  return context;
}

}  // namespace

struct Service::State : std::enable_shared_from_this<Service::State> {
  class CallResponder;
  State(Node* n, Options o)
      : node(n),
        thread(n->bus_thread()),
        counters(n->counters()),
        options(std::move(o)),
        log(options.name) {}

  Node* const node;
  BusThread& thread;
  Counters& counters;
  const Options options;
  // Constant after Start().
  std::map<std::string, Method, std::less<>> methods;

  CallLog log;

  // Bus thread only.
  std::unique_ptr<Socket> socket;
  BusThread::WatchId watch = 0;
  BusTimer tick;
  BusTimer retry;
  std::map<CallKey, std::shared_ptr<Call>> calls;
  std::unordered_map<std::string, std::shared_ptr<Caller>> callers;
  std::vector<std::shared_ptr<Outbox>> blocked;  // Outboxes whose ZeroMQ queues are full.
  // Retries that arrived while their first attempt is still being handled, by memory key.
  std::unordered_map<std::string, std::vector<ReplyTarget>> under_way;
  RememberedReplies remembered;
  std::unordered_set<std::string> logged_peers;

  absl::Duration Now() const { return node->clock()->Monotonic(); }
  absl::Status Open();
  void Close();
  void Tick();

  // Receiving; bus thread only.
  void OnReadable();
  void OnMessage(std::vector<Frame>& frames);
  void OnRequest(const Received& request, const std::optional<Peer>& peer,
                 const ReplyTarget& target);
  absl::Status Admit(const Received& request, const std::optional<Peer>& peer, const Caller& caller,
                     const Method** method) const;
  bool AnswerFromMemory(const Call& call);
  void StartCall(std::shared_ptr<Call> call, const Received& request);
  void RunHandler(const std::shared_ptr<Call>& call, const std::shared_ptr<Responder>& responder,
                  const msg::EnvelopeT& request);
  void CountRefused(const absl::Status& why) {
    counters.calls_refused[static_cast<std::size_t>(why.code())].Add();
  }
  void DropMalformed(const std::string& identity, const Frame& body, const absl::Status& why);

  // Sending; bus thread only.
  Caller& CallerOf(const std::string& identity);
  void ReplyAgain(const ReplyTarget& target, const MethodInfo& method, msg::EnvelopeT reply);
  void ReplyError(const ReplyTarget& target, const absl::Status& error);
  void Flush(const std::shared_ptr<Outbox>& outbox);
  void DropCaller(const std::shared_ptr<Outbox>& outbox);
  void ForgetIfIdle(const std::string& identity);
  void RetryBlocked();
  void EndCall(const std::shared_ptr<Call>& call, ReplyFrames frames, msg::EnvelopeT reply);

  // Any thread.
  void Cancel(const std::shared_ptr<Call>& call);
  bool Send(const ReplyTarget& target, Frame frame, std::size_t limit);
  bool Send(const ReplyTarget& target, std::span<Outbox::Item> items, std::size_t limit);
  void SendReply(const ReplyTarget& target, ReplyFrames frames);
  void Finish(const std::shared_ptr<Call>& call, absl::StatusOr<msg::EnvelopeT> reply);
};

class Service::State::CallResponder : public Responder {
 public:
  CallResponder(std::shared_ptr<State> service, std::shared_ptr<Call> call)
      : service_(std::move(service)), call_(std::move(call)) {}
  ~CallResponder() override {
    service_->Finish(call_, absl::InternalError(absl::StrCat(
                                runtime::Absl(call_->method->info.name), " was not answered")));
  }
  const CallContext& context() const override { return call_->context; }

  absl::Status SendPart(msg::EnvelopeT part) override {
    {
      runtime::MutexLock lock(call_->mutex);
      if (call_->cancelled) return absl::CancelledError("the caller has gone or cancelled");
      if (call_->finished) return absl::OkStatus();
    }
    Frame frame = EncodeAs(part, msg::Kind::ReplyPart, call_->target.corr);
    if (absl::Status good = CheckPart(frame, call_->method->info.name); !good.ok()) return good;
    if (service_->Send(call_->target, std::move(frame), Outbox::kStreamBytes)) {
      return absl::OkStatus();
    }
    if (call_->target.outbox->closed()) return absl::CancelledError("the caller has gone");
    return absl::ResourceExhaustedError("too much waits for this caller");
  }

  void WhenWritable(std::function<void()> writable) override {
    auto now = call_->target.outbox->WhenWritable(std::move(writable));
    if (now) service_->thread.Post(std::move(now));
  }

  void Finish(absl::StatusOr<msg::EnvelopeT> reply) override {
    service_->Finish(call_, std::move(reply));
  }

  bool cancelled() const override {
    runtime::MutexLock lock(call_->mutex);
    return call_->cancelled;
  }

  void OnCancel(std::function<void()> cancelled) override {
    {
      runtime::MutexLock lock(call_->mutex);
      if (!call_->cancelled) {
        if (!call_->finished) call_->on_cancel.push_back(std::move(cancelled));
        return;
      }
    }
    service_->thread.Post(std::move(cancelled));
  }

 private:
  const std::shared_ptr<State> service_;
  const std::shared_ptr<Call> call_;
};

// ---- Receiving

void Service::State::OnReadable() {
  std::vector<Frame> frames;
  for (int i = 0; i < kMessagesAtOnce && socket != nullptr; ++i) {
    if (!socket->Receive(frames)) return thread.Drained(watch);
    OnMessage(frames);
  }
}

// A message is [identity][envelope], from a REQ socket [identity][][envelope].
void Service::State::OnMessage(std::vector<Frame>& frames) {
  if (frames.empty()) return;
  const std::string identity(frames[0].text());
  const bool delimiter = frames.size() == 3 && frames[1].size() == 0;
  const Frame& body = frames.back();
  counters.messages_received.Add();
  counters.bytes_received.Add(body.size());
  if (frames.size() != 2 && !delimiter) {
    return DropMalformed(identity, body, absl::InvalidArgumentError("more than one frame"));
  }
  const auto received = Receive(body.bytes(), kMaxRequestBytes);
  if (!received.ok()) return DropMalformed(identity, body, received.status());
  const ReplyTarget target{CallerOf(identity).outbox, (*received)->corr(), delimiter};
  switch ((*received)->kind()) {
    case msg::Kind::Request:
      OnRequest(*received, body.peer(), target);
      break;
    case msg::Kind::Cancel:
      if (const auto call = calls.find({identity, target.corr}); call != calls.end()) {
        Cancel(std::shared_ptr<Call>(call->second));
      }
      break;
    case msg::Kind::Ping: {
      msg::EnvelopeT pong;
      Send(target, EncodeAs(pong, msg::Kind::Pong, target.corr), kReplyBytesOfOne);
      break;
    }
    default:
      DropMalformed(identity, body, absl::InvalidArgumentError("not a request"));
  }
  ForgetIfIdle(identity);
}

void Service::State::DropMalformed(const std::string& identity, const Frame& body,
                                   const absl::Status& why) {
  counters.malformed_dropped.Add();
  if (logged_peers.size() >= kMaxLoggedPeers || !logged_peers.insert(identity).second) return;
  const auto peer = body.peer();
  LOG(WARNING) << options.name << ": dropped a message from pid " << (peer ? peer->pid : 0) << ": "
               << why.message() << " (said once for each connection)";
}

// Returns OK and sets `method` if the request may start.
absl::Status Service::State::Admit(const Received& request, const std::optional<Peer>& peer,
                                   const Caller& caller, const Method** method) const {
  if (!peer.has_value()) {
    return absl::PermissionDeniedError(absl::StrCat(
        options.name, " cannot know who calls: ZeroMQ tells it with ZMTP 3 and later only"));
  }
  if (peer->uid != geteuid()) {
    return absl::PermissionDeniedError(
        absl::StrCat(options.name, " serves its own user (uid ", geteuid(), ") only"));
  }
  if (absl::Status good = CheckProtocol(*request, "the request", options.name); !good.ok()) {
    return good;
  }
  const std::string name = Text(request->method());
  const auto found = methods.find(name);
  if (found == methods.end()) {
    return absl::UnimplementedError(
        absl::StrCat(options.name, " has no method \"", absl::CHexEscape(name), "\""));
  }
  if (!request.body_known()) {
    return absl::UnimplementedError(
        absl::StrCat(options.name, ".", name, ": the request has a type of a newer version"));
  }
  if (request->body_type() != found->second.request_type || request->body() == nullptr) {
    return absl::InvalidArgumentError(absl::StrCat(
        options.name, ".", name, " takes ", msg::EnumNameBody(found->second.request_type), ", not ",
        msg::EnumNameBody(request->body_type())));
  }
  if (caller.calls >= kMaxCallsOfOne) {
    return absl::ResourceExhaustedError(
        absl::StrCat(options.name, ": ", caller.calls, " calls of this caller are under way"));
  }
  *method = &found->second;
  return absl::OkStatus();
}

void Service::State::OnRequest(const Received& request, const std::optional<Peer>& peer,
                               const ReplyTarget& target) {
  Caller& caller = CallerOf(target.outbox->identity());
  const Method* method = nullptr;
  absl::Status admitted = Admit(request, peer, caller, &method);
  if (admitted.ok() && calls.contains({target.outbox->identity(), target.corr})) {
    admitted = absl::InvalidArgumentError("a call with this number is under way");
  }
  CallContext context = ContextOf(request, peer);
  if (!admitted.ok()) {
    CountRefused(admitted);
    log.OnError(absl::CHexEscape(Text(request->method())), context, admitted, Now());
    return ReplyError(target, admitted);
  }
  auto call = std::make_shared<Call>();
  call->target = target;
  call->method = method;
  call->started = call->last_sent = Now();
  call->context = std::move(context);
  if (request->budget_ms() != 0) {
    call->context.deadline = call->started + absl::Milliseconds(request->budget_ms());
  }
  if (method->info.idempotency == Idempotency::kRemembered && !call->context.request_id.empty()) {
    call->memory_key =
        absl::StrCat(runtime::Absl(method->info.name), "/", call->context.request_id);
    if (AnswerFromMemory(*call)) return;
  }
  if (method->info.role != Role::kRead) log.OnChange(method->info, call->context, Now());
  StartCall(std::move(call), request);
}

// Handles a retry: sends the remembered reply, or queues the retry until the first attempt ends.
// Returns false for a first attempt.
bool Service::State::AnswerFromMemory(const Call& call) {
  if (const msg::EnvelopeT* reply = remembered.Find(call.memory_key, Now()); reply != nullptr) {
    ReplyAgain(call.target, call.method->info, *reply);
    return true;
  }
  const auto [entry, first] = under_way.try_emplace(call.memory_key);
  if (!first && entry->second.size() < kMaxCallsOfOne) entry->second.push_back(call.target);
  return !first;
}

void Service::State::StartCall(std::shared_ptr<Call> call, const Received& request) {
  calls[{call->target.outbox->identity(), call->target.corr}] = call;
  counters.open_calls.Add();
  ++CallerOf(call->target.outbox->identity()).calls;
  auto responder = std::make_shared<CallResponder>(shared_from_this(), call);
  auto unpacked = std::shared_ptr<msg::EnvelopeT>(request->UnPack());
  if (call->method->info.runs_inline || options.pool == nullptr) {
    return RunHandler(call, responder, *unpacked);
  }
  const absl::Status queued =
      options.pool->Submit([self = shared_from_this(), call, responder, unpacked] {
        self->RunHandler(call, responder, *unpacked);
        return absl::OkStatus();
      });
  if (queued.ok()) return;
  const absl::Status refused =
      absl::IsCancelled(queued) ? absl::UnavailableError(absl::StrCat(options.name, " is stopping"))
                                : absl::ResourceExhaustedError(
                                      absl::StrCat(options.name, " is busy: ", queued.message()));
  CountRefused(refused);
  Finish(call, refused);
}

void Service::State::RunHandler(const std::shared_ptr<Call>& call,
                                const std::shared_ptr<Responder>& responder,
                                const msg::EnvelopeT& request) {
  if (Now() > call->context.deadline) {
    return Finish(call, absl::DeadlineExceededError("the deadline passed before the call began"));
  }
  const TraceScope scope(call->context.trace);
  try {
    call->method->handler(responder, request);
  } catch (const std::exception& error) {
    LOG(ERROR) << options.name << "." << call->method->info.name << ": " << error.what();
    Finish(call, absl::InternalError(
                     absl::StrCat(runtime::Absl(call->method->info.name), ": ", error.what())));
  }
}

// ---- Sending

Caller& Service::State::CallerOf(const std::string& identity) {
  auto& caller = callers[identity];
  if (caller == nullptr) caller = std::make_shared<Caller>(identity, &counters.outbox_bytes);
  return *caller;
}

void Service::State::ReplyAgain(const ReplyTarget& target, const MethodInfo& method,
                                msg::EnvelopeT reply) {
  auto frames = ReplyFramesFor(target, method, reply);
  if (!frames.ok()) return ReplyError(target, frames.status());
  SendReply(target, *std::move(frames));
}

void Service::State::ReplyError(const ReplyTarget& target, const absl::Status& error) {
  SendReply(target, ErrorFrames(target, error));
}

void Service::State::SendReply(const ReplyTarget& target, ReplyFrames frames) {
  std::vector<Outbox::Item> items;
  for (Frame& part : frames.parts) items.push_back({target.delimiter, std::move(part)});
  items.push_back({target.delimiter, std::move(frames.reply)});
  if (Send(target, items, kReplyBytesOfOne) || target.outbox->closed()) return;
  counters.replies_dropped.Add();
  ReplyFrames error = ErrorFrames(
      target, absl::ResourceExhaustedError("too much waits for this caller already; read it "
                                           "before asking for more"));
  Send(target, std::move(error.reply), kErrorBytesOfOne);
}

bool Service::State::Send(const ReplyTarget& target, Frame frame, std::size_t limit) {
  Outbox::Item item{target.delimiter, std::move(frame)};
  return Send(target, std::span(&item, 1), limit);
}

bool Service::State::Send(const ReplyTarget& target, std::span<Outbox::Item> items,
                          std::size_t limit) {
  const auto added = target.outbox->Add(items, limit);
  if (added == Outbox::Added::kYesAndFlush) {
    if (thread.InThread()) {
      Flush(target.outbox);
    } else {
      thread.Post([self = shared_from_this(), outbox = target.outbox] { self->Flush(outbox); });
    }
  }
  return added != Outbox::Added::kNo;
}

void Service::State::Flush(const std::shared_ptr<Outbox>& outbox) {
  if (socket == nullptr) return (void)outbox->Close();
  while (auto item = outbox->Take()) {
    std::array<Frame, 3> frames = {Frame(std::string_view(outbox->identity())),
                                   std::move(item->frame), Frame()};
    const std::size_t bytes = frames[1].size();
    if (item->delimiter) std::swap(frames[1], frames[2]);
    const auto sent = socket->Send(std::span(frames).first(item->delimiter ? 3 : 2));
    if (sent == Socket::Sent::kYes) {
      counters.messages_sent.Add();
      counters.bytes_sent.Add(bytes);
      continue;
    }
    if (sent == Socket::Sent::kGone) return DropCaller(outbox);
    item->frame = std::move(frames[item->delimiter ? 2 : 1]);
    outbox->Untake(std::move(*item));
    // ZeroMQ reports that some caller is writable, but not which one: retry soon.
    blocked.push_back(outbox);
    if (!retry.is_set()) retry.Start(&thread, kRetrySend, [this] { RetryBlocked(); });
    break;
  }
  for (auto& writable : outbox->TakeWritable()) writable();
  ForgetIfIdle(outbox->identity());
}

void Service::State::RetryBlocked() {
  const auto now = std::exchange(blocked, {});
  for (const auto& outbox : now) Flush(outbox);
}

void Service::State::DropCaller(const std::shared_ptr<Outbox>& outbox) {
  counters.callers_gone.Add();
  const auto waiting = outbox->Close();
  std::vector<std::shared_ptr<Call>> lost;
  for (auto call = calls.lower_bound({outbox->identity(), 0});
       call != calls.end() && call->first.first == outbox->identity(); ++call) {
    lost.push_back(call->second);
  }
  for (const auto& call : lost) Cancel(call);
  for (const auto& writable : waiting) writable();
  ForgetIfIdle(outbox->identity());
}

void Service::State::ForgetIfIdle(const std::string& identity) {
  const auto caller = callers.find(identity);
  if (caller == callers.end() || caller->second->calls != 0) return;
  if (caller->second->outbox->empty()) callers.erase(caller);
}

void Service::State::Cancel(const std::shared_ptr<Call>& call) {
  std::vector<std::function<void()>> callbacks;
  {
    runtime::MutexLock lock(call->mutex);
    if (std::exchange(call->cancelled, true) || call->finished) return;
    callbacks.swap(call->on_cancel);
  }
  for (const auto& callback : callbacks) callback();
}

void Service::State::Finish(const std::shared_ptr<Call>& call,
                            absl::StatusOr<msg::EnvelopeT> reply) {
  std::vector<std::function<void()>> dropped;
  {
    runtime::MutexLock lock(call->mutex);
    if (std::exchange(call->finished, true)) return;
    dropped.swap(call->on_cancel);
  }
  msg::EnvelopeT answer = reply.ok() ? std::move(*reply) : ErrorReply(reply.status());
  msg::EnvelopeT kept;
  if (!call->memory_key.empty()) kept = answer;
  auto frames = ReplyFramesFor(call->target, call->method->info, answer);
  if (!frames.ok()) {
    reply = frames.status();
    kept = ErrorReply(frames.status());
    frames = ErrorFrames(call->target, frames.status());
  }
  const absl::Duration now = Now();
  log.OnEnd(call->method->info, now - call->started, !reply.ok());
  if (!reply.ok()) log.OnError(call->method->info.name, call->context, reply.status(), now);
  // Removal and reply are one step: a caller that has its answer may reuse the call's number at
  // once.
  if (thread.InThread()) return EndCall(call, *std::move(frames), std::move(kept));
  auto both =
      std::make_shared<std::pair<ReplyFrames, msg::EnvelopeT>>(*std::move(frames), std::move(kept));
  thread.Post([self = shared_from_this(), call, both] {
    self->EndCall(call, std::move(both->first), std::move(both->second));
  });
}

// Removes the call and sends its reply. `reply` is the copy to remember.
void Service::State::EndCall(const std::shared_ptr<Call>& call, ReplyFrames frames,
                             msg::EnvelopeT reply) {
  const std::size_t bytes = frames.bytes();
  const std::string& identity = call->target.outbox->identity();
  counters.open_calls.Subtract(calls.erase({identity, call->target.corr}));
  if (const auto caller = callers.find(identity); caller != callers.end()) {
    if (caller->second->calls > 0) --caller->second->calls;
  }
  SendReply(call->target, std::move(frames));
  ForgetIfIdle(identity);
  if (call->memory_key.empty()) return;
  if (auto retries = under_way.extract(call->memory_key); !retries.empty()) {
    for (const ReplyTarget& target : retries.mapped())
      ReplyAgain(target, call->method->info, reply);
  }
  const absl::Status status = FromWire(reply.status.get());
  // This reply asks the caller to retry, so a retry must run the handler again.
  if (absl::IsUnavailable(status) || absl::IsResourceExhausted(status)) return;
  remembered.Add(call->memory_key, std::move(reply), bytes, Now());
}

// Pings silent streams and cancels calls whose deadline has passed.
void Service::State::Tick() {
  const absl::Duration now = Now();
  tick.Start(&thread, kTick, [this] { Tick(); });
  std::vector<std::shared_ptr<Call>> open;
  for (const auto& [key, call] : calls) open.push_back(call);
  for (const auto& call : open) {
    if (now > call->context.deadline) {
      Cancel(call);
    } else if (call->method->info.streaming && now - call->last_sent >= kSilence) {
      call->last_sent = now;
      msg::EnvelopeT ping;
      // A limit of 0 bytes: sends the Ping only if the outbox is empty.
      Send(call->target, EncodeAs(ping, msg::Kind::Ping, call->target.corr), 0);
    }
  }
}

absl::Status Service::State::Open() {
  auto opened = Socket::Open(thread.context(), Socket::Use::kService);
  if (!opened.ok()) return opened.status();
  if (absl::Status bound = (*opened)->Bind(options.endpoint); !bound.ok()) return bound;
  socket = std::move(*opened);
  watch = thread.Watch(socket->handle(), [this] { OnReadable(); });
  tick.Start(&thread, kTick, [this] { Tick(); });
  return absl::OkStatus();
}

void Service::State::Close() {
  if (socket == nullptr) return;
  std::vector<std::shared_ptr<Call>> open;
  for (const auto& [key, call] : calls) open.push_back(call);
  for (const auto& call : open) {
    Finish(call, absl::UnavailableError(absl::StrCat(options.name, " is stopping")));
    Cancel(call);
  }
  thread.Unwatch(watch);
  tick.Cancel();
  retry.Cancel();
  socket.reset();
  for (const auto& [identity, caller] : callers) (void)caller->outbox->Close();
  callers.clear();
  counters.open_calls.Subtract(calls.size());
  calls.clear();
  blocked.clear();
}

// ---- Public methods

Service::Service(Node* node, Options options)
    : state_(std::make_shared<State>(node, std::move(options))) {}

Service::~Service() { Stop(); }

void Service::AddMethod(const MethodInfo& method, msg::Body request_type, Handler handler) {
  state_->methods[std::string(method.name)] = Method{method, request_type, std::move(handler)};
}

absl::Status Service::Start() {
  absl::Status opened;
  state_->thread.Run([&] { opened = state_->Open(); });
  if (opened.ok()) return opened;
  return absl::Status(opened.code(),
                      absl::StrCat("serving ", state_->options.name, ": ", opened.message()));
}

absl::Status Service::BindAgain() {
  absl::Status bound;
  state_->thread.Run([&] {
    if (state_->socket != nullptr) bound = state_->socket->Bind(state_->options.endpoint);
  });
  return bound;
}

void Service::Stop() {
  state_->thread.Run([this] { state_->Close(); });
}

std::vector<Service::MethodStats> Service::GetStats() const {
  std::vector<MethodStats> all;
  for (const auto& [name, counts] : state_->log.counts()) {
    all.push_back({name,
                   counts.count,
                   counts.errors,
                   counts.sum_us,
                   {counts.buckets.begin(), counts.buckets.end()}});
  }
  return all;
}

}  // namespace bus
