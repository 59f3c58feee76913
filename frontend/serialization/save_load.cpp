#include <filesystem>
#include <fstream>

#include "braze/serialization.h"
#include "frontend/serialization/container.h"
#include "frontend/serialization/pickle.h"
#include "ir/error.h"

namespace braze {

using serialization::Container;
using serialization::Storages;

void save(const IValue& value, const std::string& path) {
  const std::string folder = std::filesystem::path(path).parent_path().string();
  require(folder.empty() || std::filesystem::is_directory(folder), "Parent directory {} does not exist.", folder);
  Storages storages;
  const std::string pickle = serialization::pickle(value, storages);
  storages.evaluate();
  std::ofstream out(path, std::ios::binary);
  require(out.is_open(), "the file {} cannot be written", path);
  storages.write(out, serialization::folder_of(path), pickle);
}

void save(const IValue& value, std::ostream& out) {
  Storages storages;
  const std::string pickle = serialization::pickle(value, storages);
  storages.write(out, "archive", pickle);
}

IValue load(std::istream& in) {
  Container container(in);
  return serialization::unpickle(container.pickle(), container);
}

IValue load(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  require(in.is_open(), "the file {} cannot be read", path);
  return load(in);
}

void load(Tensor& target, const std::string& path) { target = load(path).to_tensor(); }

}  // namespace braze
