// Rows of braze/convolution.h.
#include "braze/convolution.h"

#include "frontend/python/signature.h"

namespace braze::python {

namespace {

Object one(const Tensor& result) { return Object::steal(to_python(result)); }
Object both(const std::pair<Tensor, Tensor>& results) { return Object::steal(to_python(results)); }

// One number, or a list in which None keeps a dim.
Sizes sizes_or_keep(PyObject* sizes) {
  const auto size = [&](PyObject* number) {
    const std::int64_t n = to_integer(number);
    if (n < 0)
      raise(PyExc_RuntimeError, "elements of output_size must be greater than or equal to 0 but received {}", repr_text(sizes));
    return n;
  };
  if (is_integer(sizes)) return {size(sizes)};
  const Object list = Object::steal(PySequence_Tuple(sizes));
  Sizes out;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(list.get()); ++i) {
    PyObject* entry = PyTuple_GET_ITEM(list.get(), i);
    out.push_back(entry == Py_None ? -1 : size(entry));
  }
  return out;
}

const Rows rows{
    {"conv1d(Tensor input, Tensor weight, Tensor? bias=None, int[1] stride=1, int[1] padding=0, int[1] dilation=1, int groups=1)",
     function | functional,
     [](Arguments& a) { return conv1d(a.in(0), a.tensor(1), a.tensor_or_none(2), a.ints(3), a.ints(4), a.ints(5), a.integer(6)); },
     "Convolution of [N, C, L] with weights [O, C / groups, k...]; padding may be valid or same."},
    {"conv1d(Tensor input, Tensor weight, Tensor? bias=None, int[1] stride=1, str padding=\"valid\", int[1] dilation=1, int "
     "groups=1)",
     function | functional,
     [](Arguments& a) {
       return conv1d(a.in(0), a.tensor(1), a.tensor_or_none(2), a.ints(3), a.string(4), a.ints(5), a.integer(6));
     }},
    {"conv_transpose1d(Tensor input, Tensor weight, Tensor? bias=None, int[1] stride=1, int[1] padding=0, int[1] output_padding=0, "
     "int groups=1, int[1] dilation=1)",
     function | functional,
     [](Arguments& a) {
       return conv_transpose1d(a.in(0), a.tensor(1), a.tensor_or_none(2), a.ints(3), a.ints(4), a.ints(5), a.integer(6), a.ints(7));
     },
     "The adjoint of a convolution: weights [C, O / groups, k...]."},
    {"conv2d(Tensor input, Tensor weight, Tensor? bias=None, int[2] stride=1, int[2] padding=0, int[2] dilation=1, int groups=1)",
     function | functional,
     [](Arguments& a) { return conv2d(a.in(0), a.tensor(1), a.tensor_or_none(2), a.ints(3), a.ints(4), a.ints(5), a.integer(6)); },
     "Convolution of [N, C, H, W] with weights [O, C / groups, k...]; padding may be valid or same."},
    {"conv2d(Tensor input, Tensor weight, Tensor? bias=None, int[2] stride=1, str padding=\"valid\", int[2] dilation=1, int "
     "groups=1)",
     function | functional,
     [](Arguments& a) {
       return conv2d(a.in(0), a.tensor(1), a.tensor_or_none(2), a.ints(3), a.string(4), a.ints(5), a.integer(6));
     }},
    {"conv_transpose2d(Tensor input, Tensor weight, Tensor? bias=None, int[2] stride=1, int[2] padding=0, int[2] output_padding=0, "
     "int groups=1, int[2] dilation=1)",
     function | functional,
     [](Arguments& a) {
       return conv_transpose2d(a.in(0), a.tensor(1), a.tensor_or_none(2), a.ints(3), a.ints(4), a.ints(5), a.integer(6), a.ints(7));
     },
     "The adjoint of a convolution: weights [C, O / groups, k...]."},
    {"conv3d(Tensor input, Tensor weight, Tensor? bias=None, int[3] stride=1, int[3] padding=0, int[3] dilation=1, int groups=1)",
     function | functional,
     [](Arguments& a) { return conv3d(a.in(0), a.tensor(1), a.tensor_or_none(2), a.ints(3), a.ints(4), a.ints(5), a.integer(6)); },
     "Convolution of [N, C, D, H, W] with weights [O, C / groups, k...]; padding may be valid or same."},
    {"conv3d(Tensor input, Tensor weight, Tensor? bias=None, int[3] stride=1, str padding=\"valid\", int[3] dilation=1, int "
     "groups=1)",
     function | functional,
     [](Arguments& a) {
       return conv3d(a.in(0), a.tensor(1), a.tensor_or_none(2), a.ints(3), a.string(4), a.ints(5), a.integer(6));
     }},
    {"conv_transpose3d(Tensor input, Tensor weight, Tensor? bias=None, int[3] stride=1, int[3] padding=0, int[3] output_padding=0, "
     "int groups=1, int[3] dilation=1)",
     function | functional,
     [](Arguments& a) {
       return conv_transpose3d(a.in(0), a.tensor(1), a.tensor_or_none(2), a.ints(3), a.ints(4), a.ints(5), a.integer(6), a.ints(7));
     },
     "The adjoint of a convolution: weights [C, O / groups, k...]."},
    {"max_pool1d(Tensor input, int[1] kernel_size, int[1] stride=[], int[1] padding=0, int[1] dilation=1, bool ceil_mode=False)",
     function, [](Arguments& a) { return max_pool1d(a.in(0), a.ints(1), a.ints(2), a.ints(3), a.ints(4), a.boolean(5)); }},
    {"max_pool1d(Tensor input, int[1] kernel_size, int[1]? stride=None, int[1] padding=0, int[1] dilation=1, bool ceil_mode=False, "
     "bool "
     "return_indices=False) -> object",
     functional,
     [](Arguments& a) {
       if (a.boolean(6)) return both(max_pool1d_with_indices(a.in(0), a.ints(1), a.ints(2), a.ints(3), a.ints(4), a.boolean(5)));
       return one(max_pool1d(a.in(0), a.ints(1), a.ints(2), a.ints(3), a.ints(4), a.boolean(5)));
     },
     "The greatest of each window, with return_indices also where it stands in the flattened input."},
    {"max_pool1d_with_indices(Tensor input, int[1] kernel_size, int[1]? stride=None, int[1] padding=0, int[1] dilation=1, bool "
     "ceil_mode=False) -> (Tensor, Tensor)",
     functional | function,
     [](Arguments& a) { return max_pool1d_with_indices(a.in(0), a.ints(1), a.ints(2), a.ints(3), a.ints(4), a.boolean(5)); },
     "max_pool1d, and the index of each maximum in its plane."},
    {"avg_pool1d(Tensor input, int[1] kernel_size, int[1]? stride=None, int[1] padding=0, bool ceil_mode=False, bool "
     "count_include_pad=True)",
     functional | function,
     [](Arguments& a) { return avg_pool1d(a.in(0), a.ints(1), a.ints(2), a.ints(3), a.boolean(4), a.boolean(5)); },
     "The mean of each window."},
    {"adaptive_avg_pool1d(Tensor input, object output_size)", functional | function,
     [](Arguments& a) { return adaptive_avg_pool1d(a.in(0), sizes_or_keep(a.object(1))); },
     "Means of windows laid to give output_size; None keeps a dim."},
    {"adaptive_max_pool1d(Tensor input, object output_size, bool return_indices=False) -> object", functional,
     [](Arguments& a) {
       const Sizes size = sizes_or_keep(a.object(1));
       return a.boolean(2) ? both(adaptive_max_pool1d_with_indices(a.in(0), size)) : one(adaptive_max_pool1d(a.in(0), size));
     },
     "Maxima of windows laid to give output_size; None keeps a dim."},
    {"max_pool2d(Tensor input, int[2] kernel_size, int[2] stride=[], int[2] padding=0, int[2] dilation=1, bool ceil_mode=False)",
     function, [](Arguments& a) { return max_pool2d(a.in(0), a.ints(1), a.ints(2), a.ints(3), a.ints(4), a.boolean(5)); }},
    {"max_pool2d(Tensor input, int[2] kernel_size, int[2]? stride=None, int[2] padding=0, int[2] dilation=1, bool ceil_mode=False, "
     "bool "
     "return_indices=False) -> object",
     functional,
     [](Arguments& a) {
       if (a.boolean(6)) return both(max_pool2d_with_indices(a.in(0), a.ints(1), a.ints(2), a.ints(3), a.ints(4), a.boolean(5)));
       return one(max_pool2d(a.in(0), a.ints(1), a.ints(2), a.ints(3), a.ints(4), a.boolean(5)));
     },
     "The greatest of each window, with return_indices also where it stands in the flattened input."},
    {"max_pool2d_with_indices(Tensor input, int[2] kernel_size, int[2]? stride=None, int[2] padding=0, int[2] dilation=1, bool "
     "ceil_mode=False) -> (Tensor, Tensor)",
     functional,
     [](Arguments& a) { return max_pool2d_with_indices(a.in(0), a.ints(1), a.ints(2), a.ints(3), a.ints(4), a.boolean(5)); },
     "max_pool2d, and the index of each maximum in its plane."},
    {"avg_pool2d(Tensor input, int[2] kernel_size, int[2]? stride=None, int[2] padding=0, bool ceil_mode=False, bool "
     "count_include_pad=True, int? divisor_override=None)",
     functional,
     [](Arguments& a) {
       return avg_pool2d(a.in(0), a.ints(1), a.ints(2), a.ints(3), a.boolean(4), a.boolean(5), a.integer_or_none(6));
     },
     "The mean of each window."},
    {"adaptive_avg_pool2d(Tensor input, object output_size)", functional,
     [](Arguments& a) { return adaptive_avg_pool2d(a.in(0), sizes_or_keep(a.object(1))); },
     "Means of windows laid to give output_size; None keeps a dim."},
    {"adaptive_max_pool2d(Tensor input, object output_size, bool return_indices=False) -> object", functional,
     [](Arguments& a) {
       const Sizes size = sizes_or_keep(a.object(1));
       return a.boolean(2) ? both(adaptive_max_pool2d_with_indices(a.in(0), size)) : one(adaptive_max_pool2d(a.in(0), size));
     },
     "Maxima of windows laid to give output_size; None keeps a dim."},
    {"max_pool3d(Tensor input, int[3] kernel_size, int[3] stride=[], int[3] padding=0, int[3] dilation=1, bool ceil_mode=False)",
     function, [](Arguments& a) { return max_pool3d(a.in(0), a.ints(1), a.ints(2), a.ints(3), a.ints(4), a.boolean(5)); }},
    {"max_pool3d(Tensor input, int[3] kernel_size, int[3]? stride=None, int[3] padding=0, int[3] dilation=1, bool ceil_mode=False, "
     "bool "
     "return_indices=False) -> object",
     functional,
     [](Arguments& a) {
       if (a.boolean(6)) return both(max_pool3d_with_indices(a.in(0), a.ints(1), a.ints(2), a.ints(3), a.ints(4), a.boolean(5)));
       return one(max_pool3d(a.in(0), a.ints(1), a.ints(2), a.ints(3), a.ints(4), a.boolean(5)));
     },
     "The greatest of each window, with return_indices also where it stands in the flattened input."},
    {"max_pool3d_with_indices(Tensor input, int[3] kernel_size, int[3]? stride=None, int[3] padding=0, int[3] dilation=1, bool "
     "ceil_mode=False) -> (Tensor, Tensor)",
     functional,
     [](Arguments& a) { return max_pool3d_with_indices(a.in(0), a.ints(1), a.ints(2), a.ints(3), a.ints(4), a.boolean(5)); },
     "max_pool3d, and the index of each maximum in its plane."},
    {"avg_pool3d(Tensor input, int[3] kernel_size, int[3]? stride=None, int[3] padding=0, bool ceil_mode=False, bool "
     "count_include_pad=True, int? divisor_override=None)",
     functional,
     [](Arguments& a) {
       return avg_pool3d(a.in(0), a.ints(1), a.ints(2), a.ints(3), a.boolean(4), a.boolean(5), a.integer_or_none(6));
     },
     "The mean of each window."},
    {"adaptive_avg_pool3d(Tensor input, object output_size)", functional,
     [](Arguments& a) { return adaptive_avg_pool3d(a.in(0), sizes_or_keep(a.object(1))); },
     "Means of windows laid to give output_size; None keeps a dim."},
    {"adaptive_max_pool3d(Tensor input, object output_size, bool return_indices=False) -> object", functional,
     [](Arguments& a) {
       const Sizes size = sizes_or_keep(a.object(1));
       return a.boolean(2) ? both(adaptive_max_pool3d_with_indices(a.in(0), size)) : one(adaptive_max_pool3d(a.in(0), size));
     },
     "Maxima of windows laid to give output_size; None keeps a dim."},
    {"unfold(Tensor input, int[2] kernel_size, int[2] dilation=1, int[2] padding=0, int[2] stride=1)", functional,
     [](Arguments& a) { return unfold(a.in(0), a.ints(1), a.ints(2), a.ints(3), a.ints(4)); },
     "Sliding blocks as columns: [N, C * k, blocks]."},
    {"fold(Tensor input, int[2] output_size, int[2] kernel_size, int[2] dilation=1, int[2] padding=0, int[2] stride=1)", functional,
     [](Arguments& a) { return fold(a.in(0), a.ints(1), a.ints(2), a.ints(3), a.ints(4), a.ints(5)); },
     "Columns summed back into the blocks they stand for."},
    {"interpolate(Tensor input, int[1]? size=None, float[1]? scale_factor=None, str mode=\"nearest\", bool? align_corners=None, "
     "bool? "
     "recompute_scale_factor=None, bool antialias=False)",
     functional,
     [](Arguments& a) {
       InterpolateOptions options{a.ints_or_none(1), {}, a.string(3), a.boolean_or_none(4), a.boolean_or_none(5), a.boolean(6)};
       if (!a.none(2)) options.scale_factor = a.numbers(2);
       return interpolate(a.in(0), options);
     },
     "Resamples the spatial dims to `size` or by `scale_factor`."},
    {"pixel_shuffle(Tensor input, int upscale_factor)", function | functional,
     [](Arguments& a) { return pixel_shuffle(a.in(0), a.integer(1)); }, "[*, C * r * r, H, W] as [*, C, H * r, W * r]."},
    {"pixel_unshuffle(Tensor input, int downscale_factor)", function | functional,
     [](Arguments& a) { return pixel_unshuffle(a.in(0), a.integer(1)); }, "The reverse of pixel_shuffle."},
    {"channel_shuffle(Tensor input, int groups)", function | functional,
     [](Arguments& a) { return channel_shuffle(a.in(0), a.integer(1)); }, "Channels dealt out among groups."},
};

}  // namespace

}  // namespace braze::python
