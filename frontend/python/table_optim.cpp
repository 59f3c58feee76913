// Rows of braze/optim/updates.h: what braze.optim's classes call for each parameter. They change their tensors in place.
#include "braze/optim/updates.h"
#include "frontend/python/callbacks.h"
#include "frontend/python/signature.h"

namespace braze::python {

namespace {

namespace O = braze::optim;

// Handles on argument `i`'s tensor: what the updates change is the tensor itself.
Tensor at(Arguments& a, std::size_t i) { return a.tensor(i); }

// The state of L-BFGS in Python's dict.
struct LBFGSFields {
  PyObject* state;

  static void convert(PyObject* from, double& to) { to = python::is_tensor(from) ? tensor_of(from).item<double>() : to_real(from); }
  static void convert(PyObject* from, std::int64_t& to) {
    to = python::is_tensor(from) ? tensor_of(from).item<std::int64_t>() : to_integer(from);
  }
  static void convert(PyObject* from, Tensor& to) { to = tensor_argument(from); }
  template <class T>
  static void convert(PyObject* from, std::vector<T>& to) {
    const Object list = Object::steal(PySequence_Fast(from, "a list is expected in the state of LBFGS"));
    to.resize(static_cast<std::size_t>(PySequence_Fast_GET_SIZE(list.get())));
    for (std::size_t i = 0; i < to.size(); ++i) convert(PySequence_Fast_GET_ITEM(list.get(), static_cast<Py_ssize_t>(i)), to[i]);
  }
  template <class T>
  static Object list(const std::vector<T>& from) {
    Object result = Object::steal(PyList_New(0));
    for (const T& each : from) check(PyList_Append(result.get(), Object::steal(to_python(each)).get()));
    return result;
  }
  template <class T>
  static Object object_of(const T& from) {
    return Object::steal(to_python(from));
  }
  template <class T>
  static Object object_of(const std::vector<T>& from) {
    return list(from);
  }
  template <class T>
  void take(const char* name, T& value) const {
    if (PyObject* found = PyDict_GetItemString(state, name)) convert(found, value);
  }
  template <class T>
  void put(const char* name, const T& value) const {
    if constexpr (std::is_same_v<T, Tensor>)
      if (!value.defined()) return;
    check(PyDict_SetItemString(state, name, object_of(value).get()));
  }
};

// What the closure gave first.
Object lbfgs(Arguments& a) {
  const LBFGSFields fields{a.object(1)};
  O::LBFGSState state;
  O::each_field(state, [&](const char* name, auto& value) { fields.take(name, value); });
  Object first;
  O::lbfgs_update(a.tensors(0), state,
                  {.lr = a.number(3),
                   .max_iter = a.integer(4),
                   .max_eval = a.integer(5),
                   .tolerance_grad = a.number(6),
                   .tolerance_change = a.number(7),
                   .history_size = a.integer(8),
                   .line_search_fn = a.string_or_none(9).value_or(""),
                   .maximize = a.boolean(10)},
                  [&] {
                    const Object loss = Object::steal(PyObject_CallNoArgs(a.object(2)));
                    if (!first) first = loss;
                    const Object number = Object::steal(PyNumber_Float(loss.get()));
                    return PyFloat_AS_DOUBLE(number.get());
                  });
  O::each_field(state, [&](const char* name, const auto& value) { fields.put(name, value); });
  return first;
}

const Rows rows{
    {"sgd_(Tensor param, Tensor gradient, Tensor? momentum_buffer, Tensor|Scalar lr, float momentum, float dampening, float "
     "weight_decay, bool nesterov)",
     optim,
     [](Arguments& a) {
       Tensor buffer = a.tensor_or_none(2);
       O::sgd_update(a.self(), a.tensor(1), buffer, a.in(3),
                     {.momentum = a.number(4), .dampening = a.number(5), .weight_decay = a.number(6), .nesterov = a.boolean(7)});
       return Object::steal(buffer.defined() ? to_python(buffer) : Py_NewRef(Py_None));
     },
     "A step of SGD; returns the buffer, which is made where there is momentum."},
    {"asgd_(Tensor param, Tensor gradient, Tensor ax, float eta, float mu, float step, float lr, float lambd, float alpha, float "
     "t0, float weight_decay)",
     optim,
     [](Arguments& a) {
       Tensor ax = at(a, 2);
       const auto [eta, mu] =
           O::asgd_update(a.self(), a.tensor(1), ax, a.number(3), a.number(4), a.number(5), a.number(6),
                          {.lambd = a.number(7), .alpha = a.number(8), .t0 = a.number(9), .weight_decay = a.number(10)});
       return std::vector<double>{eta, mu};
     },
     "A step of ASGD; returns the next eta and mu."},
    {"adam_(Tensor param, Tensor gradient, Tensor exp_avg, Tensor exp_avg_sq, Tensor? max_exp_avg_sq, float step, Tensor|Scalar "
     "lr, "
     "float beta1, float beta2, float eps, float weight_decay, bool decoupled_weight_decay)",
     optim,
     [](Arguments& a) {
       Tensor mean = at(a, 2), square = at(a, 3), most = a.tensor_or_none(4);
       O::adam_update(a.self(), a.tensor(1), mean, square, most, a.number(5), a.in(6),
                      {.betas = {a.number(7), a.number(8)},
                       .eps = a.number(9),
                       .weight_decay = a.number(10),
                       .amsgrad = most.defined(),
                       .decoupled_weight_decay = a.boolean(11)});
     },
     "A step of Adam, with amsgrad where there is max_exp_avg_sq."},
    {"adamax_(Tensor param, Tensor gradient, Tensor exp_avg, Tensor exp_inf, float step, float lr, float beta1, float beta2, float "
     "eps, float weight_decay)",
     optim,
     [](Arguments& a) {
       Tensor mean = at(a, 2), largest = at(a, 3);
       O::adamax_update(a.self(), a.tensor(1), mean, largest, a.number(4), a.number(5),
                        {.betas = {a.number(6), a.number(7)}, .eps = a.number(8), .weight_decay = a.number(9)});
     },
     "A step of Adamax."},
    {"nadam_product(float product, float step, float beta1, float momentum_decay)", optim,
     [](Arguments& a) {
       return O::nadam_product(a.number(0), a.number(1), {.betas = {a.number(2), 0}, .momentum_decay = a.number(3)});
     },
     "The product of all momenta up to a step of NAdam."},
    {"nadam_(Tensor param, Tensor gradient, Tensor exp_avg, Tensor exp_avg_sq, float product, float step, float lr, float beta1, "
     "float beta2, float eps, float weight_decay, float momentum_decay, bool decoupled_weight_decay)",
     optim,
     [](Arguments& a) {
       Tensor mean = at(a, 2), square = at(a, 3);
       O::nadam_update(a.self(), a.tensor(1), mean, square, a.number(4), a.number(5), a.number(6),
                       {.betas = {a.number(7), a.number(8)},
                        .eps = a.number(9),
                        .weight_decay = a.number(10),
                        .momentum_decay = a.number(11),
                        .decoupled_weight_decay = a.boolean(12)});
     },
     "A step of NAdam."},
    {"radam_(Tensor param, Tensor gradient, Tensor exp_avg, Tensor exp_avg_sq, float step, float lr, float beta1, float beta2, "
     "float "
     "eps, float weight_decay, bool decoupled_weight_decay)",
     optim,
     [](Arguments& a) {
       Tensor mean = at(a, 2), square = at(a, 3);
       O::radam_update(a.self(), a.tensor(1), mean, square, a.number(4), a.number(5),
                       {.betas = {a.number(6), a.number(7)},
                        .eps = a.number(8),
                        .weight_decay = a.number(9),
                        .decoupled_weight_decay = a.boolean(10)});
     },
     "A step of RAdam."},
    {"adagrad_(Tensor param, Tensor gradient, Tensor sum, float step, float lr, float lr_decay, float weight_decay, float eps)",
     optim,
     [](Arguments& a) {
       Tensor sum = at(a, 2);
       O::adagrad_update(a.self(), a.tensor(1), sum, a.number(3), a.number(4),
                         {.lr_decay = a.number(5), .weight_decay = a.number(6), .eps = a.number(7)});
     },
     "A step of Adagrad."},
    {"adadelta_(Tensor param, Tensor gradient, Tensor square_avg, Tensor acc_delta, float lr, float rho, float eps, float "
     "weight_decay)",
     optim,
     [](Arguments& a) {
       Tensor square = at(a, 2), steps = at(a, 3);
       O::adadelta_update(a.self(), a.tensor(1), square, steps, a.number(4),
                          {.rho = a.number(5), .eps = a.number(6), .weight_decay = a.number(7)});
     },
     "A step of Adadelta."},
    {"rmsprop_(Tensor param, Tensor gradient, Tensor square_avg, Tensor? momentum_buffer, Tensor? grad_avg, float lr, float alpha, "
     "float eps, float weight_decay, float momentum)",
     optim,
     [](Arguments& a) {
       Tensor square = at(a, 2), buffer = a.tensor_or_none(3), mean = a.tensor_or_none(4);
       O::rmsprop_update(a.self(), a.tensor(1), square, buffer, mean, a.number(5),
                         {.alpha = a.number(6),
                          .eps = a.number(7),
                          .weight_decay = a.number(8),
                          .momentum = a.number(9),
                          .centered = mean.defined()});
     },
     "A step of RMSprop, centered where there is grad_avg."},
    {"rprop_(Tensor param, Tensor gradient, Tensor prev, Tensor step_size, float less, float more, float least, float most)", optim,
     [](Arguments& a) {
       Tensor prev = at(a, 2), size = at(a, 3);
       O::rprop_update(a.self(), a.tensor(1), prev, size,
                       {.etas = {a.number(4), a.number(5)}, .step_sizes = {a.number(6), a.number(7)}});
     },
     "A step of Rprop."},
    {"lbfgs(Tensor[] params, object state, object closure, float lr, int max_iter, int max_eval, float tolerance_grad, float "
     "tolerance_change, int history_size, str? line_search_fn, bool maximize)",
     optim, [](Arguments& a) { return lbfgs(a); }, "A step of L-BFGS; returns what the closure gave first."},
};

}  // namespace

}  // namespace braze::python
