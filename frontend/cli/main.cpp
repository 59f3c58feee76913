// The command line: run, dump, opt, grad, vmap and eval. Exit codes: 0; 1 for what the user did; 2 for wrong usage; 70 for a bug in Braze.
#include <CLI/CLI.hpp>

#include <fstream>
#include <iostream>
#include <new>
#include <sstream>

#include "frontend/engine/engine.h"
#include "frontend/text/expression.h"
#include "frontend/text/run_graph.h"
#include "ir/error.h"
#include "passes/batching.h"
#include "passes/derivative.h"
#include "passes/passes.h"

namespace {

using namespace braze;

constexpr int user_error = 1, wrong_usage = 2, internal_error = 70;

std::string read_file(const std::string& path) {
  if (path == "-") return {std::istreambuf_iterator<char>(std::cin), {}};
  std::ifstream in(path, std::ios::binary);
  require<ValueError>(static_cast<bool>(in), "{}: cannot be read", path);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

// "x=a.npy" or "n=3": a file's array, or a number.
std::map<std::string, text::Argument> read_arguments(const std::vector<std::string>& pairs) {
  std::map<std::string, text::Argument> out;
  for (const std::string& pair : pairs) {
    const std::size_t equals = pair.find('=');
    require<ValueError>(equals != std::string::npos && equals > 0, "--in takes NAME=FILE.npy or NAME=NUMBER, not '{}'", pair);
    const std::string name = pair.substr(0, equals), value = pair.substr(equals + 1);
    char* end = nullptr;
    const double number = std::strtod(value.c_str(), &end);
    if (end && *end == '\0' && !value.empty()) {
      const bool integral = value.find_first_of(".eEnN") == std::string::npos;
      out.insert_or_assign(name,
                           integral ? Scalar(static_cast<std::int64_t>(std::strtoll(value.c_str(), nullptr, 10))) : Scalar(number));
    } else {
      out.insert_or_assign(name, load_npy(value));
    }
  }
  return out;
}

void write_results(std::span<const Tensor> results, const std::vector<std::string>& files) {
  require<ValueError>(files.empty() || files.size() == results.size(), "{} results, but {} --out files", results.size(),
                      files.size());
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (files.empty())
      std::cout << results[i] << '\n';
    else
      save_npy(files[i], results[i]);
  }
}

struct Arguments {
  std::string file, stage = "graph", passes, expression;
  std::vector<std::string> in, out, parameters;
  std::vector<std::uint32_t> results;
  bool forward = false, pullback = false, value = false, raw = false;
};

void run(const Arguments& a) {
  text::GraphRunner runner(ir::parse_graph(read_file(a.file), a.file));
  write_results(runner(read_arguments(a.in)), a.out);
}

void dump(const Arguments& a) {
  passes::Module module = passes::parse_module(read_file(a.file), a.file);
  std::cout << engine::stage_text(std::move(module), a.stage);
}

void opt(const Arguments& a) {
  passes::Module module = passes::parse_module(read_file(a.file), a.file);
  std::vector<std::string> names;
  std::stringstream list(a.passes);
  for (std::string name; std::getline(list, name, ',');)
    if (!name.empty()) names.push_back(name);
  std::cout << passes::print(passes::run_passes(std::move(module), engine::compile_options(true), names));
}

// Prints what `transform` makes of a graph and the numbers of the parameters that are asked for.
template <class Transform>
void print_transformed(const Arguments& a, std::string_view command, const Transform& transform) {
  passes::Module module = passes::parse_module(read_file(a.file), a.file);
  require<ValueError>(module.stage == passes::Stage::graph, "{} takes a graph, and {} is at stage {}", command, a.file,
                      passes::name(module.stage));
  const auto transform_graph = [&](const ir::Graph& graph) {
    std::vector<std::uint32_t> numbers;
    for (const std::string& name : a.parameters) numbers.push_back(text::parameter_number(graph, name));
    return transform(graph, numbers);
  };
  if (a.raw)
    module.graph = transform_graph(module.graph);
  else
    module = text::transformed(std::move(module), transform_graph);
  std::cout << passes::print(module);
}

void grad(const Arguments& a) {
  print_transformed(a, "grad", [&](const ir::Graph& graph, const std::vector<std::uint32_t>& parameters) {
    return (a.forward ? passes::jvp : a.pullback ? passes::vjp : passes::grad)(graph, {a.results, parameters, a.value});
  });
}

void vmap(const Arguments& a) {
  print_transformed(a, "vmap", [](const ir::Graph& graph, const std::vector<std::uint32_t>& parameters) {
    return passes::vmap(graph, {parameters});
  });
}

void eval(const Arguments& a) {
  std::map<std::string, Tensor> names;
  for (const auto& [name, argument] : read_arguments(a.in))
    names[name] = std::holds_alternative<Tensor>(argument) ? std::get<Tensor>(argument) : full({}, std::get<Scalar>(argument));
  const Tensor result = text::evaluate(a.expression, names);
  write_results({&result, 1}, a.out);
}

void info() {
  const ir::CpuTarget& target = ir::host_target();
  std::cout << fmt::format("target: {} ({} byte vectors, {} cores, L2 {} KiB)\n", target.cpu, target.vector_bytes, target.cores,
                           target.l2_bytes >> 10);
  std::cout << fmt::format("stages: {}\n", fmt::join(engine::stage_names(), ", "));
  for (const passes::Pass& pass : passes::pipeline())
    std::cout << fmt::format("  {:16} -> {:6} {}\n", pass.name, passes::name(pass.leaves), pass.why);
}

int report(const std::string& text, int code) {
  std::cerr << text << (text.ends_with('\n') ? "" : "\n");
  return code;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Braze: compile tensor expressions and see how"};
  app.require_subcommand(1);
  Arguments a;
  CLI::App* run_command = app.add_subcommand("run", "compile a graph and run it on .npy files");
  run_command->add_option("file", a.file, "graph text (.bz), - for standard input")->required();
  run_command->add_option("--in", a.in, "NAME=FILE.npy, or NAME=NUMBER for scalars and extents");
  run_command->add_option("--out", a.out, "a .npy file for each result; without it results are printed");
  CLI::App* dump_command = app.add_subcommand("dump", "print a stage of a graph's compilation");
  dump_command->add_option("file", a.file, "graph text (.bz)")->required();
  dump_command->add_option("--stage", a.stage, "graph, fused, loops, steps, llvm, assembly, cuda or ptx");
  CLI::App* opt_command = app.add_subcommand("opt", "run named passes and print the result");
  opt_command->add_option("--passes", a.passes, "names from `braze info`, comma-separated, in the order given")->required();
  opt_command->add_option("file", a.file, "graph text (.bz)")->required();
  CLI::App* grad_command = app.add_subcommand("grad", "print a graph's derivative as a graph");
  grad_command->add_option("file", a.file, "graph text (.bz), - for standard input")->required();
  grad_command->add_option("--of", a.results, "numbers of results, from 0 (default: the one that is a float)")->delimiter(',');
  grad_command->add_option("--wrt", a.parameters, "names of parameters (default: all floats)")->delimiter(',');
  CLI::Option* forward = grad_command->add_flag("--jvp", a.forward, "forward mode: tangents in, tangents out");
  grad_command->add_flag("--vjp", a.pullback, "reverse mode for given cotangents, not the gradient of the sum")->excludes(forward);
  grad_command->add_flag("--value", a.value, "the graph's own results come first");
  grad_command->add_flag("--raw", a.raw, "as the rules leave it, not simplified");
  CLI::App* vmap_command = app.add_subcommand("vmap", "print a graph mapped over a new leading axis");
  vmap_command->add_option("file", a.file, "graph text (.bz), - for standard input")->required();
  vmap_command->add_option("--over", a.parameters, "names of the parameters that get the axis (default: all)")->delimiter(',');
  vmap_command->add_flag("--raw", a.raw, "as the rules leave it, not simplified");
  CLI::App* eval_command = app.add_subcommand("eval", "evaluate an expression such as 'tanh(a * 2).sum(1)'");
  eval_command->add_option("expression", a.expression)->required();
  eval_command->add_option("--in", a.in, "NAME=FILE.npy or NAME=NUMBER");
  eval_command->add_option("--out", a.out, "a .npy file for the result");
  CLI::App* info_command = app.add_subcommand("info", "print the target and the passes");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? 0 : wrong_usage;  // 0: --help was asked for
  }
  try {
    if (*run_command) run(a);
    if (*dump_command) dump(a);
    if (*opt_command) opt(a);
    if (*grad_command) grad(a);
    if (*vmap_command) vmap(a);
    if (*eval_command) eval(a);
    if (*info_command) info();
  } catch (const Error& e) {
    return report(e.what(), user_error);
  } catch (const std::bad_alloc&) {
    return report("out of memory", user_error);
  } catch (const std::exception& e) {  // an InternalError, or what nobody foresaw
    return report(e.what(), internal_error);
  }
  return 0;
}
