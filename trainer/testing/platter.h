#ifndef TRAINER_TESTING_PLATTER_H_
#define TRAINER_TESTING_PLATTER_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>

namespace trainer {

// The content of a disk when the power goes. A program that links this file has every fsync() and
// fdatasync() of its own and of its libraries pass through here: what a file or a directory held
// then is what it holds after a loss of power, unless the kernel happened to write more. As
// leveldb's Env that drops unsynced bytes, but below everything that uses a file, SQLite too.
// Thread safe: any thread may sync.
//
// It is as strict as POSIX: a file is there only if a directory that says so was synced, and that
// directory's parent. Names and contents are followed by inode, so a rename is one entry of a
// directory.
class Platter {
 public:
  // Follows what lies below `root`, which is taken to be on the disk itself. One at a time.
  explicit Platter(const std::string& root);
  ~Platter();
  Platter(const Platter&) = delete;
  Platter& operator=(const Platter&) = delete;

  // Whether the kernel has written back by itself what the file, or the directory, at that path
  // below the root holds now.
  using WrittenBack = std::function<bool(const std::string& path, bool is_directory)>;
  // Writes what is left after a loss of power now to `target`, which is made.
  void Recover(const std::string& target, const WrittenBack& written_back);

  // Called after each sync of something below the root, on the thread that synced.
  void OnSync(std::function<void()> synced);
  int syncs() const;

  // The interposed functions call it.
  static void Synced(int fd);

 private:
  using Inode = std::uint64_t;
  struct Content {
    std::string bytes;
    std::map<std::string, Inode> entries;  // Set for a directory.
    bool is_directory = false;
    int keeps_inode = -1;  // A descriptor, so that its number is not given to another file.
  };
  // The two states of the disk from which a recovery takes each file.
  struct Disk {
    std::map<Inode, Content> synced, now;
  };
  static Content Read(int fd);
  // The root, and all that is below it now.
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
