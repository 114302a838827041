#include "web/views/saved_views.h"

#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "glog/logging.h"
#include "nlohmann/json.hpp"
#include "runtime/file/file.h"
#include "runtime/text/utf8.h"

namespace web {
namespace {

using nlohmann::json;

constexpr std::size_t kMaxFile = std::size_t{8} << 20;

bool HasControl(std::string_view text) {
  constexpr unsigned char kSpace = 0x20, kDelete = 0x7f;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < kSpace || byte == kDelete) return true;
  }
  return false;
}

absl::Status Check(const std::string& name, const std::string& address) {
  if (name.empty() || name.size() > kMaxViewName || HasControl(name) || !runtime::IsUtf8(name)) {
    return absl::InvalidArgumentError(
        absl::StrCat("the name of a view has 1 to ", kMaxViewName, " bytes in one line"));
  }
  // "//host" and "/\\host" would lead away from the page.
  if (!address.starts_with('/') || address.starts_with("//") ||
      address.find('\\') != address.npos || HasControl(address) ||
      address.size() > kMaxViewAddress || !runtime::IsUtf8(address)) {
    return absl::InvalidArgumentError(
        absl::StrCat("the address of a view is a path of the page, such as /runs, of at most ",
                     kMaxViewAddress, " bytes"));
  }
  return absl::OkStatus();
}

// Returns `name`, or with a number appended if that file exists; beyond the limit, reuses the last
// number.
std::string FreeName(const std::string& name) {
  constexpr int kMostKept = 9;
  std::string free = name;
  for (int i = 2; i <= kMostKept && access(free.c_str(), F_OK) == 0; ++i) {
    free = absl::StrCat(name, ".", i);
  }
  return free;
}

}  // namespace

std::unique_ptr<SavedViews> SavedViews::Open(std::string file, runtime::Clock* clock) {
  std::unique_ptr<SavedViews> views(new SavedViews(std::move(file), clock));
  views->Read();
  return views;
}

// Format: {LOGDIR: {NAME: {"address": ADDRESS, "saved_us": MICROSECONDS}}}. DataLoss if the text is
// something else. Skips invalid entries.
absl::StatusOr<SavedViews::Views> SavedViews::Parse(const std::string& text) {
  const json root = json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!root.is_object()) return absl::DataLossError("it is no JSON object");
  Views views;
  for (const auto& [logdir, all] : root.items()) {
    if (!all.is_object()) continue;
    for (const auto& [name, one] : all.items()) {
      if (!one.is_object() || !one.contains("address") || !one["address"].is_string()) continue;
      const auto saved = one.value("saved_us", json());
      SavedView view{.name = name, .address = one["address"].get<std::string>()};
      if (saved.is_number_integer()) view.saved = absl::FromUnixMicros(saved.get<std::int64_t>());
      if (!Check(view.name, view.address).ok()) continue;
      views[{logdir, name}] = std::move(view);
    }
  }
  return views;
}

void SavedViews::Read() {
  const runtime::MutexLock lock(mutex_);
  const auto text = runtime::ReadFile(file_, kMaxFile);
  if (absl::IsNotFound(text.status())) return;
  auto views = text.ok() ? Parse(*text) : absl::StatusOr<Views>(text.status());
  if (views.ok()) {
    views_ = *std::move(views);
    return;
  }
  const std::string aside = FreeName(file_ + ".damaged");
  const bool moved = std::rename(file_.c_str(), aside.c_str()) == 0;
  LOG(ERROR) << "the saved views in " << file_ << " cannot be read: " << views.status()
             << (moved ? "; the file is now " + aside : "");
}

std::vector<SavedView> SavedViews::List(const std::string& logdir) const {
  const runtime::MutexLock lock(mutex_);
  std::vector<SavedView> list;
  for (const auto& [key, view] : views_) {
    if (key.first == logdir) list.push_back(view);
  }
  return list;
}

absl::Status SavedViews::Save(const std::string& logdir, const std::string& name,
                              const std::string& address) {
  if (absl::Status fine = Check(name, address); !fine.ok()) return fine;
  const runtime::MutexLock lock(mutex_);
  Views next = views_;
  next[{logdir, name}] = {.name = name, .address = address, .saved = clock_->Now()};
  if (next.size() > kMaxSavedViews) {
    return absl::ResourceExhaustedError(absl::StrCat("there are ", kMaxSavedViews,
                                                     " saved views. Next step: remove some in "
                                                     "the view Saved"));
  }
  return Write(std::move(next));
}

absl::Status SavedViews::Remove(const std::string& logdir, const std::string& name) {
  const runtime::MutexLock lock(mutex_);
  Views next = views_;
  if (next.erase({logdir, name}) == 0) {
    return absl::NotFoundError(absl::StrCat("there is no view ", name));
  }
  return Write(std::move(next));
}

absl::Status SavedViews::Write(Views next) {
  json root = json::object();
  for (const auto& [key, view] : next) {
    root[key.first][view.name] = {{"address", view.address},
                                  {"saved_us", absl::ToUnixMicros(view.saved)}};
  }
  const std::string text = root.dump(1, ' ', false, json::error_handler_t::replace) + "\n";
  if (absl::Status written = runtime::WriteFileAtomically(file_, text, 0600); !written.ok()) {
    return written;
  }
  views_ = std::move(next);
  return absl::OkStatus();
}

}  // namespace web
