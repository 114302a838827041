#include "launcher/share/resources.h"

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <iterator>
#include <string_view>
#include <system_error>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace launcher {
namespace {

constexpr std::size_t kMaxName = 32;
constexpr std::size_t kMaxMember = 64;
constexpr std::size_t kMaxMembers = 1024;
constexpr std::uint32_t kMaxAmount = 1'000'000'000;
constexpr std::size_t kNamedUsers = 3;
constexpr char kGpu[] = "gpu";

bool IsOf(const std::string& text, const char* more, std::size_t longest) {
  return !text.empty() && text.size() <= longest &&
         std::all_of(text.begin(), text.end(), [&](char c) {
           return absl::ascii_isalnum(static_cast<unsigned char>(c)) ||
                  std::string(more).find(c) != std::string::npos;
         });
}

bool IsNumber(const std::string& text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
}

// True for a range like "0-7".
bool IsSpan(const std::string& text) {
  const auto dash = text.find('-');
  return dash != std::string::npos && IsNumber(text.substr(0, dash)) &&
         IsNumber(text.substr(dash + 1));
}

std::string Text(const std::string& name, const std::vector<std::string>& members,
                 std::uint64_t amount) {
  if (members.empty()) return absl::StrCat(name, "=", amount);
  const bool comma = members.size() == 1 && name != kGpu;
  return absl::StrCat(name, "=", absl::StrJoin(members, ","), comma ? "," : "");
}

absl::StatusOr<std::vector<std::string>> ParseMembers(const std::string& text,
                                                      const std::string& value) {
  std::vector<std::string> members = absl::StrSplit(value, ',');
  if (members.size() > 1 && members.back().empty()) members.pop_back();
  std::set<std::string> known;
  const auto bad = [&](const std::string& why) {
    return absl::InvalidArgumentError(
        absl::StrCat("resource \"", absl::CHexEscape(text), "\": ", why));
  };
  if (members.size() > kMaxMembers) return bad(absl::StrCat("more than ", kMaxMembers, " members"));
  for (const auto& member : members) {
    if (!IsOf(member, "_-.:/", kMaxMember) ||
        !absl::ascii_isalnum(static_cast<unsigned char>(member[0]))) {
      return bad("a member is not a word");
    }
    if (IsSpan(member)) return bad("members are named one by one: 0,1,2");
    if (!known.insert(member).second) return bad(absl::StrCat(member, " is there twice"));
  }
  return members;
}

}  // namespace

std::string Resource::ToString() const { return Text(name, members, amount); }

std::string Resources::Given::ToString() const { return Text(name, members, amount); }

absl::StatusOr<Resource> ParseResource(const std::string& text) {
  const auto equals = text.find('=');
  Resource resource;
  resource.name = text.substr(0, equals);
  if (equals == std::string::npos || !IsOf(resource.name, "_-", kMaxName)) {
    return absl::InvalidArgumentError(
        absl::StrCat("resource \"", absl::CHexEscape(text), "\": not NAME=AMOUNT or NAME=A,B,..."));
  }
  const std::string value = text.substr(equals + 1);
  if (value.find(',') == std::string::npos && resource.name != kGpu) {
    if (!IsNumber(value) || !absl::SimpleAtoi(value, &resource.amount) || resource.amount == 0 ||
        resource.amount > kMaxAmount) {
      return absl::InvalidArgumentError(absl::StrCat(
          "resource \"", absl::CHexEscape(text), "\": an amount is from 1 to ", kMaxAmount,
          " (and a set of one member has a comma: ", resource.name, "=a,)"));
    }
    return resource;
  }
  auto members = ParseMembers(text, value);
  if (!members.ok()) return members.status();
  resource.members = *std::move(members);
  resource.amount = static_cast<std::uint32_t>(resource.members.size());
  return resource;
}

std::vector<std::string> LocalResources(const std::string& devices,
                                        const std::optional<std::string>& visible) {
  constexpr std::string_view kDevice = "nvidia";
  std::set<int> gpus;
  std::error_code error;
  std::filesystem::directory_iterator entry(devices, error), end;
  for (; !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    int number = 0;
    if (name.starts_with(kDevice) && absl::SimpleAtoi(name.substr(kDevice.size()), &number)) {
      gpus.insert(number);
    }
  }
  if (gpus.empty()) return {};
  if (!visible) return {absl::StrCat("gpu=", absl::StrJoin(gpus, ","))};
  std::vector<std::string> given;
  for (const std::string& gpu : std::vector<std::string>(absl::StrSplit(*visible, ','))) {
    const bool is_one = IsOf(gpu, "_-.:/", kMaxMember) && gpu[0] != '-' && gpu != "NoDevFiles" &&
                        std::find(given.begin(), given.end(), gpu) == given.end();
    if (!is_one) break;
    given.push_back(gpu);
  }
  if (given.empty()) return {};
  return {absl::StrCat("gpu=", absl::StrJoin(given, ","))};
}

absl::StatusOr<std::vector<Resource>> ParseResources(const std::vector<std::string>& texts) {
  std::vector<Resource> resources;
  std::set<std::string> known;
  for (const auto& text : texts) {
    auto resource = ParseResource(text);
    if (!resource.ok()) return resource.status();
    if (!known.insert(resource->name).second) {
      return absl::InvalidArgumentError(
          absl::StrCat("resource ", resource->name, " is there twice"));
    }
    resources.push_back(*std::move(resource));
  }
  return resources;
}

std::uint64_t Resources::Pool::Used() const {
  std::uint64_t used = 0;
  for (const auto& [user, amount] : users) used += amount;
  return used;
}

std::uint64_t Resources::Pool::Free() const {
  if (what.is_set()) {
    return static_cast<std::uint64_t>(
        std::count_if(what.members.begin(), what.members.end(),
                      [&](const std::string& member) { return !user_of.contains(member); }));
  }
  const std::uint64_t used = Used();
  return used < what.amount ? what.amount - used : 0;
}

void Resources::Pool::Take(const std::string& user, std::vector<std::string>* members,
                           std::uint64_t count) {
  if (count == 0) return;
  users[user] += count;
  if (!what.is_set()) {
    for (; count > 0 && !claimed.empty(); --count) {
      slots[user].push_back(claimed.front());
      claimed.pop_front();
    }
    return;
  }
  const auto take = [&](const std::string& member) {
    if (count == 0 || !user_of.emplace(member, user).second) return;
    members->push_back(member);
    --count;
  };
  if (claimed.empty()) {
    for (const auto& member : what.members) take(member);
  } else {
    for (const auto& member : claimed) take(member);
  }
}

std::vector<std::string> Resources::Pool::Candidates() const {
  std::vector<std::string> free;
  if (what.is_set()) {
    std::copy_if(what.members.begin(), what.members.end(), std::back_inserter(free),
                 [&](const std::string& member) { return !user_of.contains(member); });
    return free;
  }
  std::set<std::string> taken;
  for (const auto& [user, some] : slots) taken.insert(some.begin(), some.end());
  for (std::uint32_t i = 0; i < std::min(what.amount, kMaxSharedAmount); ++i) {
    std::string slot = absl::StrCat(i);
    if (!taken.contains(slot)) free.push_back(std::move(slot));
  }
  return free;
}

Resources::Resources(std::vector<Resource> there_is, Claims* claims) : claims_(claims) {
  for (auto& resource : there_is) {
    const std::string name = resource.name;
    pools_[name].what = std::move(resource);
  }
}

std::string Resources::ThereIs() const {
  if (pools_.empty()) return "there are no resources";
  std::vector<std::string> texts;
  for (const auto& [name, pool] : pools_) texts.push_back(pool.what.ToString());
  return absl::StrCat("there is ", absl::StrJoin(texts, ", "));
}

absl::Status Resources::Check(const std::vector<TaskWishes>& tasks, bool share_sets) const {
  std::map<std::string, std::uint64_t> needs;
  for (const auto& task : tasks) {
    for (const Wish& wish : task.wishes) {
      const auto pool = pools_.find(wish.name);
      if (pool == pools_.end() || wish.amount > pool->second.what.amount) {
        return absl::FailedPreconditionError(absl::StrCat(task.task, " asks for ", wish.name, "=",
                                                          wish.amount, ", but ", ThereIs()));
      }
      auto& need = needs[wish.name];
      need = pool->second.what.is_set() && share_sets ? std::max<std::uint64_t>(need, wish.amount)
                                                      : need + wish.amount;
    }
  }
  for (const auto& [name, need] : needs) {
    if (need > pools_.at(name).what.amount) {
      return absl::FailedPreconditionError(absl::StrCat("the tasks of the job ask for ", name, "=",
                                                        need, " together, but ", ThereIs()));
    }
  }
  return absl::OkStatus();
}

void Resources::Request(const std::string& job, std::vector<TaskWishes> tasks, bool share_sets) {
  queue_.push_back({job, std::move(tasks), share_sets});
}

std::map<std::string, std::uint64_t> Resources::Needs(const Unit& unit) const {
  std::map<std::string, std::uint64_t> needs;
  for (const auto& task : unit.tasks) {
    for (const Wish& wish : task.wishes) {
      auto& need = needs[wish.name];
      const auto pool = pools_.find(wish.name);
      const bool shares = unit.share_sets && pool != pools_.end() && pool->second.what.is_set();
      need = shares ? std::max<std::uint64_t>(need, wish.amount) : need + wish.amount;
    }
  }
  for (auto& [name, need] : needs) {
    const auto shared = shared_.find({unit.job, name});
    if (!unit.share_sets || shared == shared_.end()) continue;
    need -= std::min<std::uint64_t>(need, shared->second.members.size());
  }
  std::erase_if(needs, [](const auto& need) { return need.second == 0; });
  return needs;
}

bool Resources::Fits(const std::map<std::string, std::uint64_t>& needs) const {
  return std::all_of(needs.begin(), needs.end(), [&](const auto& need) {
    const auto pool = pools_.find(need.first);
    return pool != pools_.end() && need.second <= pool->second.Free();
  });
}

bool Resources::IsShared(const std::string& resource) const {
  return claims_ != nullptr && claims_->IsShared(resource);
}

// Claims everything that the job needs of shared resources, or nothing.
bool Resources::ClaimAll(const std::string& job,
                         const std::map<std::string, std::uint64_t>& needs) {
  bool has_all = true;
  for (const auto& [name, need] : needs) {
    if (!IsShared(name)) continue;
    Pool& pool = pools_.at(name);
    for (const std::string& member : pool.Candidates()) {
      if (pool.claimed.size() == need) break;
      if (claims_->Claim(name, member, job)) {
        pool.claimed.push_back(member);
      } else {
        pool.elsewhere.push_back(claims_->WhyNot(name, member));
      }
    }
    has_all &= pool.claimed.size() == need;
  }
  if (has_all) return true;
  for (const auto& [name, need] : needs) {
    Pool& pool = pools_.at(name);
    for (const std::string& member : pool.claimed) claims_->Release(name, member);
    pool.claimed.clear();
  }
  return false;
}

std::vector<std::string> Resources::WaitsForOthers() const {
  std::vector<std::string> all;
  for (const auto& [name, pool] : pools_) {
    all.insert(all.end(), pool.elsewhere.begin(), pool.elsewhere.end());
  }
  return all;
}

std::vector<Resources::Grant> Resources::GrantNext() {
  for (auto& [name, pool] : pools_) pool.elsewhere.clear();
  std::vector<Grant> grants;
  std::set<std::string> waited_for;
  for (auto unit = queue_.begin(); unit != queue_.end();) {
    // (A request of an earlier launcher may exceed the resources that exist now. No request waits
    // behind one that can never be granted.)
    if (!Check(unit->tasks, unit->share_sets).ok()) {
      ++unit;
      continue;
    }
    const auto needs = Needs(*unit);
    const bool is_behind = std::any_of(needs.begin(), needs.end(), [&](const auto& need) {
      return waited_for.contains(need.first);
    });
    if (is_behind || !Fits(needs) || !ClaimAll(unit->job, needs)) {
      for (const auto& [name, need] : needs) waited_for.insert(name);
      ++unit;
      continue;
    }
    for (const auto& task : unit->tasks) grants.push_back(Give(*unit, task));
    for (const auto& [name, need] : needs) {
      pools_.at(name).claimed.clear();
      pools_.at(name).elsewhere.clear();  // The unit has claimed other members instead.
    }
    unit = queue_.erase(unit);
  }
  return grants;
}

Resources::Grant Resources::Give(const Unit& unit, const TaskWishes& task) {
  Grant grant{unit.job, task.task, {}};
  for (const Wish& wish : task.wishes) grant.given.push_back(GiveOne(unit, task.task, wish));
  auto& held = held_[{unit.job, task.task}];
  held.insert(held.end(), grant.given.begin(), grant.given.end());
  return grant;
}

Resources::Given Resources::GiveOne(const Unit& unit, const std::string& task, const Wish& wish) {
  Given given{wish.name, wish.amount, {}};
  Pool& pool = pools_.at(wish.name);
  if (!pool.what.is_set() || !unit.share_sets) {
    pool.Take(absl::StrCat(unit.job, "/", task), &given.members, wish.amount);
    return given;
  }
  Shared& shared = shared_[{unit.job, wish.name}];
  shared.tasks.insert(task);
  const auto has = shared.members.size();
  if (has < wish.amount) pool.Take(unit.job, &shared.members, wish.amount - has);
  given.members.assign(shared.members.begin(),
                       shared.members.begin() + static_cast<std::ptrdiff_t>(wish.amount));
  return given;
}

const std::vector<Resources::Given>* Resources::Held(const std::string& job,
                                                     const std::string& task) const {
  const auto held = held_.find({job, task});
  return held == held_.end() ? nullptr : &held->second;
}

std::vector<std::pair<std::string, std::string>> Resources::Claimed(const std::string& job,
                                                                    const std::string& task) const {
  std::vector<std::pair<std::string, std::string>> claimed;
  const auto* const held = Held(job, task);
  if (held == nullptr) return claimed;
  for (const Given& given : *held) {
    const auto pool = pools_.find(given.name);
    if (pool == pools_.end() || !IsShared(given.name)) continue;
    for (const auto& member : given.members) claimed.emplace_back(given.name, member);
    const auto slots = pool->second.slots.find(absl::StrCat(job, "/", task));
    if (slots == pool->second.slots.end()) continue;
    for (const auto& slot : slots->second) claimed.emplace_back(given.name, slot);
  }
  return claimed;
}

void Resources::Release(const std::string& job, const std::string& task) {
  for (auto& unit : queue_) {
    if (unit.job != job) continue;
    std::erase_if(unit.tasks, [&](const auto& wishes) { return wishes.task == task; });
  }
  std::erase_if(queue_, [](const Unit& unit) { return unit.tasks.empty(); });
  const auto held = held_.find({job, task});
  if (held == held_.end()) return;
  for (const Given& given : held->second) TakeBack(job, task, given);
  held_.erase(held);
}

void Resources::TakeBack(const std::string& job, const std::string& task, const Given& given) {
  const auto pool = pools_.find(given.name);
  if (pool == pools_.end()) return;
  std::string user = absl::StrCat(job, "/", task);
  std::vector<std::string> members = given.members;
  std::uint64_t amount = given.amount;
  if (const auto shared = shared_.find({job, given.name});
      shared != shared_.end() && shared->second.tasks.erase(task) > 0) {
    if (!shared->second.tasks.empty()) return;
    user = job;
    members = shared->second.members;
    amount = members.size();
    shared_.erase(shared);
  }
  for (const auto& member : members) {
    const auto found = pool->second.user_of.find(member);
    if (found != pool->second.user_of.end() && found->second == user) {
      pool->second.user_of.erase(found);
      if (IsShared(given.name)) claims_->Release(given.name, member);
    }
  }
  if (const auto slots = pool->second.slots.extract(user); !slots.empty()) {
    for (const auto& slot : slots.mapped()) claims_->Release(given.name, slot);
  }
  const auto used = pool->second.users.find(user);
  if (used == pool->second.users.end()) return;
  used->second -= std::min(used->second, amount);
  if (used->second == 0) pool->second.users.erase(used);
}

void Resources::Restore(const std::string& job, const std::string& task,
                        const std::vector<std::string>& given, bool share_sets) {
  auto& held = held_[{job, task}];
  for (const auto& text : given) {
    const auto parsed = ParseResource(text);
    if (!parsed.ok() || !pools_.contains(parsed->name)) continue;
    Pool& pool = pools_.at(parsed->name);
    if (pool.what.is_set() != parsed->is_set()) continue;
    held.push_back({parsed->name, parsed->amount, parsed->members});
    std::string user = absl::StrCat(job, "/", task);
    std::uint64_t more = parsed->amount;
    if (pool.what.is_set() && share_sets) {
      user = job;
      Shared& shared = shared_[{job, parsed->name}];
      shared.tasks.insert(task);
      more = 0;
      for (const auto& member : parsed->members) {
        if (std::find(shared.members.begin(), shared.members.end(), member) !=
            shared.members.end()) {
          continue;
        }
        shared.members.push_back(member);
        ++more;
      }
    }
    if (more != 0) pool.users[user] += more;
    for (const auto& member : parsed->members) pool.user_of.emplace(member, user);
    if (IsShared(parsed->name)) Reclaim(job, user, *parsed);
  }
}

// Claims the members of a re-adopted task again. For an amount, only the notes in the lock files
// tell which slots the task holds.
void Resources::Reclaim(const std::string& job, const std::string& user, const Resource& given) {
  for (const auto& member : given.members) {
    claims_->Reclaim(given.name, member, job, /*only_if_noted=*/false);
  }
  if (given.is_set()) return;
  Pool& pool = pools_.at(given.name);
  for (const std::string& slot : pool.Candidates()) {
    if (pool.slots[user].size() == given.amount) break;
    if (claims_->Reclaim(given.name, slot, job, /*only_if_noted=*/true)) {
      pool.slots[user].push_back(slot);
    }
  }
  // Slots whose notes are lost are assumed; the next attempt claims them, or reports who holds
  // them.
  for (const std::string& slot : pool.Candidates()) {
    if (pool.slots[user].size() == given.amount) break;
    pool.slots[user].push_back(slot);
  }
}

std::string Resources::Users(const Pool& pool) const {
  std::vector<std::string> names;
  for (const auto& [user, amount] : pool.users) {
    if (names.size() < kNamedUsers) names.push_back(user);
  }
  std::string text = absl::StrJoin(names, ", ");
  if (pool.users.size() > names.size()) {
    absl::StrAppend(&text, " and ", pool.users.size() - names.size(), " more");
  }
  return text;
}

std::string Resources::WhyWaiting(const std::string& job) const {
  const auto unit = std::find_if(queue_.begin(), queue_.end(),
                                 [&](const Unit& other) { return other.job == job; });
  if (unit == queue_.end()) return "";
  if (const absl::Status can = Check(unit->tasks, unit->share_sets); !can.ok()) {
    return absl::StrCat("cannot start: ", can.message());
  }
  const auto needs = Needs(*unit);
  for (const auto& [name, need] : needs) {
    const auto pool = pools_.find(name);
    if (pool == pools_.end() || need <= pool->second.Free()) continue;
    const std::uint64_t used = pool->second.Used();
    return absl::StrCat("waits for ", need == 1 ? "" : absl::StrCat(need, " "), name, ": ", used,
                        " of ", pool->second.what.amount, used == 1 ? " is" : " are", " used by ",
                        Users(pool->second));
  }
  for (auto before = queue_.begin(); before != unit; ++before) {
    for (const auto& [name, need] : Needs(*before)) {
      if (needs.contains(name)) return absl::StrCat("waits for ", name, " behind ", before->job);
    }
  }
  for (const auto& [name, need] : needs) {
    const auto pool = pools_.find(name);
    if (pool == pools_.end() || pool->second.elsewhere.empty()) continue;
    const auto& all = pool->second.elsewhere;
    const std::size_t named = std::min(all.size(), kNamedUsers);
    return absl::StrCat(
        "waits for ", need == 1 ? "" : absl::StrCat(need, " "), name, ": ",
        absl::StrJoin(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(named), "; "),
        all.size() > named ? absl::StrCat("; and ", all.size() - named, " more") : "");
  }
  return "";
}

std::vector<std::string> Resources::Waiting(std::size_t count) const {
  std::vector<std::string> jobs;
  for (const Unit& unit : queue_) {
    if (jobs.size() == count) break;
    jobs.push_back(unit.job);
  }
  return jobs;
}

}  // namespace launcher
