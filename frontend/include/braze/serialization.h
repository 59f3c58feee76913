// save and load in the files of torch.save: torch.load reads what save writes, and load what torch.save writes.
// https://pytorch.org/docs/stable/notes/serialization.html
//
//   save(model, "model.pt");                                              // its state_dict
//   load(model, "model.pt");
//   save({{"model", model}, {"optimizer", adam}, {"epoch", 3}}, "all.pt");
//   IValue all = load("all.pt");
//   adam.load_state_dict(all["optimizer"]);
//
// A storage is written once however many tensors view it, and tensors that shared memory share it when read. load never
// executes what a file names: functions and classes beside those that tensors need are refused, as by torch.load's
// weights_only=True.
#pragma once

#include <iosfwd>
#include <string>

#include "braze/ivalue.h"

namespace braze {

// Throws Error where the file cannot be written; what cannot be saved leaves no file.
void save(const IValue& value, const std::string& path);
void save(const IValue& value, std::ostream& out);

// Sets become lists, a Size a tuple, parameters tensors that require grad. Throws Error, saying where, for files that are
// damaged, of another kind, or that name something unknown.
IValue load(const std::string& path);
IValue load(std::istream& in);

// Into what there is. Throw as load_state_dict does.
template <class T>
  requires HasState<T>
void load(T& target, const std::string& path) {
  if constexpr (requires { target.load_state_dict(load(path)); })
    target.load_state_dict(load(path));
  else
    target->load_state_dict(load(path));
}
void load(Tensor& target, const std::string& path);  // the handle's new tensor, as torch::load

}  // namespace braze
