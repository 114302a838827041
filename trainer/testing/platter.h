#ifndef TRAINER_TESTING_PLATTER_H_
#define TRAINER_TESTING_PLATTER_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>

namespace trainer {

// Simulates the content of a disk after a power failure. In a program that links this file, every
// fsync() and fdatasync(), also of its libraries, passes through here: what a file or directory
// held at its last sync is what remains, unless the kernel happened to write more. Like leveldb's
// Env that drops unsynced bytes, but below everything that uses files, including SQLite.
// Thread-safe: any thread may sync.
//
// As strict as POSIX: a file exists only if the directory that lists it was synced, and that
// directory's parent. Names and contents are tracked by inode, so a rename changes one directory
// entry.
class Platter {
 public:
  // Tracks everything below `root`, which counts as being on the disk. Only one instance at a time.
  explicit Platter(const std::string& root);
  ~Platter();
  Platter(const Platter&) = delete;
  Platter& operator=(const Platter&) = delete;

  // Returns whether the kernel has written back, by itself, the current content of the file or
  // directory at that path below the root.
  using WrittenBack = std::function<bool(const std::string& path, bool is_directory)>;
  // Writes what a power failure now would leave to `target`, which is created.
  void Recover(const std::string& target, const WrittenBack& written_back);

  // Sets a function that is called after each sync below the root, on the syncing thread.
  void OnSync(std::function<void()> synced);
  int syncs() const;

  // Called by the interposed functions.
  static void Synced(int fd);

 private:
  using Inode = std::uint64_t;
  struct Content {
    std::string bytes;
    std::map<std::string, Inode> entries;  // Set for a directory.
    bool is_directory = false;
    int keeps_inode = -1;  // A descriptor, which keeps the inode number from being reused.
  };
  // The two disk states from which a recovery takes each file.
  struct Disk {
    std::map<Inode, Content> synced, now;
  };
  static Content Read(int fd);
  // Visits the root and everything below it.
  void ForEach(const std::function<void(int fd)>& visit) const;
  void Note(int fd);
  static void Write(const Disk& disk, Inode inode, bool is_directory, const std::string& below,
                    const std::string& target, const WrittenBack& written_back);

  const std::string root_;
  Inode root_inode_ = 0;
  std::map<Inode, Content> synced_;
  std::function<void()> on_sync_;
  int syncs_ = 0;
};

}  // namespace trainer

#endif  // TRAINER_TESTING_PLATTER_H_
