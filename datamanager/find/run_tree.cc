#include "datamanager/find/run_tree.h"

#include <algorithm>
#include <atomic>
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "datamanager/find/file_kind.h"
#include "datamanager/find/profiler_directory.h"
#include "datamanager/find/run_summary.h"
#include "runtime/text/string_view.h"
#include "runtime/text/utf8.h"
#include "runtime/thread.h"

// Always true between calls:
// - Node::children and Node::links are the entries of the directory when it was last listed; a node
//   with `known` false has none.
// - A node that does not count (its directory counts by another path, or was removed) is not known.
// - runs_[i] is the reported state of nodes_[i]->run. No other node has a run.
//
// A scan visits the tree level by level: first all directories that are reached without a link,
// then all behind one link, and so on. On each level, threads first stat all directories, then one
// thread decides which of them count (so that the result never depends on the threads), then
// threads list directories and stat files. A thread touches only the node that it was given and the
// nodes of its links.

namespace datamanager {

using runtime::Absl;

namespace {

// Starting a thread costs as much as examining some directories.
constexpr std::size_t kDirectoriesAThread = 16;
constexpr std::size_t kDirectoriesAtATime = 8;

std::string WithoutSlashes(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

std::string Join(const std::string& directory, std::string_view name) {
  if (directory.empty()) return std::string(name);
  return directory.back() == '/' ? absl::StrCat(directory, Absl(name))
                                 : absl::StrCat(directory, "/", Absl(name));
}

std::string NameOf(const std::string& path) {
  return path.empty() ? "." : runtime::LossyUtf8(path);
}

bool AnyMatches(const std::vector<NamePattern>& patterns, std::string_view name) {
  return std::any_of(patterns.begin(), patterns.end(),
                     [name](const NamePattern& pattern) { return pattern.Matches(name); });
}

enum class Outcome { kSame, kChanged, kGone, kFailed };

void SortNewestFirst(RunTree::Delta* delta) {
  const auto newer = [](const ListedRunPtr& a, const ListedRunPtr& b) { return IsNewer(*a, *b); };
  std::sort(delta->added.begin(), delta->added.end(), newer);
  std::sort(delta->recreated.begin(), delta->recreated.end(), newer);
  std::sort(
      delta->changed.begin(), delta->changed.end(),
      [](const RunTree::Changed& a, const RunTree::Changed& b) { return IsNewer(*a.run, *b.run); });
}

}  // namespace

// A directory, or the target of a link to one.
struct RunTree::Node {
  enum class Seen : std::uint8_t { kNotYet, kThere, kGone, kFailed };

  struct Link {
    std::string name;
    bool excluded = false;
    std::unique_ptr<Node> node;      // Set if it leads to a directory.
    std::optional<ListedFile> file;  // Set if it leads to a classified file.
  };

  Node(const Node* parent, std::string path) : parent(parent), path(std::move(path)) {}

  std::string_view Name() const {
    return std::string_view(path).substr(path.find_last_of('/') + 1);  // npos + 1 is 0.
  }
  void Forget() {
    known = false;
    state = FileStat();
    children.clear();
    links.clear();
    files.clear();
    profile.reset();
    run.reset();
  }

  const Node* const parent;  // Null for the root.
  const std::string path;    // Relative to the root; empty for the root.

  bool known = false;
  FileStat state;                               // State before the directory was listed.
  bool settled = false;                         // Any later change will change its times.
  std::vector<std::unique_ptr<Node>> children;  // Sorted by name, like the next two.
  std::vector<Link> links;
  std::vector<ListedFile> files;
  std::optional<ProfilerType> profile;
  ListedRunPtr run;

  // State of the running scan.
  Seen seen = Seen::kNotYet;
  FileStat now;
  absl::Status why;      // Why a part of it is unreadable.
  bool touched = false;  // Something about it has changed.
};

class RunTree::Scan {
 public:
  Scan(RunTree* tree, Scope scope)
      : tree_(tree),
        options_(tree->options_),
        scope_(scope),
        now_ns_(absl::ToUnixNanos(tree->options_.clock->Now())) {}

  Delta Run() {
    Walk();
    Delta delta;
    CollectUnreadable();
    if (!std::any_of(live_.begin(), live_.end(), [](Node* node) { return node->touched; }) &&
        !dropped_) {
      return delta;
    }
    CollectDirectories(&delta);
    CollectRuns(&delta);
    return delta;
  }

  // Examines the files of a directory that was listed before, as far as they still exist.
  bool StatKnownFiles(Node& node) {
    bool changed = false;
    for (ListedFile& file : node.files) {
      changed |= StatFile(node, &file) == Outcome::kChanged;
    }
    for (Node::Link& link : node.links) {
      if (!link.file.has_value()) continue;
      changed |= StatFile(node, &*link.file) == Outcome::kChanged;
    }
    return changed;
  }

  // Makes the run of a directory; returns null if the directory is not a run.
  static ListedRunPtr Describe(const Node& node, std::string name, std::string directory,
                               std::optional<ListedProfile> profile) {
    ListedRun run;
    for (const ListedFile& file : node.files) run.files.push_back(file);
    for (const Node::Link& link : node.links) {
      if (link.file.has_value()) run.files.push_back(*link.file);
    }
    const bool is_run = profile.has_value() ||
                        std::any_of(run.files.begin(), run.files.end(),
                                    [](const ListedFile& file) { return MakesARun(file.kind); });
    if (!is_run) return nullptr;
    std::sort(run.files.begin(), run.files.end(),
              [](const ListedFile& a, const ListedFile& b) { return a.name < b.name; });
    run.name = std::move(name);
    run.directory = std::move(directory);
    run.identity = node.state.identity;
    run.directory_modified_ns = node.state.modified_ns;
    run.directory_changed_ns = node.state.changed_ns;
    run.profile = std::move(profile);
    SummariseFiles(&run);
    if (node.run != nullptr && *node.run == run) return node.run;
    return std::make_shared<const ListedRun>(std::move(run));
  }

 private:
  std::string FullPath(const Node& node) const {
    return node.path.empty() ? options_.root : Join(options_.root, node.path);
  }

  void Walk() {
    const auto below = options_.source->Below(options_.root);
    if (below != nullptr) source_ = below.get();
    Node* const root = tree_->root_.get();
    Begin(*root);
    std::vector<Node*> level = {root};
    std::vector<Node*> behind_links;
    while (!level.empty()) {
      ForEach(level, [this](Node& node) {
        if (node.seen == Node::Seen::kNotYet) StatDirectory(node);
      });
      level.erase(
          std::remove_if(level.begin(), level.end(), [this](Node* node) { return !Claim(*node); }),
          level.end());
      ForEach(level, [this](Node& node) { ListAndStat(node); });
      live_.insert(live_.end(), level.begin(), level.end());
      level = Below(level, &behind_links);
      if (level.empty()) {
        level.swap(behind_links);
        std::sort(level.begin(), level.end(),
                  [](const Node* a, const Node* b) { return a->path < b->path; });
      }
    }
    source_ = options_.source;
  }

  static void Begin(Node& node) {
    node.seen = Node::Seen::kNotYet;
    node.why = absl::OkStatus();
    node.touched = false;
  }

  // Returns the next level, in order; targets of links are for a later round.
  static std::vector<Node*> Below(const std::vector<Node*>& level,
                                  std::vector<Node*>* behind_links) {
    std::vector<Node*> below;
    for (Node* node : level) {
      for (const auto& child : node->children) {
        Begin(*child);
        below.push_back(child.get());
      }
      for (const Node::Link& link : node->links) {
        if (link.node != nullptr) behind_links->push_back(link.node.get());
      }
    }
    return below;
  }

  void ForEach(const std::vector<Node*>& nodes, const std::function<void(Node&)>& work) const {
    std::atomic<std::size_t> next = 0;
    const auto share = [&] {
      while (true) {
        const std::size_t begin = next.fetch_add(kDirectoriesAtATime);
        if (begin >= nodes.size()) return;
        const std::size_t end = std::min(begin + kDirectoriesAtATime, nodes.size());
        for (std::size_t i = begin; i < end; ++i) work(*nodes[i]);
      }
    };
    const auto threads = static_cast<std::size_t>(std::clamp(options_.threads, 1, kMaxThreads));
    std::vector<std::unique_ptr<runtime::Thread>> helpers;
    while (helpers.size() + 1 < std::min(threads, nodes.size() / kDirectoriesAThread)) {
      helpers.push_back(std::make_unique<runtime::Thread>("scan", share));
    }
    share();
    for (const auto& helper : helpers) helper->Join();
  }

  void See(const absl::StatusOr<FileStat>& state, Node& node) const {
    if (state.ok() && state->type == FileStat::Type::kDirectory) {
      node.seen = Node::Seen::kThere;
      node.now = *state;
    } else if (state.ok() || absl::IsNotFound(state.status())) {
      node.seen = Node::Seen::kGone;
    } else {
      node.seen = Node::Seen::kFailed;
      node.why = state.status();
    }
  }

  void StatDirectory(Node& node) {
    const auto state = source_->Stat(FullPath(node));
    See(state, node);
    if (node.parent != nullptr) return;
    root_failed_ = node.seen == Node::Seen::kFailed;
    if (node.seen == Node::Seen::kGone) {
      node.why = state.ok()
                     ? absl::NotFoundError(absl::StrCat("cannot look for runs in ", options_.root,
                                                        ": it is no directory"))
                     : state.status();
    }
  }

  // Decides whether the directory counts by this path. Called by one thread.
  bool Claim(Node& node) {
    if (!node.why.ok()) unreadable_.push_back(&node);
    bool counts = node.seen != Node::Seen::kGone;
    if (node.seen == Node::Seen::kFailed) {
      counts = node.known;
      node.now = node.state;
    }
    counts = counts && claimed_.insert({node.now.identity.device, node.now.identity.inode}).second;
    if (!counts && node.known) {
      node.Forget();
      dropped_ = true;
    }
    return counts;
  }

  void ListAndStat(Node& node) {
    if (options_.looked_into != nullptr) ++*options_.looked_into;
    const bool failed = node.seen == Node::Seen::kFailed;
    if (node.known && node.state.identity != node.now.identity) {
      node.Forget();
      node.touched = true;
    }
    const bool as_before = node.known && node.settled &&
                           node.state.modified_ns == node.now.modified_ns &&
                           node.state.changed_ns == node.now.changed_ns;
    const bool listed = !failed && !as_before && List(node);
    if (node.parent == nullptr) root_failed_ = failed || (!as_before && !listed);
    if (listed || (scope_ == Scope::kAll && !failed)) StatFiles(node);
    // Makes the next scan retry an unreadable directory; links are examined each time anyway.
    if (!node.why.ok()) node.settled = false;
    StatLinks(node);
  }

  bool IsExcluded(const Node& directory, const std::string& name) const {
    return !options_.exclude.empty() &&
           AnyMatches(options_.exclude, runtime::LossyUtf8(Join(directory.path, name)));
  }

  // Returns false on failure; the known entries then stay.
  bool List(Node& node) {
    std::vector<std::string> directories, links, files;
    std::optional<ProfilerType> profile;
    const std::string path = FullPath(node);
    const bool may_be_profile = MayBeProfilerDirectory(node.Name());
    const bool is_session = IsProfilerSession(path);
    node.why =
        options_.source->List(path, [&](std::string_view entry, DirectorySource::Entry type) {
          if (IsHidden(entry)) return;
          std::string name(entry);
          if (type == DirectorySource::Entry::kDirectory) {
            directories.push_back(std::move(name));
            return;
          }
          if (is_session) {
            profile = ProfilerType::kTensorBoard;
            return;
          }
          if (may_be_profile) {
            const auto found = FindProfiler({&name, 1});
            if (found.has_value() && (!profile.has_value() || *found < *profile)) profile = found;
          }
          if (type == DirectorySource::Entry::kLink) {
            links.push_back(std::move(name));
          } else if (type == DirectorySource::Entry::kRegular &&
                     ParseFileName(name).kind != FileKind::kNone) {
            files.push_back(std::move(name));
          }
        });
    if (!node.why.ok()) return false;
    LeaveOutCopies(&files);
    MergeChildren(std::move(directories), node);
    MergeLinks(std::move(links), node);
    MergeFiles(std::move(files), node);
    node.profile = profile;
    node.touched = true;
    node.known = true;
    node.state = node.now;
    // Every change of the directory updates this time, and nobody can set it.
    node.settled = node.now.changed_ns <= now_ns_ - kSettledNs;
    return true;
  }

  // Removes files that are written beside the file that they will replace, since they have the same
  // points.
  static void LeaveOutCopies(std::vector<std::string>* files) {
    std::set<std::string, std::less<>> copies;
    for (const std::string& name : *files) {
      if (!NameBesideWhichItIsACopy(name).empty()) copies.insert(name);
    }
    if (copies.empty()) return;
    const std::set<std::string, std::less<>> all(files->begin(), files->end());
    std::erase_if(*files, [&](const std::string& name) {
      return copies.contains(name) && all.contains(NameBesideWhichItIsACopy(name));
    });
  }

  // `kept` must be sorted by name. Keeps elements whose names are in `names`, removes the others,
  // and adds missing ones with `make`, which may return null.
  template <typename T, typename NameOfT, typename Make>
  static std::vector<T> Merge(std::vector<std::string> names, std::vector<T> kept, NameOfT name_of,
                              Make make) {
    std::sort(names.begin(), names.end());
    // An entry that is renamed during a listing may appear twice.
    names.erase(std::unique(names.begin(), names.end()), names.end());
    std::vector<T> merged;
    auto old = kept.begin();
    for (std::string& name : names) {
      while (old != kept.end() && name_of(*old) < name) ++old;
      if (old != kept.end() && name_of(*old) == name) {
        merged.push_back(std::move(*old++));
      } else if (auto made = make(std::move(name)); made.has_value()) {
        merged.push_back(*std::move(made));
      }
    }
    return merged;
  }

  void MergeChildren(std::vector<std::string> names, Node& node) const {
    node.children = Merge(
        std::move(names), std::move(node.children),
        [](const std::unique_ptr<Node>& child) { return child->Name(); },
        [&](const std::string& name) -> std::optional<std::unique_ptr<Node>> {
          if (IsExcluded(node, name)) return std::nullopt;
          return std::make_unique<Node>(&node, Join(node.path, name));
        });
  }

  void MergeLinks(std::vector<std::string> names, Node& node) const {
    node.links = Merge(
        std::move(names), std::move(node.links),
        [](const Node::Link& link) { return std::string_view(link.name); },
        [&](std::string name) -> std::optional<Node::Link> {
          const bool excluded = IsExcluded(node, name);
          return Node::Link{std::move(name), excluded, nullptr, std::nullopt};
        });
  }

  static void MergeFiles(std::vector<std::string> names, Node& node) {
    node.files = Merge(
        std::move(names), std::move(node.files),
        [](const ListedFile& file) { return std::string_view(file.name); },
        [](std::string name) -> std::optional<ListedFile> {
          ListedFile file;
          file.name = std::move(name);
          return file;
        });
  }

  static Outcome TakeState(const absl::StatusOr<FileStat>& state, ListedFile* file) {
    if (!state.ok()) {
      return absl::IsNotFound(state.status()) ? Outcome::kGone : Outcome::kFailed;
    }
    if (state->type != FileStat::Type::kRegular) return Outcome::kGone;
    return TakeFileStat(*state, file) ? Outcome::kChanged : Outcome::kSame;
  }

  Outcome StatFile(const Node& node, ListedFile* file) const {
    return TakeState(source_->Stat(Join(FullPath(node), file->name)), file);
  }

  void StatFiles(Node& node) {
    if (node.files.empty()) return;
    std::string path = Join(FullPath(node), "");
    const std::size_t length = path.size();
    for (auto file = node.files.begin(); file != node.files.end();) {
      path.resize(length);
      path += file->name;
      const auto state = source_->Stat(path);
      const Outcome outcome = TakeState(state, &*file);
      if (outcome == Outcome::kFailed) node.why = state.status();
      // A file that could never be examined has no kind yet and is dropped.
      const bool gone = outcome == Outcome::kGone || file->kind == FileKind::kNone;
      node.touched |= gone || outcome == Outcome::kChanged;
      file = gone ? node.files.erase(file) : std::next(file);
    }
  }

  void StatLinks(Node& node) {
    if (node.links.empty()) return;
    const std::string directory = FullPath(node);
    for (Node::Link& link : node.links) {
      const auto state = source_->Stat(Join(directory, link.name));
      if (!state.ok() && !absl::IsNotFound(state.status())) {
        if (link.node == nullptr) {
          node.why = state.status();
        } else {
          Begin(*link.node);
          See(state, *link.node);
        }
        continue;
      }
      TakeLinkedDirectory(state, node, link);
      TakeLinkedFile(state, node, link);
    }
  }

  void TakeLinkedDirectory(const absl::StatusOr<FileStat>& state, Node& node,
                           Node::Link& link) const {
    const bool leads = state.ok() && state->type == FileStat::Type::kDirectory && !link.excluded;
    if (leads && link.node == nullptr) {
      link.node = std::make_unique<Node>(&node, Join(node.path, link.name));
    } else if (!leads && link.node != nullptr) {
      link.node.reset();
      node.touched = true;
    }
    if (!leads) return;
    Begin(*link.node);
    See(state, *link.node);
  }

  void TakeLinkedFile(const absl::StatusOr<FileStat>& state, Node& node, Node::Link& link) const {
    if (ParseFileName(link.name).kind == FileKind::kNone) return;
    ListedFile file = link.file.has_value() ? *link.file : ListedFile();
    file.name = link.name;
    const Outcome outcome = TakeState(state, &file);
    if (outcome == Outcome::kGone) {
      node.touched |= link.file.has_value();
      link.file.reset();
    } else if (outcome == Outcome::kChanged) {
      link.file = std::move(file);
      node.touched = true;
    }
  }

  void CollectUnreadable() {
    for (Node* node : live_) {
      if (!node->why.ok() && node->seen == Node::Seen::kThere) unreadable_.push_back(node);
    }
    Unreadable result;
    result.count = unreadable_.size();
    result.root = root_failed_;
    for (const Node* node : unreadable_) {
      if (result.reasons.size() == kMaxUnreadable) break;
      result.reasons.push_back(node->why);
    }
    tree_->unreadable_ = std::move(result);
  }

  void CollectDirectories(Delta* delta) {
    std::vector<Directory> directories;
    directories.reserve(live_.size());
    for (const Node* node : live_) {
      if (node->known) directories.push_back({FullPath(*node), node->state.identity});
    }
    delta->directories = directories != tree_->directories_;
    tree_->directories_ = std::move(directories);
  }

  // Returns the run of a profile; null if the directory is not a profile, or its run would be above
  // the root.
  static const Node* RunOfProfile(const Node& node) {
    if (!node.profile.has_value()) return nullptr;
    // The run is the ancestor in "RUN/plugins/profile/NAME" or "RUN/NAME".
    int levels = *node.profile == ProfilerType::kTensorBoard ? 3 : 1;
    const Node* run = &node;
    for (; run != nullptr && levels > 0; --levels) run = run->parent;
    return run;
  }

  // Returns the profile to show for each directory that has one.
  std::map<const Node*, ListedProfile> Profiles() const {
    std::map<const Node*, ListedProfile> profiles;
    for (const Node* node : live_) {
      const Node* const run = RunOfProfile(*node);
      if (run == nullptr) continue;
      ListedProfile profile{.directory = FullPath(*node),
                            .type = *node->profile,
                            .create_us = CreatedUs(node->state),
                            .update_us = node->state.modified_ns / 1000};
      const auto [place, fresh] = profiles.try_emplace(run, profile);
      if (!fresh && std::make_pair(profile.update_us, profile.directory) >
                        std::make_pair(place->second.update_us, place->second.directory)) {
        place->second = std::move(profile);
      }
    }
    return profiles;
  }

  // Returns everything that may be a run, by name.
  std::map<std::string, Node*> Named(const std::map<const Node*, ListedProfile>& profiles) const {
    std::vector<Node*> candidates;
    for (Node* node : live_) {
      const bool holds_files = !node->files.empty() || !node->links.empty();
      if (holds_files || profiles.count(node) != 0) {
        candidates.push_back(node);
      } else {
        node->run.reset();
      }
    }
    std::sort(candidates.begin(), candidates.end(),
              [](const Node* a, const Node* b) { return a->path < b->path; });
    std::map<std::string, Node*> named;
    std::vector<std::pair<std::string, Node*>> lossy;
    for (Node* node : candidates) {
      std::string name = NameOf(node->path);
      if (node->path.empty() || name == node->path) {
        named.emplace(std::move(name), node);
      } else {
        lossy.emplace_back(std::move(name), node);
      }
    }
    std::map<std::string, int> copies;
    for (auto& [name, node] : lossy) {
      std::string unique = name;
      int& copy = copies.try_emplace(name, 1).first->second;
      while (!named.emplace(unique, node).second) unique = absl::StrCat(name, "~", ++copy);
    }
    return named;
  }

  void CollectRuns(Delta* delta) {
    const auto profiles = Profiles();
    std::vector<ListedRunPtr> runs;
    std::vector<Node*> nodes;
    std::vector<std::string> linked;
    for (const auto& [name, node] : Named(profiles)) {
      const auto profile = profiles.find(node);
      ListedRunPtr run;
      if (options_.include.empty() || AnyMatches(options_.include, name)) {
        run = Describe(*node, name, FullPath(*node),
                       profile == profiles.end() ? std::nullopt : std::optional(profile->second));
      }
      node->run = run;
      if (run == nullptr) continue;
      runs.push_back(std::move(run));
      nodes.push_back(node);
      const bool has_link =
          std::any_of(node->links.begin(), node->links.end(),
                      [](const Node::Link& link) { return link.file.has_value(); });
      if (has_link) linked.push_back(name);
    }
    Compare(tree_->runs_, runs, delta);
    tree_->linked_runs_ = std::move(linked);
    tree_->runs_ = std::move(runs);
    tree_->nodes_ = std::move(nodes);
  }

  static void Compare(std::span<const ListedRunPtr> before, std::span<const ListedRunPtr> now,
                      Delta* delta) {
    auto old = before.begin();
    auto run = now.begin();
    while (old != before.end() || run != now.end()) {
      if (run == now.end() || (old != before.end() && (*old)->name < (*run)->name)) {
        delta->removed.push_back((*old++)->name);
      } else if (old == before.end() || (*run)->name < (*old)->name) {
        delta->added.push_back(*run++);
      } else {
        if ((*old)->identity != (*run)->identity) {
          delta->recreated.push_back(*run);
        } else if (**old != **run) {
          delta->changed.push_back({*run, ChangedFiles(**old, **run)});
        }
        ++old;
        ++run;
      }
    }
    SortNewestFirst(delta);
  }

  RunTree* const tree_;
  const Options& options_;
  const Scope scope_;
  DirectorySource* source_ = options_.source;  // Not owned.
  const std::int64_t now_ns_;
  std::set<std::pair<std::uint64_t, std::uint64_t>> claimed_;  // Device and inode.
  std::vector<Node*> live_;                                    // Nodes that count.
  std::vector<const Node*> unreadable_;
  bool root_failed_ = false;  // The root could not be examined or listed.
  bool dropped_ = false;      // A node that counted before no longer does.
};

RunTree::RunTree(Options options)
    : options_([&] {
        options.root = WithoutSlashes(std::move(options.root));
        return std::move(options);
      }()),
      root_(std::make_unique<Node>(nullptr, "")) {}

RunTree::~RunTree() = default;

RunTree::Delta RunTree::Rescan(Scope scope) { return Scan(this, scope).Run(); }

RunTree::Delta RunTree::RescanRuns(std::span<const std::string> runs) {
  Scan scan(this, Scope::kAll);
  Delta delta;
  for (const std::string& name : std::set<std::string>(runs.begin(), runs.end())) {
    const auto found = std::lower_bound(
        runs_.begin(), runs_.end(), name,
        [](const ListedRunPtr& run, const std::string& wanted) { return run->name < wanted; });
    if (found == runs_.end() || (*found)->name != name) continue;
    Node& node = *nodes_[static_cast<std::size_t>(found - runs_.begin())];
    if (!scan.StatKnownFiles(node)) continue;
    node.run = Scan::Describe(node, name, (*found)->directory, (*found)->profile);
    delta.changed.push_back({node.run, ChangedFiles(**found, *node.run)});
    *found = node.run;
  }
  SortNewestFirst(&delta);
  return delta;
}

absl::StatusOr<std::vector<NamePattern>> PatternsOfFlag(std::string_view flag,
                                                        std::string_view pattern) {
  if (pattern.empty()) return std::vector<NamePattern>();
  auto compiled = NamePattern::Compile(pattern);
  if (compiled.ok()) return std::vector<NamePattern>{*std::move(compiled)};
  return absl::InvalidArgumentError(absl::StrCat(
      "--", Absl(flag), " is no regular expression (RE2): ", compiled.status().message()));
}

}  // namespace datamanager
