// The hooks of a module; most have none, and no place for them.
#pragma once

#include "braze/nn/module.h"

namespace braze::nn {

struct Module::Hooks {
  HookList<PreHook> before_forward, before_backward;
  HookList<Hook> after_forward, after_backward;
  HookList<std::function<void(Module&, const std::string&)>> before_save;
  HookList<SaveHook> after_save, before_load;
  HookList<std::function<void(Module&, IncompatibleKeys&)>> after_load;
};

}  // namespace braze::nn
