#include "launcher/testing/output/line_prefixer.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace launcher::testing {
namespace {

constexpr std::size_t kColumns = 14;

}  // namespace

LinePrefixer::LinePrefixer(std::string_view task) {
  prefix_.append("[").append(task).append("]:");
  prefix_.resize(std::max(prefix_.size(), kColumns), ' ');
  prefix_.push_back(' ');
}

void LinePrefixer::Add(std::string_view bytes, std::string* lines) {
  if (bytes.empty()) return;
  if (std::exchange(after_return_, false) && bytes.front() == '\n') bytes.remove_prefix(1);
  if (bytes.find('\r') == std::string_view::npos) return AddNormal(bytes, lines);
  std::string normal;
  normal.reserve(bytes.size());
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    normal.push_back(bytes[i] == '\r' ? '\n' : bytes[i]);
    if (bytes[i] == '\r' && i + 1 < bytes.size() && bytes[i + 1] == '\n') ++i;
  }
  after_return_ = bytes.back() == '\r';
  AddNormal(normal, lines);
}

void LinePrefixer::AddNormal(std::string_view bytes, std::string* lines) {
  const auto last = bytes.rfind('\n');
  if (last != std::string_view::npos) {
    AddLines(bytes.substr(0, last + 1), lines);
    bytes.remove_prefix(last + 1);
  }
  rest_.append(bytes);
  while (rest_.size() >= kMaxLine) {
    lines->append(prefix_).append(rest_, 0, kMaxLine).push_back('\n');
    rest_.erase(0, kMaxLine);
  }
}

// Allocates space for all lines at once, since appending them one by one would dominate the cost.
void LinePrefixer::AddLines(std::string_view whole, std::string* lines) {
  std::size_t count = 0;
  for (std::size_t at = 0; at < whole.size(); at = whole.find('\n', at) + 1) ++count;
  const std::size_t before = lines->size();
  lines->resize(before + count * prefix_.size() + rest_.size() + whole.size());
  char* to = lines->data() + before;
  const auto put = [&](std::string_view text) {
    std::memcpy(to, text.data(), text.size());
    to += text.size();
  };
  while (!whole.empty()) {
    const auto size = whole.find('\n') + 1;
    put(prefix_);
    put(rest_);
    put(whole.substr(0, size));
    rest_.clear();
    whole.remove_prefix(size);
  }
}

void LinePrefixer::Finish(std::string* lines) {
  if (rest_.empty()) return;
  lines->append(prefix_).append(rest_).push_back('\n');
  rest_.clear();
}

}  // namespace launcher::testing
