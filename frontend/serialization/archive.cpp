#include "frontend/serialization/archive.h"

#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <istream>
#include <limits>
#include <ostream>
#include <vector>

#include "ir/error.h"

namespace braze::serialization {

namespace {

constexpr std::uint32_t local_mark = 0x04034b50, central_mark = 0x02014b50, end_mark = 0x06054b50, end64_mark = 0x06064b50,
                        locator_mark = 0x07064b50;
constexpr std::size_t local_bytes = 30, central_bytes = 46, end_bytes = 22, end64_bytes = 56, locator_bytes = 20;
constexpr std::size_t alignment = 64;
constexpr std::uint16_t wide_field = 1, padding_field = 0x4246;  // PyTorch's: the letters FB
constexpr std::uint16_t wide_version = 45, version = 20, deflated = 8, encrypted = 1;
constexpr std::uint16_t first_date = 33;  // 1980-01-01: a file tells of its content alone
constexpr std::uint32_t wide = std::numeric_limits<std::uint32_t>::max();
constexpr std::uint16_t wide_count = std::numeric_limits<std::uint16_t>::max();

// Hosts are little-endian, as the format is.
template <class... T>
void append(std::string& to, T... values) {
  (to.append(reinterpret_cast<const char*>(&values), sizeof values), ...);
}
template <class T>
T at(std::string_view bytes, std::size_t offset) {
  require(offset + sizeof(T) <= bytes.size(), "the zip container is damaged: a record is cut off");
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

std::uint32_t narrow(std::uint64_t value) { return value < wide ? static_cast<std::uint32_t>(value) : wide; }

std::uint32_t checksum(const void* data, std::size_t bytes) {
  return static_cast<std::uint32_t>(crc32_z(0, static_cast<const Bytef*>(data), bytes));
}

}  // namespace

// ---- writing ----

void ArchiveWriter::put(const void* data, std::size_t bytes) {
  out_.write(static_cast<const char*>(data), static_cast<std::streamsize>(bytes));
  require(out_.good(), "writing the archive failed after {} bytes", at_);
  at_ += bytes;
}

void ArchiveWriter::add(const std::string& name, const void* data, std::size_t bytes) {
  require(name.size() <= std::numeric_limits<std::uint16_t>::max(), "a name of {} bytes is too long for an archive", name.size());
  const bool is_wide = bytes >= wide, is_far = at_ >= wide;
  std::string extra;
  if (is_wide) append(extra, wide_field, std::uint16_t{16}, std::uint64_t{bytes}, std::uint64_t{bytes});
  const std::uint64_t begin = at_ + local_bytes + name.size() + extra.size() + 4;
  const auto padding = static_cast<std::uint16_t>((alignment - begin % alignment) % alignment);
  append(extra, padding_field, padding);
  extra.append(padding, 'Z');

  std::string shared;  // what both records of an entry say
  append(shared, is_wide || is_far ? wide_version : version, std::uint16_t{0}, std::uint16_t{0}, std::uint16_t{0}, first_date,
         checksum(data, bytes), narrow(bytes), narrow(bytes), static_cast<std::uint16_t>(name.size()));
  std::string fields;  // of the table of contents
  if (is_wide) append(fields, std::uint64_t{bytes}, std::uint64_t{bytes});
  if (is_far) append(fields, at_);
  append(contents_, central_mark, wide_version);
  contents_ += shared;
  append(contents_, static_cast<std::uint16_t>(fields.empty() ? 0 : fields.size() + 4), std::uint16_t{0}, std::uint16_t{0},
         std::uint16_t{0}, std::uint32_t{0}, narrow(at_));
  contents_ += name;
  if (!fields.empty()) append(contents_, wide_field, static_cast<std::uint16_t>(fields.size()));
  contents_ += fields;
  ++count_;

  std::string header;
  append(header, local_mark);
  header += shared;
  append(header, static_cast<std::uint16_t>(extra.size()));
  put(header + name + extra);
  put(data, bytes);
}

void ArchiveWriter::finish() {
  const std::uint64_t begin = at_, size = contents_.size();
  put(contents_);
  std::string end;
  if (begin >= wide || size >= wide || count_ >= wide_count) {
    const std::uint64_t here = at_;
    append(end, end64_mark, std::uint64_t{end64_bytes - 12}, wide_version, wide_version, std::uint32_t{0}, std::uint32_t{0}, count_,
           count_, size, begin);
    append(end, locator_mark, std::uint32_t{0}, here, std::uint32_t{1});
  }
  const auto count = static_cast<std::uint16_t>(std::min<std::uint64_t>(count_, wide_count));
  append(end, end_mark, std::uint16_t{0}, std::uint16_t{0}, count, count, narrow(size), narrow(begin), std::uint16_t{0});
  put(end);
  out_.flush();
  require(out_.good(), "writing the archive failed after {} bytes", at_);
}

// ---- reading ----

ArchiveReader::ArchiveReader(std::istream& in) : in_(in) {
  const auto start = static_cast<std::int64_t>(in.tellg());
  in.seekg(0, std::ios::end);
  const auto end = static_cast<std::int64_t>(in.tellg());
  require(start >= 0 && end >= start && in.good(), "the stream to load from cannot seek");
  start_ = static_cast<std::uint64_t>(start);
  bytes_ = static_cast<std::uint64_t>(end - start);
  std::uint64_t count = 0;
  const std::string contents = find_contents(count);
  list(contents, count);
}

void ArchiveReader::take(std::uint64_t from, void* to, std::uint64_t bytes) {
  require(from <= bytes_ && bytes <= bytes_ - from, "the zip container is damaged: it points past its end");
  in_.clear();
  in_.seekg(static_cast<std::streamoff>(start_ + from));
  in_.read(static_cast<char*>(to), static_cast<std::streamsize>(bytes));
  require(in_.good() || bytes == 0, "the file cannot be read");
}

std::string ArchiveReader::take(std::uint64_t from, std::uint64_t bytes) {
  require(from <= bytes_ && bytes <= bytes_ - from, "the zip container is damaged: it points past its end");
  std::string taken(static_cast<std::size_t>(bytes), '\0');
  take(from, taken.data(), bytes);
  return taken;
}

// The last record says where the table of contents is; a comment may follow it.
std::string ArchiveReader::find_contents(std::uint64_t& count) {
  const std::uint64_t tail_bytes = std::min<std::uint64_t>(bytes_, end_bytes + std::numeric_limits<std::uint16_t>::max());
  const std::string tail = take(bytes_ - tail_bytes, tail_bytes);
  const auto is_end = [&](std::size_t place) {
    return at<std::uint32_t>(tail, place) == end_mark && place + end_bytes + at<std::uint16_t>(tail, place + 20) == tail.size();
  };
  std::size_t place = tail.size() < end_bytes ? 0 : tail.size() - end_bytes + 1;
  do {
    require(place-- > 0, "the zip container is damaged: it has no table of contents");
  } while (!is_end(place));

  const std::string_view end = std::string_view(tail).substr(place);
  std::uint64_t size = at<std::uint32_t>(end, 12), begin = at<std::uint32_t>(end, 16), here = bytes_ - tail_bytes + place;
  count = at<std::uint16_t>(end, 10);
  if ((size == wide || begin == wide || count == wide_count) && here >= locator_bytes) {
    const std::string locator = take(here - locator_bytes, locator_bytes);
    if (at<std::uint32_t>(locator, 0) == locator_mark) {
      here = at<std::uint64_t>(locator, 8);
      const std::string end64 = take(here, end64_bytes);
      require(at<std::uint32_t>(end64, 0) == end64_mark, "the zip container is damaged: its 64-bit record is missing");
      count = at<std::uint64_t>(end64, 32), size = at<std::uint64_t>(end64, 40), begin = at<std::uint64_t>(end64, 48);
    }
  }
  require(begin <= here && size <= here - begin, "the zip container is damaged: its table of contents lies behind its end");
  return take(begin, size);
}

void ArchiveReader::list(std::string_view contents, std::uint64_t count) {
  std::uint64_t total = 0;
  for (; count > 0; --count) {
    require(at<std::uint32_t>(contents, 0) == central_mark, "the zip container is damaged: its table of contents cannot be read");
    const auto flags = at<std::uint16_t>(contents, 8), method = at<std::uint16_t>(contents, 10),
               name_bytes = at<std::uint16_t>(contents, 28), extra_bytes = at<std::uint16_t>(contents, 30),
               comment_bytes = at<std::uint16_t>(contents, 32);
    Entry entry{at<std::uint32_t>(contents, 42), at<std::uint32_t>(contents, 20), at<std::uint32_t>(contents, 24),
                at<std::uint32_t>(contents, 16), method == deflated};
    require(central_bytes + name_bytes + extra_bytes + comment_bytes <= contents.size(),
            "the zip container is damaged: a record is cut off");
    const std::string name(contents.substr(central_bytes, name_bytes));
    std::string_view extra = contents.substr(central_bytes + name_bytes, extra_bytes);
    contents.remove_prefix(central_bytes + name_bytes + extra_bytes + comment_bytes);
    while (extra.size() >= 4) {
      const auto kind = at<std::uint16_t>(extra, 0), bytes = at<std::uint16_t>(extra, 2);
      std::string_view field = extra.substr(4, bytes);
      extra.remove_prefix(std::min<std::size_t>(extra.size(), 4 + bytes));
      if (kind != wide_field) continue;
      for (std::uint64_t* value : {&entry.bytes, &entry.packed, &entry.header}) {
        if (*value != wide) continue;
        *value = at<std::uint64_t>(field, 0);
        field.remove_prefix(8);
      }
    }
    require((flags & encrypted) == 0 && (method == 0 || method == deflated),
            "the file's entry {} is encrypted or compressed in a way that is not supported", name);
    // Before memory is asked for: together the entries are no longer than the file, and deflate makes at most 1032 bytes of one.
    require(entry.packed <= bytes_ && (total += entry.packed) <= bytes_ &&
                (entry.is_deflated ? entry.bytes / 1032 <= entry.packed : entry.bytes == entry.packed),
            "the file is damaged at its entry {}: {} bytes, in an archive of {}", name, entry.bytes, bytes_);
    require(entries_.emplace(name, entry).second, "the zip container is damaged: it has two entries of the name {}", name);
  }
}

void ArchiveReader::read(const std::string& name, void* to) {
  const Entry& entry = entries_.at(name);
  const std::string header = take(entry.header, local_bytes);
  const auto name_bytes = at<std::uint16_t>(header, 26), extra_bytes = at<std::uint16_t>(header, 28);
  bool good = at<std::uint32_t>(header, 0) == local_mark && take(entry.header + local_bytes, name_bytes) == name;
  const std::uint64_t begin = entry.header + local_bytes + name_bytes + extra_bytes;
  if (good && entry.is_deflated)
    good = inflate(begin, entry, to);
  else if (good)
    take(begin, to, entry.packed);
  good = good && checksum(to, static_cast<std::size_t>(entry.bytes)) == entry.checksum;
  require(good, "the file is damaged at its entry {}", name);
}

std::string ArchiveReader::read(const std::string& name) {
  std::string bytes(size_of(name), '\0');
  read(name, bytes.data());
  return bytes;
}

// Whether it gave exactly the bytes that it should.
bool ArchiveReader::inflate(std::uint64_t from, const Entry& entry, void* to) {
  z_stream stream{};
  require(inflateInit2(&stream, -MAX_WBITS) == Z_OK, "there is no memory to inflate an entry");
  std::vector<Bytef> packed(std::size_t{1} << 16);
  Bytef beyond = 0;
  std::uint64_t read = 0, made = 0;
  int status = Z_OK;
  try {
    while (status == Z_OK) {
      if (stream.avail_in == 0 && read < entry.packed) {
        const std::uint64_t count = std::min<std::uint64_t>(packed.size(), entry.packed - read);
        take(from + read, packed.data(), count);
        read += count;
        stream.next_in = packed.data(), stream.avail_in = static_cast<uInt>(count);
      }
      // A byte more than there should be has a place, so that the end is seen.
      const std::uint64_t room = std::min<std::uint64_t>(entry.bytes - made, std::size_t{1} << 30);
      stream.next_out = room ? static_cast<Bytef*>(to) + made : &beyond;
      stream.avail_out = room ? static_cast<uInt>(room) : 1;
      const uInt before = stream.avail_out;
      status = ::inflate(&stream, Z_NO_FLUSH);
      made += before - stream.avail_out;
      if (made > entry.bytes) break;
    }
  } catch (...) {
    inflateEnd(&stream);
    throw;
  }
  inflateEnd(&stream);
  return status == Z_STREAM_END && made == entry.bytes;
}

}  // namespace braze::serialization
