// Checkpoints: both ways with PyTorch's files, and files that mean harm or are damaged.
//
// training.pt is what torch.save of PyTorch 2.15 wrote (make.py beside it). written.pt is what save writes here, to the byte;
// BRAZE_BLESS=1 writes it anew. tests/python/test_serialization.py reads it too, and so did torch.load when it was committed.
#include "braze/serialization.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <random>
#include <sstream>

#include "braze/nn.h"
#include "braze/optim.h"
#include "frontend/serialization/archive.h"
#include "tests/catch.h"
#include "tests/frontend/values.h"

using namespace braze;
using namespace braze::test;

namespace {

const std::string folder = std::string(BRAZE_SOURCE_DIR) + "/tests/data/checkpoints/";

std::string bytes_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::string saved(const IValue& value) {
  std::ostringstream out;
  save(value, out);
  return out.str();
}
IValue loaded(const std::string& bytes) {
  std::istringstream in(bytes);
  return load(in);
}

// A container of this pickle and of a storage 0 of 16 bytes.
std::string container(const std::string& pickle) {
  std::ostringstream out;
  serialization::ArchiveWriter archive(out);
  archive.add("archive/data.pkl", pickle.data(), pickle.size());
  const std::string zeros(16, '\0');
  archive.add("archive/data/0", zeros.data(), zeros.size());
  archive.finish();
  return out.str();
}
std::string refusal(const std::string& pickle) {
  return refused([&] { loaded(container(pickle)); });
}

using namespace std::string_literals;

std::string text(const std::string& content) { return "\x8c"s + static_cast<char>(content.size()) + content; }
std::string number(std::int64_t value) {
  std::string bytes = "\x8a\x08"s;
  bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
  return bytes;
}
std::string numbers(const std::vector<std::int64_t>& values) {
  std::string all = "(";
  for (const std::int64_t value : values) all += number(value);
  return all + "t";
}
// A call of _rebuild_tensor_v2 on storage 0.
std::string tensor_pickle(const std::string& offset, const std::string& sizes, const std::string& strides,
                          const std::string& count = number(4), const std::string& storage = "ctorch\nFloatStorage\n",
                          const std::string& key = text("0")) {
  return "\x80\x02"s + "ctorch._utils\n_rebuild_tensor_v2\n((" + text("storage") + storage + key + text("cpu") + count + "tQ" +
         offset + sizes + strides + "\x89" + "NtR.";
}

nn::Sequential network() { return nn::Sequential{nn::Linear(3, 2), nn::BatchNorm1d(2)}; }

IValue everything() {
  const Tensor base = arange(6, {float32}).reshape({2, 3});
  std::vector<IValue> dtypes;
  for (const DType dtype : surface_dtypes) dtypes.push_back(arange(3).to(dtype));
  return {{"views", IValue::list({base, base.t(), base.as_strided({2}, {2}, 3), base})},
          {"empty", zeros({0, 2})},
          {"dtypes", IValue::list(dtypes)},
          {"grad", ones({2}).requires_grad_()},
          {"conjugate", tensor({std::complex<double>(1, 2)}).conj()},
          {"state", StateDict{{"weight", base}, {"bias", ones({3})}}},
          {"nest", IValue::tuple({IValue(), true, false, 0, -3, 255, 256, std::int64_t{1} << 40, 2.5, std::complex<double>(1, -2),
                                  "täxt", IValue::bytes("\x00\xff"s), float16, Device("cpu"), IValue::tuple({}), IValue::list({}),
                                  IValue::dict({{5, IValue::list({1, 2})}, {"k", 1.0}})})}};
}

}  // namespace

TEST_CASE("serialization: a checkpoint of PyTorch") {
  IValue all = load(folder + "training.pt");
  nn::Sequential model = network();
  model->load_state_dict(all["model"]);
  CHECK(model->state_dict().at("1.num_batches_tracked").item<std::int64_t>() == 2);
  close(model->get_parameter("0.bias"), {-0.1754F, 0.6390F}, 1e-3);
  optim::Adam adam(model->parameters(), {.lr = 0.5});
  adam.load_state_dict(all["optimizer"]);
  CHECK(adam.lr() == 0.1);
  CHECK(adam.state(model->get_parameter("0.bias"))["step"].item<float>() == 2);
  close(adam.state(model->get_parameter("1.weight"))["exp_avg"], {1.4399F, 1.4400F}, 1e-4);

  const Tensor parameter = all["parameter"].to_tensor();
  CHECK(parameter.requires_grad());
  CHECK(parameter.is_leaf());
  CHECK(floats(parameter.detach()) == Floats{1, -1});
  const auto& views = all["views"].elements();
  CHECK(views[1].to_tensor().strides() == Sizes{1, 3});
  Tensor(views[0].to_tensor()).zero_();
  CHECK(floats(views[1].to_tensor()) == Floats(6, 0));
  CHECK(floats(views[2].to_tensor()) == Floats(2, 0));
  for (std::size_t i = 0; i < surface_dtypes.size(); ++i) {
    const Tensor x = all["dtypes"][i].to_tensor();
    CHECK(x.dtype() == surface_dtypes[i]);
    CHECK(integers((is_complex(x.dtype()) ? real(x) : x).to(int64)) == (i == 0 ? Integers{0, 1, 1} : Integers{0, 1, 2}));
  }
  const Tensor conjugate = all["conjugate"].to_tensor();
  CHECK(conjugate.is_conj());
  CHECK(conjugate.to_vector<std::complex<float>>()[0] == std::complex<float>(1, -2));

  const IValue& nest = all["nest"];
  CHECK(nest.is_tuple());
  CHECK(nest[0].is_none());
  CHECK(nest[1].to_bool());
  CHECK(nest[2].to_int() == -3);
  CHECK(nest[3].to_int() == std::int64_t{1} << 40);
  CHECK(nest[4].to_double() == 2.5);
  CHECK(nest[5].to_complex() == std::complex<double>(1, -2));
  CHECK(nest[6].to_string() == "täxt");
  CHECK(nest[7].to_bytes() == "\x00\xff"s);
  CHECK(nest[8][1].to_int() == 3);
  CHECK(nest[9].to_dtype() == float16);
  CHECK(nest[10].to_device() == Device("cpu"));
  CHECK(nest[11][0].to_int() == 1);
  CHECK(nest[12]["a"].to_int() == 2);
  CHECK(nest[13]["k"][1][0].to_int() == 2);
  CHECK(nest[13][5].size() == 0);
}

TEST_CASE("serialization: what is written, to the byte") {
  const std::string written = saved(everything());
  if (std::getenv("BRAZE_BLESS")) std::ofstream(folder + "written.pt", std::ios::binary) << written;
  CHECK((written == bytes_of(folder + "written.pt")));
}

TEST_CASE("serialization: what was saved comes back") {
  const IValue read = loaded(saved(everything()));
  CHECK(saved(read) == saved(everything()));
  CHECK(read["views"][0].to_tensor().impl() == read["views"][3].to_tensor().impl());
  CHECK(read["views"][0].to_tensor().shares_storage(read["state"]["weight"].to_tensor()));
  CHECK(read["grad"].to_tensor().requires_grad());
  CHECK(read["empty"].to_tensor().sizes() == Sizes{0, 2});
  CHECK(read["state"].to_state_dict().size() == 2);
  CHECK(read["nest"][16][5][1].to_int() == 2);
}

TEST_CASE("serialization: modules, optimizers and tensors by path") {
  const std::string path = (std::filesystem::temp_directory_path() / "braze_serialization_test.pt").string();
  manual_seed(1);
  nn::Sequential model = network(), other = network();
  optim::Adam adam(model->parameters(), {.lr = 0.25, .betas = {0.5, 0.75}});
  model(ones({4, 3}) * arange(4, {float32}).unsqueeze(1)).square().sum().backward();
  adam.step();
  save({{"model", model}, {"optimizer", adam}, {"epoch", 3}}, path);
  const IValue all = load(path);
  CHECK(all["epoch"].to_int() == 3);
  other->load_state_dict(all["model"]);
  optim::Adam again(other->parameters());
  again.load_state_dict(all["optimizer"]);
  CHECK(again.lr() == 0.25);
  CHECK(again.options().betas == optim::Betas{0.5, 0.75});
  const Tensor a = model->parameters()[0], b = other->parameters()[0];
  CHECK(floats(a.detach()) == floats(b.detach()));
  CHECK(floats(adam.state(a)["exp_avg"]) == floats(again.state(b)["exp_avg"]));

  save(model, path);
  CHECK(bytes_of(path).find("braze_serialization_test/data.pkl") != std::string::npos);
  nn::Sequential third = network();
  load(third, path);
  CHECK(floats(third->parameters()[0].detach()) == floats(a.detach()));
  save(adam, path);
  load(again, path);
  Tensor x;
  save(arange(3), path);
  load(x, path);
  CHECK(integers(x) == Integers{0, 1, 2});
  std::filesystem::remove(path);
  CHECK(refused([&] { load(path); }) == "the file " + path + " cannot be read");
  CHECK(refused([&] { save(1, path + "/model.pt"); }) == "Parent directory " + path + " does not exist.");
  CHECK(refused([&] { save(Tensor(), path); }) == "an undefined tensor cannot be saved");
  CHECK_FALSE(std::filesystem::exists(path));
}

TEST_CASE("serialization: values of another kind") {
  const IValue dict = {{"a", 1}, {"b", "text"}, {"c", ones({2})}};
  CHECK(refused<TypeError>([&] { dict["a"].to_string(); }) == "expected a value of type str, but got int");
  CHECK(refused<TypeError>([&] { dict.to_state_dict(); }) == "a state dict holds tensors; at 'a' there is a value of type int");
  CHECK(refused<IndexError>([&] { dict["d"]; }) == "'d' is not in the dict");
  CHECK(refused<IndexError>([&] { IValue::list({1})[1]; }) == "list index 1 out of range for 1 elements");
  CHECK(refused<TypeError>([&] { IValue::dict({{IValue::list({}), 1}}); }) == "unhashable type: 'list'");
  CHECK(IValue::list({1, 2})[-1].to_int() == 2);
  CHECK(dict.find("d") == nullptr);
  CHECK(IValue::dict({{1, 2}, {1, 3}})[1].to_int() == 3);
  const Tensor x = zeros({4});
  CHECK(refused([&] { saved(IValue::list({x, x.view(int32)})); }) ==
        "Cannot save multiple tensors or storages that view the same data as different types");
  IValue deep;
  for (int i = 0; i < 1100; ++i) deep = IValue::list({deep});
  CHECK(refused([&] { saved(deep); }) == "lists and dicts nested deeper than 1000 cannot be saved");
}

TEST_CASE("serialization: nothing that a file names is executed") {
  for (const char* name :
       {"posix\nsystem\n", "__builtin__\neval\n", "torch\nload\n", "torch._utils\nrebuild\n", "torch\n_os.system\n"}) {
    const std::string words = refusal("\x80\x02"s + "c" + name + text("touch x") + "\x85R.");
    CHECK(words.find("unsupported global: ") != std::string::npos);
  }
  CHECK(refusal("\x80\x02K\x01K\x02\x85R."s) == "the file cannot be loaded: the pickle calls a value of type int");
  CHECK(refusal("(" + text("x") + "iposix\nsystem\n.") ==
        "the file cannot be loaded: the pickle has an opcode that data does not need: 0x69");
  CHECK(refusal("ctorch\nTensor\n.") == "the file cannot be loaded: the file holds a function or class where a value is expected");
  CHECK(refusal("]ctorch\nTensor\na.") ==
        "the file cannot be loaded: the file holds a function or class where a value is expected");
  CHECK(refusal("ctorch\nTensor\n)R.") == "the file cannot be loaded: the pickle calls a class of tensors");
}

TEST_CASE("serialization: views outside the storage, and storages of another size") {
  CHECK(floats(loaded(container(tensor_pickle(number(1), numbers({3}), numbers({1})))).to_tensor()) == Floats{0, 0, 0});
  const std::int64_t huge = std::int64_t{1} << 62;
  const auto none = [](const std::string& pickle) { return refusal(pickle) != "nothing thrown"; };
  CHECK(none(tensor_pickle(number(1), numbers({4}), numbers({1}))));
  CHECK(none(tensor_pickle(number(0), numbers({huge, 8}), numbers({1, 1}))));
  CHECK(none(tensor_pickle(number(0), numbers({2}), numbers({huge}))));
  CHECK(none(tensor_pickle(number(-1), numbers({1}), numbers({1}))));
  CHECK(none(tensor_pickle(number(0), numbers({2}), numbers({-1}))));
  CHECK(none(tensor_pickle(number(0), numbers({-1}), numbers({1}))));
  CHECK(none(tensor_pickle(number(huge), numbers({1}), numbers({1}))));
  CHECK(none(tensor_pickle(number(0), numbers({2}), numbers({1, 1}))));
  const std::string many = tensor_pickle(number(0), numbers(Integers(100, 1)), numbers(Integers(100, 0)));
  CHECK(refused([&] { (loaded(container(many)).to_tensor() + 1).item<float>(); }) ==
        "reshape: 100 dimensions, at most 64 are supported");
  CHECK(none(tensor_pickle(text("0"), numbers({1}), numbers({1}))));
  CHECK(none(tensor_pickle(number(0), text("ab"), numbers({1}))));
  for (const std::string& count :
       {number(3), number(5), number(0), number(-4), number(huge), text("4"), "G\x40\x10"s + std::string(6, '\0')})
    CHECK(none(tensor_pickle(number(0), numbers({1}), numbers({1}), count)));
  CHECK(none(tensor_pickle(number(0), numbers({1}), numbers({1}), number(4), "ctorch\nStrangeStorage\n")));
  CHECK(none(tensor_pickle(number(0), numbers({1}), numbers({1}), number(4), "ctorch\nSize\n")));
  CHECK(none(tensor_pickle(number(0), numbers({1}), numbers({1}), number(4), "ctorch\nFloatStorage\n", text("1"))));
  CHECK(none(tensor_pickle(number(0), numbers({1}), numbers({1}), number(4), "ctorch\nFloatStorage\n", number(0))));
}

TEST_CASE("serialization: pickles without end") {
  // A list that holds itself, directly and through a tuple.
  CHECK(refusal("]q\x01h\x01"s + "a.") == "the file cannot be loaded: the file holds a list or dict that holds itself");
  CHECK(refusal("]q\x01h\x01\x85"s + "a.") == "the file cannot be loaded: the file holds a list or dict that holds itself");
  // The same list many times is no such thing.
  CHECK(loaded(container("]q\x01]q\x02"s + "ah\x02" + "a.")).is_list());
  CHECK(refusal(std::string(1'000'000, ']') + std::string(999'999, 'a') + ".") ==
        "the file cannot be loaded: the file holds lists or dicts nested deeper than 1000");
  // Nested and then thrown away.
  CHECK(loaded(container(std::string(1'000'000, ']') + std::string(999'999, 'a') + "0K\x01.")).to_int() == 1);
  // Lists of ten of the list before: small in memory, and to be walked once.
  std::string laughs = "]q" + std::string(1, '\0');
  for (char i = 0; i < 100; ++i) {
    laughs += "](";
    for (int k = 0; k < 10; ++k) laughs += "h"s + i;
    laughs += "eq"s + static_cast<char>(i + 1);
  }
  CHECK(loaded(container(laughs + ".")).size() == 10);
  // A call copies its values: again and again is refused.
  std::string copies = "ctorch\nSize\nq" + "\x01("s;
  for (int i = 0; i < 10'000; ++i) copies += "K\x01";
  copies += "tq\x02";
  for (int i = 0; i < 10'000; ++i) copies += "h\x01h\x02\x85R0";
  CHECK(refusal(copies + "N.") == "the file cannot be loaded: the pickle copies its values without end");
}

TEST_CASE("serialization: pickles that are damaged") {
  for (const std::string& pickle : {""s,
                                    "."s,
                                    "\x80\x02"s,
                                    "K"s,
                                    "X\xff\xff\xff\xff"
                                    "abc"s,
                                    "\x8d\xff\xff\xff\xff\xff\xff\xff\xff"
                                    "abc."s,
                                    "e."s,
                                    "t."s,
                                    "h\x05."s,
                                    "K\x01"
                                    "a."s,
                                    "]K\x01s."s,
                                    "}K\x01K\x02K\x03(u."s,
                                    "}(K\x01u."s,
                                    "}]K\x01s."s,
                                    "\x8b\xff\xff\xff\xff."s,
                                    "\x8a\x09"
                                    "123456789."s,
                                    "ctorch\nSize"s,
                                    "K\x01Q."s,
                                    "N\x85Q."s,
                                    "b."s,
                                    "NNb."s,
                                    "0."s,
                                    "1."s,
                                    "(0."s,
                                    "(."s,
                                    "q\x01."s})
    CHECK(refusal(pickle).starts_with("the file cannot be loaded: "));
}

TEST_CASE("serialization: files that are truncated or changed anywhere") {
  const std::string good = saved(everything());
  for (std::size_t end = 0; end < good.size(); end += end + 64 < good.size() ? 7 : 1)
    CHECK(refused([&] { loaded(good.substr(0, end)); }) != "nothing thrown");
  std::mt19937 draw(Catch::rngSeed());
  const auto changed = [&](std::string bytes) {
    bytes[draw() % bytes.size()] = static_cast<char>(draw());
    return bytes;
  };
  int refusals = 0;
  const auto attempt = [&](const std::string& bytes) {
    try {
      loaded(bytes);
    } catch (const Error&) {
      ++refusals;
    }
  };
  for (int i = 0; i < 1000; ++i) attempt(changed(good));
  CHECK(refusals > 100);
  // The pickle itself, behind a checksum that is right.
  std::istringstream in(good);
  const std::string pickle = serialization::ArchiveReader(in).read("archive/data.pkl");
  for (int i = 0; i < 3000; ++i) attempt(container(changed(pickle)));
  CHECK(refusals > 2000);
}

TEST_CASE("serialization: archives that lie") {
  CHECK(refused([] { loaded("no zip at all"); }) == "the zip container is damaged: it has no table of contents");
  std::ostringstream two;
  serialization::ArchiveWriter archive(two);
  for (const char* name : {"a/data.pkl", "a/data.pkl"}) archive.add(name, "N.", 2);
  archive.finish();
  CHECK(refused([&] { loaded(two.str()); }) == "the zip container is damaged: it has two entries of the name a/data.pkl");
  // Sizes in the table of contents that are larger than the file.
  std::string bytes = container("N.");
  const std::size_t entry = bytes.find("PK\x01\x02");
  bytes.replace(entry + 20, 8, "\xf0\xff\xff\x7f\xf0\xff\xff\x7f");
  CHECK(refused([&] { loaded(bytes); }).starts_with("the file is damaged at its entry archive/data.pkl: 2147483632 bytes"));
}

TEST_CASE("serialization: a dict has a key once, by Python's equality") {
  const Tensor x = ones({2});
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const IValue dict = IValue::dict({{true, "a"},
                                    {1, "b"},
                                    {1.0, "c"},
                                    {1.5, "d"},
                                    {1.5, "e"},
                                    {IValue(), "f"},
                                    {IValue(), "g"},
                                    {x, "h"},
                                    {x, "i"},
                                    {ones({2}), "j"},
                                    {IValue::tuple({1, "k"}), "k"},
                                    {IValue::tuple({1.0, "k"}), "l"},
                                    {IValue::tuple({1, "m"}), "m"},
                                    {IValue::bytes("1"), "n"},
                                    {"1", "o"},
                                    {float32, "p"},
                                    {float32, "q"},
                                    {nan, "r"},
                                    {nan, "s"}});
  std::string values;
  for (const auto& [key, value] : dict.items()) values += value.to_string();
  CHECK(values == "cegijlmnoqrs");
  CHECK(dict.items()[0].first.is_bool());
  CHECK(dict.find(1)->to_string() == "c");
  CHECK(refused<TypeError>([] { IValue::dict({{IValue::tuple({IValue::list({})}), 1}}); }) == "unhashable type: 'list'");
}
