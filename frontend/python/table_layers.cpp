// Rows of braze/normalization.h, embedding.h, attention.h, pooling.h and recurrent.h.
#include "braze/attention.h"
#include "braze/embedding.h"
#include "braze/functional.h"
#include "braze/normalization.h"
#include "braze/pooling.h"
#include "braze/recurrent.h"
#include "frontend/python/signature.h"

namespace braze::python {

namespace {

namespace F = nn::functional;

// has_biases, num_layers, dropout, train, bidirectional, batch_first from `at` on.
RecurrentOptions recurrent(Arguments& a, std::size_t at) {
  RecurrentOptions o;
  o.has_biases = a.boolean(at);
  o.num_layers = a.integer(at + 1);
  o.dropout = a.number(at + 2);
  o.train = a.boolean(at + 3);
  o.bidirectional = a.boolean(at + 4);
  return o;
}

RecurrentOptions whole(Arguments& a) {
  RecurrentOptions o = recurrent(a, 3);
  o.batch_first = a.boolean(8);
  return o;
}

RecurrentOptions packed(Arguments& a) {
  RecurrentOptions o = recurrent(a, 4);
  for (const std::int64_t n : a.tensor(1).to_vector<std::int64_t>()) o.batch_sizes.push_back(n);
  return o;
}

std::pair<Tensor, Tensor> pair(const RecurrentResult& r) { return {r.output, r.hidden}; }
std::tuple<Tensor, Tensor, Tensor> triple(const LstmResult& r) { return {r.output, r.hidden, r.cell}; }

const Rows rows{
    {"batch_norm(Tensor input, Tensor? running_mean, Tensor? running_var, Tensor? weight=None, Tensor? bias=None, bool "
     "training=False, float momentum=0.1, float eps=1e-05)",
     functional,
     [](Arguments& a) {
       return F::batch_norm(a.in(0), a.tensor_or_none(1), a.tensor_or_none(2), a.tensor_or_none(3), a.tensor_or_none(4),
                            a.boolean(5), a.number(6), a.number(7));
     },
     "Each channel normalised over the batch, or with running statistics."},
    {"instance_norm(Tensor input, Tensor? running_mean=None, Tensor? running_var=None, Tensor? weight=None, Tensor? bias=None, "
     "bool "
     "use_input_stats=True, float momentum=0.1, float eps=1e-05)",
     functional,
     [](Arguments& a) {
       return F::instance_norm(a.in(0), a.tensor_or_none(1), a.tensor_or_none(2), a.tensor_or_none(3), a.tensor_or_none(4),
                               a.boolean(5), a.number(6), a.number(7));
     },
     "Each sample's channel normalised by itself."},
    {"group_norm(Tensor input, int num_groups, Tensor? weight=None, Tensor? bias=None, float eps=1e-05)", functional,
     [](Arguments& a) { return group_norm(a.in(0), a.integer(1), a.tensor_or_none(2), a.tensor_or_none(3), a.number(4)); },
     "Groups of a sample's channels normalised."},
    {"group_norm(Tensor input, int num_groups, Tensor? weight=None, Tensor? bias=None, float eps=1e-05, bool cudnn_enabled=True)",
     function,
     [](Arguments& a) { return group_norm(a.in(0), a.integer(1), a.tensor_or_none(2), a.tensor_or_none(3), a.number(4)); }},
    {"rms_norm(Tensor input, int[] normalized_shape, Tensor? weight=None, float? eps=None)", function | functional,
     [](Arguments& a) { return rms_norm(a.in(0), a.ints(1), a.tensor_or_none(2), a.number_or_none(3)); },
     "The input over the root of its mean square along the last dims."},
    {"local_response_norm(Tensor input, int size, float alpha=0.0001, float beta=0.75, float k=1.0)", functional,
     [](Arguments& a) { return F::local_response_norm(a.in(0), a.integer(1), a.number(2), a.number(3), a.number(4)); },
     "The input over a power of its mean square in neighbouring channels."},
    {"embedding(Tensor input, Tensor weight, int? padding_idx=None, float? max_norm=None, float norm_type=2.0, bool "
     "scale_grad_by_freq=False, bool sparse=False)",
     functional,
     [](Arguments& a) {
       return F::embedding(a.in(0), a.tensor(1), {a.integer_or_none(2), a.number_or_none(3), a.number(4), a.boolean(5)});
     },
     "Rows of a table by their numbers."},
    {"embedding_bag(Tensor input, Tensor weight, Tensor? offsets=None, float? max_norm=None, float norm_type=2, bool "
     "scale_grad_by_freq=False, str mode=\"mean\", bool sparse=False, Tensor? per_sample_weights=None, bool "
     "include_last_offset=False, int? padding_idx=None)",
     functional,
     [](Arguments& a) {
       // PyTorch's old order had the table first.
       const bool swapped = is_float(a.tensor(0).dtype()) && !is_float(a.tensor(1).dtype());
       const std::string mode = a.string(6);
       F::EmbeddingBagOptions o{a.number_or_none(3), a.number(4), mode, a.boolean(9), a.integer_or_none(10), a.boolean(5)};
       return F::embedding_bag(a.in(swapped ? 1 : 0), a.tensor(swapped ? 0 : 1), a.tensor_or_none(2), o, a.tensor_or_none(8));
     },
     "Rows of a table put together in bags."},
    {"scaled_dot_product_attention(Tensor query, Tensor key, Tensor value, Tensor? attn_mask=None, float dropout_p=0.0, bool "
     "is_causal=False, float? scale=None, bool enable_gqa=False)",
     functional,
     [](Arguments& a) {
       return F::scaled_dot_product_attention(a.in(0), a.tensor(1), a.tensor(2),
                                              {a.tensor_or_none(3), a.number(4), a.boolean(5), a.number_or_none(6), a.boolean(7)});
     },
     "softmax(query key^T scale) value."},
    {"multi_head_attention_forward(Tensor query, Tensor key, Tensor value, int embed_dim_to_check, int num_heads, Tensor? "
     "in_proj_weight, Tensor? in_proj_bias, Tensor? bias_k, Tensor? bias_v, bool add_zero_attn, float dropout_p, Tensor "
     "out_proj_weight, Tensor? out_proj_bias, bool training=True, Tensor? key_padding_mask=None, bool need_weights=True, Tensor? "
     "attn_mask=None, bool use_separate_proj_weight=False, Tensor? q_proj_weight=None, Tensor? k_proj_weight=None, Tensor? "
     "v_proj_weight=None, Tensor? static_k=None, Tensor? static_v=None, bool average_attn_weights=True, bool is_causal=False) -> "
     "object",
     functional,
     [](Arguments& a) {
       const std::int64_t width = a.tensor(0).size(-1);
       if (width != a.integer(3))
         raise(PyExc_AssertionError, "was expecting embedding dimension of {}, but got {}", a.integer(3), width);
       F::MultiHeadOptions o;
       o.num_heads = a.integer(4);
       o.in_proj_weight = a.tensor_or_none(5);
       o.in_proj_bias = a.tensor_or_none(6);
       o.bias_k = a.tensor_or_none(7);
       o.bias_v = a.tensor_or_none(8);
       o.static_k = a.tensor_or_none(21);
       o.static_v = a.tensor_or_none(22);
       o.add_zero_attn = a.boolean(9);
       o.dropout_p = a.number(10);
       o.out_proj_weight = a.tensor(11);
       o.out_proj_bias = a.tensor_or_none(12);
       o.training = a.boolean(13);
       o.key_padding_mask = a.tensor_or_none(14);
       o.need_weights = a.boolean(15);
       o.attn_mask = a.tensor_or_none(16);
       if (a.boolean(17)) {
         o.q_proj_weight = a.tensor_or_none(18);
         o.k_proj_weight = a.tensor_or_none(19);
         o.v_proj_weight = a.tensor_or_none(20);
       }
       o.average_attn_weights = a.boolean(23);
       const auto [output, weights] = F::multi_head_attention_forward(a.in(0), a.tensor(1), a.tensor(2), o);
       const Object first = Object::steal(to_python(output));
       const Object second = weights.defined() ? Object::steal(to_python(weights)) : Object::share(Py_None);
       return Object::steal(PyTuple_Pack(2, first.get(), second.get()));
     },
     "The attention of several heads between projections, and its weights."},
    {"lp_pool1d(Tensor input, float norm_type, int[1] kernel_size, int[1]? stride=None, bool ceil_mode=False)", functional,
     [](Arguments& a) { return F::lp_pool1d(a.in(0), a.number(1), a.ints(2), a.ints(3), a.boolean(4)); },
     "The p-norm of each window."},
    {"max_unpool1d(Tensor input, Tensor indices, int[1] kernel_size, int[1]? stride=None, int[1] padding=0, int[]? "
     "output_size=None)",
     functional, [](Arguments& a) { return F::max_unpool1d(a.in(0), a.tensor(1), a.ints(2), a.ints(3), a.ints(4), a.ints(5)); },
     "Maxima back where they stood, zeros elsewhere."},
    {"lp_pool2d(Tensor input, float norm_type, int[2] kernel_size, int[2]? stride=None, bool ceil_mode=False)", functional,
     [](Arguments& a) { return F::lp_pool2d(a.in(0), a.number(1), a.ints(2), a.ints(3), a.boolean(4)); },
     "The p-norm of each window."},
    {"max_unpool2d(Tensor input, Tensor indices, int[2] kernel_size, int[2]? stride=None, int[2] padding=0, int[]? "
     "output_size=None)",
     functional, [](Arguments& a) { return F::max_unpool2d(a.in(0), a.tensor(1), a.ints(2), a.ints(3), a.ints(4), a.ints(5)); },
     "Maxima back where they stood, zeros elsewhere."},
    {"lp_pool3d(Tensor input, float norm_type, int[3] kernel_size, int[3]? stride=None, bool ceil_mode=False)", functional,
     [](Arguments& a) { return F::lp_pool3d(a.in(0), a.number(1), a.ints(2), a.ints(3), a.boolean(4)); },
     "The p-norm of each window."},
    {"max_unpool3d(Tensor input, Tensor indices, int[3] kernel_size, int[3]? stride=None, int[3] padding=0, int[]? "
     "output_size=None)",
     functional, [](Arguments& a) { return F::max_unpool3d(a.in(0), a.tensor(1), a.ints(2), a.ints(3), a.ints(4), a.ints(5)); },
     "Maxima back where they stood, zeros elsewhere."},
    {"gumbel_softmax(Tensor logits, float tau=1.0, bool hard=False, float eps=1e-10, int dim=-1)", functional,
     [](Arguments& a) { return F::gumbel_softmax(a.in(0), a.number(1), a.boolean(2), a.integer(4)); },
     "A draw from the classes with these logits."},
    {"rnn_tanh_cell(Tensor input, Tensor hx, Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, Tensor? b_hh=None)", function,
     [](Arguments& a) {
       return rnn_tanh_cell(a.in(0), a.tensor(1), a.tensor(2), a.tensor(3), a.tensor_or_none(4), a.tensor_or_none(5));
     },
     "One step of a plain recurrent layer."},
    {"rnn_relu_cell(Tensor input, Tensor hx, Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, Tensor? b_hh=None)", function,
     [](Arguments& a) {
       return rnn_relu_cell(a.in(0), a.tensor(1), a.tensor(2), a.tensor(3), a.tensor_or_none(4), a.tensor_or_none(5));
     },
     "One step of a plain recurrent layer with relu."},
    {"gru_cell(Tensor input, Tensor hx, Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, Tensor? b_hh=None)", function,
     [](Arguments& a) {
       return gru_cell(a.in(0), a.tensor(1), a.tensor(2), a.tensor(3), a.tensor_or_none(4), a.tensor_or_none(5));
     },
     "One step of a GRU."},
    {"lstm_cell(Tensor input, Tensor[] hx, Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, Tensor? b_hh=None) -> (Tensor, Tensor)",
     function,
     [](Arguments& a) {
       return lstm_cell(a.in(0), a.tensors(1), a.tensor(2), a.tensor(3), a.tensor_or_none(4), a.tensor_or_none(5));
     },
     "One step of an LSTM: hidden and cell."},
#define BRAZE_RECURRENT(name, text)                                                                                              \
  {#name                                                                                                                         \
   "(Tensor input, Tensor hx, Tensor[] params, bool has_biases, int num_layers, float dropout, bool train, bool bidirectional, " \
   "bool batch_first) -> (Tensor, Tensor)",                                                                                      \
   function, [](Arguments& a) { return pair(name(a.in(0), a.tensor(1), a.tensors(2), whole(a))); }, text},                       \
  {                                                                                                                              \
    #name                                                                                                                        \
        "(Tensor data, Tensor batch_sizes, Tensor hx, Tensor[] params, bool has_biases, int num_layers, float dropout, bool "    \
        "train, "                                                                                                                \
        "bool bidirectional) -> (Tensor, Tensor)",                                                                               \
        function, [](Arguments& a) { return pair(name(a.in(0), a.tensor(2), a.tensors(3), packed(a))); }                         \
  }
    BRAZE_RECURRENT(rnn_tanh, "All steps of a plain recurrent layer, and its last state."),
    BRAZE_RECURRENT(rnn_relu, "All steps of a plain recurrent layer with relu, and its last state."),
    BRAZE_RECURRENT(gru, "All steps of a GRU, and its last state."),
#undef BRAZE_RECURRENT
    {"lstm(Tensor input, Tensor[] hx, Tensor[] params, bool has_biases, int num_layers, float dropout, bool train, bool "
     "bidirectional, bool batch_first) -> (Tensor, Tensor, Tensor)",
     function, [](Arguments& a) { return triple(lstm(a.in(0), a.tensors(1), a.tensors(2), whole(a))); },
     "All steps of an LSTM, its last state and cell."},
    {"lstm(Tensor data, Tensor batch_sizes, Tensor[] hx, Tensor[] params, bool has_biases, int num_layers, float dropout, bool "
     "train, "
     "bool bidirectional) -> (Tensor, Tensor, Tensor)",
     function, [](Arguments& a) { return triple(lstm(a.in(0), a.tensors(2), a.tensors(3), packed(a))); }},
};

}  // namespace

}  // namespace braze::python
