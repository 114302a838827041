#ifndef DATAMANAGER_READ_PART_QUEUE_H_
#define DATAMANAGER_READ_PART_QUEUE_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <utility>

namespace datamanager {

// Cuts a range of a file into parts, hands them out to readers, and puts them in order when they
// return. The number of parts from the first incomplete one on is limited, which bounds the memory
// of parts that wait for an earlier one. A part is opaque, except that it has complete(). Not
// thread safe.
template <typename Part>
class PartQueue {
 public:
  struct Range {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
  };
  // Makes the part for this range.
  using Make = std::function<std::unique_ptr<Part>(Range range)>;
  // A part that a reader holds.
  struct Ticket {
    std::uint64_t number = 0;
    std::unique_ptr<Part> part;  // Null: no part can be read now.
  };

  // Cuts `range` into parts of `part_bytes`, of which at most `ahead` exist at once. The last parts
  // get smaller and smaller (at least an eighth of that), so that all readers end at about the same
  // time. Forgets earlier parts; those still held by readers are discarded when they return.
  void Begin(Range range, std::uint64_t part_bytes, std::size_t ahead, Make make) {
    Clear();
    next_ = range.begin;
    end_ = range.end;
    part_bytes_ = part_bytes;
    ahead_ = ahead;
    make_ = std::move(make);
  }
  void Clear() {
    first_number_ += slots_.size();
    slots_.clear();
    next_ = end_ = 0;
  }
  // True if no parts are left.
  bool empty() const { return slots_.empty() && next_ >= end_; }

  // Hands out the first incomplete part that no reader holds.
  Ticket Take() {
    for (std::size_t i = 0; i < slots_.size(); ++i) {
      Slot& slot = slots_[i];
      if (slot.part != nullptr && !slot.part->complete()) return TakeSlot(i);
    }
    if (next_ >= end_ || slots_.size() >= ahead_) return {};
    const std::uint64_t end = EndOfPart(next_);
    const Range range{std::exchange(next_, end), end};
    slots_.push_back({range.begin, make_(range)});
    return TakeSlot(slots_.size() - 1);
  }
  // Takes back a part, complete or not.
  void Give(Ticket ticket) {
    const std::uint64_t place = ticket.number - first_number_;
    if (ticket.number < first_number_ || place >= slots_.size()) return;
    slots_[static_cast<std::size_t>(place)].part = std::move(ticket.part);
  }

  // Returns the first part if it is complete, otherwise null.
  Part* Front() const {
    if (slots_.empty() || slots_.front().part == nullptr) return nullptr;
    return slots_.front().part->complete() ? slots_.front().part.get() : nullptr;
  }
  // Begin of the first part, or of the next one to be made; the end if no part is left.
  std::uint64_t front_begin() const { return slots_.empty() ? next_ : slots_.front().begin; }
  void PopFront() {
    slots_.pop_front();
    ++first_number_;
  }

  // Number of parts that are held by readers or can be taken.
  std::size_t hands() const {
    std::size_t hands = 0;
    for (const Slot& slot : slots_) {
      if (slot.part == nullptr || !slot.part->complete()) ++hands;
    }
    std::uint64_t next = next_;
    for (std::size_t slots = slots_.size(); slots < ahead_ && next < end_; ++slots) {
      next = EndOfPart(next);
      ++hands;
    }
    return hands;
  }

 private:
  struct Slot {
    std::uint64_t begin = 0;
    std::unique_ptr<Part> part;  // Null: a reader holds it.
  };
  // Returns the end of the part that begins at `begin`, which is before end_.
  std::uint64_t EndOfPart(std::uint64_t begin) const {
    const std::uint64_t left = end_ - begin;
    const std::uint64_t least = std::max<std::uint64_t>(part_bytes_ / 8, 1);
    const std::uint64_t bytes = std::clamp(left / ahead_, least, std::max(part_bytes_, least));
    // A smaller rest would not be worth a part of its own.
    return left < bytes + least ? end_ : begin + bytes;
  }
  Ticket TakeSlot(std::size_t place) {
    return {first_number_ + place, std::move(slots_[place].part)};
  }

  std::deque<Slot> slots_;
  std::uint64_t first_number_ = 0;  // Number of the first slot; numbers are never reused.
  std::uint64_t next_ = 0;          // Begin of the next part.
  std::uint64_t end_ = 0;
  std::uint64_t part_bytes_ = 1;
  std::size_t ahead_ = 0;
  Make make_;
};

}  // namespace datamanager

#endif  // DATAMANAGER_READ_PART_QUEUE_H_
