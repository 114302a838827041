#include "tools/yard/text/line_collapser.h"

#include <algorithm>

namespace yard {
namespace {

// Memory that a line takes besides its text, in bytes.
constexpr std::size_t kLineBytes = 128;
// A task's line with more lines than this before it is not considered the same event.
constexpr std::uint64_t kDeepest = 256;

}  // namespace

void LineCollapser::Add(const std::string& task, bool is_error, std::string_view line) {
  Stream& stream = streams_[is_error ? 1 : 0];
  Queue& queue = QueueOf(&stream, task);
  Text& text = *stream.texts.try_emplace(std::string(line)).first;
  if (text.second.lines++ == 0) bytes_ += text.first.size();
  auto& places = queue.places[&text];
  if (places.empty()) ++text.second.queues;
  places.push_back(queue.first + queue.lines.size());
  if (queue.lines.empty()) heads_.emplace(next_number_, std::pair(&stream, &queue));
  queue.lines.push_back({&text, next_number_++, options_.clock->Monotonic() + options_.delay});
  ++lines_;
  bytes_ += kLineBytes;
  PrintDue();
}

void LineCollapser::PrintDue() {
  const absl::Duration now = options_.clock->Monotonic();
  while (!heads_.empty()) {
    const auto& [stream, queue] = heads_.begin()->second;
    const Line& oldest = queue->lines.front();
    if (oldest.due > now && !IsFull() && !IsComplete(*stream, oldest)) return;
    PrintOldest();
  }
}

absl::Duration LineCollapser::NextDue() const {
  return heads_.empty() ? absl::InfiniteDuration()
                        : heads_.begin()->second.second->lines.front().due;
}

void LineCollapser::Finish() {
  while (!heads_.empty()) PrintOldest();
}

LineCollapser::Queue& LineCollapser::QueueOf(Stream* stream, const std::string& task) {
  const auto [found, is_new] = stream->by_task.try_emplace(task);
  if (is_new) {
    found->second.task = task;
    stream->queues.push_back(&found->second);
  }
  return found->second;
}

LineCollapser::Queues LineCollapser::SayingSoon(const Stream& stream, const Text* text) {
  Queues found;
  for (Queue* const queue : stream.queues) {
    const auto places = queue->places.find(text);
    if (places == queue->places.end()) continue;
    if (places->second.front() - queue->first <= kDeepest) found.push_back(queue);
  }
  return found;
}

LineCollapser::Queues LineCollapser::SayingNext(const Stream& stream, const Text* text) {
  Queues found;
  for (Queue* const queue : stream.queues) {
    if (queue->head() == text) found.push_back(queue);
  }
  return found;
}

bool LineCollapser::IsFull() const {
  return lines_ > options_.max_lines || bytes_ > options_.max_bytes;
}

bool LineCollapser::IsComplete(const Stream& stream, const Line& line) const {
  return options_.tasks != 0 && line.text->second.queues >= options_.tasks &&
         SayingSoon(stream, line.text).size() >= options_.tasks;
}

void LineCollapser::PrintOldest() {
  const auto [stream, oldest] = heads_.begin()->second;
  const Text* const text = oldest->head();
  const Queues saying = SayingSoon(*stream, text);
  for (const Queue* const queue : saying) {
    while (queue->head() != text) PrintHeads(stream, SayingNext(*stream, queue->head()));
  }
  PrintHeads(stream, saying);
}

// Prints the first lines of these queues, which all have the same text, as one.
void LineCollapser::PrintHeads(Stream* stream, const Queues& queues) {
  Text* const text = queues.front()->head();
  std::vector<std::string> tasks;
  for (Queue* const queue : queues) {
    tasks.push_back(queue->task);
    heads_.erase(queue->lines.front().number);
    queue->lines.pop_front();
    ++queue->first;
    if (!queue->lines.empty()) {
      heads_.emplace(queue->lines.front().number, std::pair(stream, queue));
    }
    const auto places = queue->places.find(text);
    places->second.pop_front();
    if (places->second.empty()) {
      queue->places.erase(places);
      --text->second.queues;
    }
    --text->second.lines;
    --lines_;
    bytes_ -= kLineBytes;
  }
  options_.print(tasks, stream->is_error, text->first);
  if (text->second.lines != 0) return;
  bytes_ -= text->first.size();
  stream->texts.erase(stream->texts.find(text->first));
}

}  // namespace yard
