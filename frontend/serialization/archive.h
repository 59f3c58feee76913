// Zip archives of checkpoints, on zlib: entries are written as they are, front to back, each at a multiple of 64 bytes so that
// a reader may map it; archives and entries over 4 GiB take the format's 64-bit fields. The zip libraries that distributions
// carry would not do: minizip 1.1 reads no such entries on 64-bit machines, and libzip brings cryptography along.
// https://pkware.cachefly.net/webdocs/casestudies/APPNOTE.TXT
#pragma once

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <string>
#include <string_view>
#include <unordered_map>

namespace braze::serialization {

class ArchiveWriter {
 public:
  explicit ArchiveWriter(std::ostream& out) : out_(out) {}
  ArchiveWriter(const ArchiveWriter&) = delete;
  // Throw Error where the stream takes no more.
  void add(const std::string& name, const void* data, std::size_t bytes);
  void finish();  // the table of contents: nothing is readable before

 private:
  void put(const void* data, std::size_t bytes);
  void put(std::string_view bytes) { put(bytes.data(), bytes.size()); }

  std::ostream& out_;
  std::uint64_t at_ = 0, count_ = 0;
  std::string contents_;
};

// Reads what anybody wrote, stored or deflated. Every method throws Error where the archive is damaged.
class ArchiveReader {
 public:
  // From where the stream stands, which must be able to seek, to its end.
  explicit ArchiveReader(std::istream& in);
  ArchiveReader(const ArchiveReader&) = delete;
  struct Entry {
    std::uint64_t header;  // where it begins
    std::uint64_t packed, bytes;
    std::uint32_t checksum;
    bool is_deflated;
  };
  const std::unordered_map<std::string, Entry>& entries() const { return entries_; }
  bool contains(const std::string& name) const { return entries_.contains(name); }
  std::size_t size_of(const std::string& name) const { return static_cast<std::size_t>(entries_.at(name).bytes); }
  // All size_of(name) bytes.
  void read(const std::string& name, void* to);
  std::string read(const std::string& name);

 private:
  void take(std::uint64_t from, void* to, std::uint64_t bytes);
  std::string take(std::uint64_t from, std::uint64_t bytes);
  std::string find_contents(std::uint64_t& count);
  void list(std::string_view contents, std::uint64_t count);
  bool inflate(std::uint64_t from, const Entry& entry, void* to);

  std::istream& in_;
  std::uint64_t start_, bytes_;
  std::unordered_map<std::string, Entry> entries_;
};

}  // namespace braze::serialization
